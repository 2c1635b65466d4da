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

    macro_rules! ids {
        ($($name:ident $kind:ident,)*) => {
            $(
                #[doc = stringify!($kind)]
                pub const $name: u32 = Kind::$kind.encoding_id();
            )*
        };
    }

    ids! {
        SERVICE_FAULT ServiceFault,
        CREATE_SESSION_REQUEST CreateSessionRequest,
        READ_REQUEST ReadRequest,
        READ_RESPONSE ReadResponse,
        HISTORY_DATA HistoryData,
        HISTORY_READ_RESPONSE HistoryReadResponse,
        WRITE_REQUEST WriteRequest,
        WRITE_RESPONSE WriteResponse,
        CALL_RESPONSE CallResponse,
        CREATE_MONITORED_ITEMS_RESPONSE CreateMonitoredItemsResponse,
        DATA_CHANGE_NOTIFICATION DataChangeNotification,
        STATUS_CHANGE_NOTIFICATION StatusChangeNotification,
        PUBLISH_REQUEST PublishRequest,
        PUBLISH_RESPONSE PublishResponse,
        REPUBLISH_RESPONSE RepublishResponse,
        EVENT_NOTIFICATION_LIST EventNotificationList,
    }
}
