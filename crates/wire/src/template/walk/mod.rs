//! Messages walked where they lie: nothing is allocated, nothing is built that is not asked for.
//!
//! Every function takes a message body as it came and is total: any bytes give a value or a
//! [`WalkError`]. The errors keep two things apart that a caller must treat differently:
//! [`WalkError::Unusual`] is a body that may be right but has a shape the walker leaves to the
//! full decoder; [`WalkError::Malformed`] is one that no decoder could read.
//!
//! Text is not checked to be UTF-8, and the bodies of ExtensionObjects are stepped over by their
//! length: what is not looked at is not judged.

mod call;
mod change;
mod created;
mod cursor;
mod data_value;
mod head;
mod history;
mod node_id;
mod publish;
mod read;
mod request;
mod status;
mod value;
mod variant;

pub use call::{Arguments, CallResult, CallResults, call_results, check_call};
pub use change::Change;
pub use created::{CreatedItem, CreatedItems, created_items};
pub use cursor::WalkError;
pub use data_value::RawDataValue;
pub use head::{RequestHead, ResponseHead};
pub use history::{HistoryPart, check_history};
pub use node_id::RawNodeId;
pub use publish::{
    Counters, DataChange, EventFields, EventList, Fields, MonitoredItem, Notification,
    Notifications, PublishResponse, RepublishResponse,
};
pub use read::{ReadTally, check_read, read_values};
pub use request::{
    Acknowledgements, PublishRequest, ReadNode, ReadNodes, ReadRequest, WriteNode, WriteNodes,
    WriteRequest,
};
pub use status::{StatusTally, Statuses, check_write, write_results};
pub use value::DataValues;
pub use variant::{BuiltInType, RawVariant};

/// Ids of the binary encodings that are walked here (Part 6, annex A.3).
pub mod type_id {
    use crate::service::shape::Kind;

    /// ServiceFault
    pub const SERVICE_FAULT: u32 = Kind::ServiceFault.encoding_id();
    /// CreateSessionRequest
    pub const CREATE_SESSION_REQUEST: u32 = Kind::CreateSessionRequest.encoding_id();
    /// ReadRequest
    pub const READ_REQUEST: u32 = Kind::ReadRequest.encoding_id();
    /// ReadResponse
    pub const READ_RESPONSE: u32 = Kind::ReadResponse.encoding_id();
    /// HistoryData
    pub const HISTORY_DATA: u32 = Kind::HistoryData.encoding_id();
    /// HistoryReadResponse
    pub const HISTORY_READ_RESPONSE: u32 = Kind::HistoryReadResponse.encoding_id();
    /// WriteRequest
    pub const WRITE_REQUEST: u32 = Kind::WriteRequest.encoding_id();
    /// WriteResponse
    pub const WRITE_RESPONSE: u32 = Kind::WriteResponse.encoding_id();
    /// CallResponse
    pub const CALL_RESPONSE: u32 = Kind::CallResponse.encoding_id();
    /// CreateMonitoredItemsResponse
    pub const CREATE_MONITORED_ITEMS_RESPONSE: u32 =
        Kind::CreateMonitoredItemsResponse.encoding_id();
    /// DataChangeNotification
    pub const DATA_CHANGE_NOTIFICATION: u32 = Kind::DataChangeNotification.encoding_id();
    /// StatusChangeNotification
    pub const STATUS_CHANGE_NOTIFICATION: u32 = Kind::StatusChangeNotification.encoding_id();
    /// PublishRequest
    pub const PUBLISH_REQUEST: u32 = Kind::PublishRequest.encoding_id();
    /// PublishResponse
    pub const PUBLISH_RESPONSE: u32 = Kind::PublishResponse.encoding_id();
    /// RepublishResponse
    pub const REPUBLISH_RESPONSE: u32 = Kind::RepublishResponse.encoding_id();
    /// EventNotificationList
    pub const EVENT_NOTIFICATION_LIST: u32 = Kind::EventNotificationList.encoding_id();
}
