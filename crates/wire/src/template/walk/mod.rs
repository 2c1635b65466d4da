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
    /// ServiceFault
    pub const SERVICE_FAULT: u32 = 397;
    /// CreateSessionRequest
    pub const CREATE_SESSION_REQUEST: u32 = 461;
    /// ReadRequest
    pub const READ_REQUEST: u32 = 631;
    /// ReadResponse
    pub const READ_RESPONSE: u32 = 634;
    /// HistoryData
    pub const HISTORY_DATA: u32 = 658;
    /// HistoryReadResponse
    pub const HISTORY_READ_RESPONSE: u32 = 667;
    /// WriteRequest
    pub const WRITE_REQUEST: u32 = 673;
    /// WriteResponse
    pub const WRITE_RESPONSE: u32 = 676;
    /// CallResponse
    pub const CALL_RESPONSE: u32 = 715;
    /// CreateMonitoredItemsResponse
    pub const CREATE_MONITORED_ITEMS_RESPONSE: u32 = 754;
    /// DataChangeNotification
    pub const DATA_CHANGE_NOTIFICATION: u32 = 811;
    /// StatusChangeNotification
    pub const STATUS_CHANGE_NOTIFICATION: u32 = 820;
    /// PublishRequest
    pub const PUBLISH_REQUEST: u32 = 826;
    /// PublishResponse
    pub const PUBLISH_RESPONSE: u32 = 829;
    /// RepublishResponse
    pub const REPUBLISH_RESPONSE: u32 = 835;
    /// EventNotificationList
    pub const EVENT_NOTIFICATION_LIST: u32 = 916;
}
