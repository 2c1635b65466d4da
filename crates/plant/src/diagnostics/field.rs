//! The variables below a session's object (Part 5, 6.3.5, 7.9, 7.11), each with what it shows.

use wire::types::{
    ApplicationDescription, ByteString, DateTime, ExtensionObject, MessageSecurityMode, NodeId,
    ServiceCounterDataType, SessionDiagnosticsDataType, SessionSecurityDiagnosticsDataType,
    UAString, Variant,
};

use super::structure::{one_session, own_subscriptions, security};
use super::{Register, SessionRecord};

/// A field of a structure as a value of its own.
trait Field {
    fn shown(self) -> Variant;
}

macro_rules! plain {
    ($($kind:ty,)*) => {
        $(impl Field for $kind {
            fn shown(self) -> Variant {
                self.into()
            }
        })*
    };
}

plain! {
    NodeId,
    UAString,
    f64,
    u32,
    DateTime,
    ByteString,
}

impl Field for Option<Vec<UAString>> {
    fn shown(self) -> Variant {
        self.unwrap_or_default().into()
    }
}

impl Field for MessageSecurityMode {
    fn shown(self) -> Variant {
        (self as i32).into()
    }
}

impl Field for ServiceCounterDataType {
    fn shown(self) -> Variant {
        ExtensionObject::from_message(self).into()
    }
}

impl Field for ApplicationDescription {
    fn shown(self) -> Variant {
        ExtensionObject::from_message(self).into()
    }
}

macro_rules! fields {
    ($name:ident of $structure:ident: $($browse_name:ident $field:ident,)*) => {
        const $name: &[(&str, fn($structure) -> Variant)] = &[
            $((stringify!($browse_name), |all| all.$field.shown()),)*
        ];
    };
}

fields! {
    SESSION of SessionDiagnosticsDataType:
    SessionId session_id,
    SessionName session_name,
    ClientDescription client_description,
    ServerUri server_uri,
    EndpointUrl endpoint_url,
    LocaleIds locale_ids,
    ActualSessionTimeout actual_session_timeout,
    MaxResponseMessageSize max_response_message_size,
    ClientConnectionTime client_connection_time,
    ClientLastContactTime client_last_contact_time,
    CurrentSubscriptionsCount current_subscriptions_count,
    CurrentMonitoredItemsCount current_monitored_items_count,
    CurrentPublishRequestsInQueue current_publish_requests_in_queue,
    TotalRequestCount total_request_count,
    UnauthorizedRequestCount unauthorized_request_count,
    ReadCount read_count,
    HistoryReadCount history_read_count,
    WriteCount write_count,
    HistoryUpdateCount history_update_count,
    CallCount call_count,
    CreateMonitoredItemsCount create_monitored_items_count,
    ModifyMonitoredItemsCount modify_monitored_items_count,
    SetMonitoringModeCount set_monitoring_mode_count,
    SetTriggeringCount set_triggering_count,
    DeleteMonitoredItemsCount delete_monitored_items_count,
    CreateSubscriptionCount create_subscription_count,
    ModifySubscriptionCount modify_subscription_count,
    SetPublishingModeCount set_publishing_mode_count,
    PublishCount publish_count,
    RepublishCount republish_count,
    TransferSubscriptionsCount transfer_subscriptions_count,
    DeleteSubscriptionsCount delete_subscriptions_count,
    AddNodesCount add_nodes_count,
    AddReferencesCount add_references_count,
    DeleteNodesCount delete_nodes_count,
    DeleteReferencesCount delete_references_count,
    BrowseCount browse_count,
    BrowseNextCount browse_next_count,
    TranslateBrowsePathsToNodeIdsCount translate_browse_paths_to_node_ids_count,
    QueryFirstCount query_first_count,
    QueryNextCount query_next_count,
    RegisterNodesCount register_nodes_count,
    UnregisterNodesCount unregister_nodes_count,
}

fields! {
    SECURITY of SessionSecurityDiagnosticsDataType:
    SessionId session_id,
    ClientUserIdOfSession client_user_id_of_session,
    ClientUserIdHistory client_user_id_history,
    AuthenticationMechanism authentication_mechanism,
    Encoding encoding,
    TransportProtocol transport_protocol,
    SecurityMode security_mode,
    SecurityPolicyUri security_policy_uri,
    ClientCertificate client_certificate,
}

/// What a variable below a session's object shows.
#[derive(Debug, Clone, Copy)]
pub enum Shown {
    /// SessionDiagnostics, or a field of it.
    Session(Option<fn(SessionDiagnosticsDataType) -> Variant>),
    /// SessionSecurityDiagnostics, or a field of it.
    Security(Option<fn(SessionSecurityDiagnosticsDataType) -> Variant>),
    /// SubscriptionDiagnosticsArray.
    Subscriptions,
}

impl Shown {
    /// What the variable on this path of names shows.
    pub fn named(path: &str) -> Option<Self> {
        let (of, field) = match path.split_once('.') {
            Some((of, field)) => (of, Some(field)),
            None => (path, None),
        };
        Some(match (of, field) {
            ("SessionDiagnostics", None) => Self::Session(None),
            ("SessionDiagnostics", Some(name)) => {
                let of = SESSION.iter().find(|(known, _)| *known == name)?;
                Self::Session(Some(of.1))
            }
            ("SessionSecurityDiagnostics", None) => Self::Security(None),
            ("SessionSecurityDiagnostics", Some(name)) => {
                let of = SECURITY.iter().find(|(known, _)| *known == name)?;
                Self::Security(Some(of.1))
            }
            ("SubscriptionDiagnosticsArray", None) => Self::Subscriptions,
            _ => return None,
        })
    }

    /// Part 5, 6.3.5: who is behind a session is not for everybody.
    pub fn is_for_everybody(self) -> bool {
        !matches!(self, Self::Security(_))
    }

    /// Its value for a session.
    pub fn value(self, register: &Register, record: &SessionRecord) -> Variant {
        match self {
            Self::Session(None) => {
                ExtensionObject::from_message(one_session(register, record)).into()
            }
            Self::Session(Some(field)) => field(one_session(register, record)),
            Self::Security(None) => ExtensionObject::from_message(security(record)).into(),
            Self::Security(Some(field)) => field(security(record)),
            Self::Subscriptions => own_subscriptions(register, record),
        }
    }
}
