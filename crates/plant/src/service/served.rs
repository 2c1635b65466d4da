//! The services that there are: what each is counted as, and which way it is answered.

use wire::service::Request;
use wire::service::shape::Kind;

use crate::diagnostics::Service;
use crate::internals::Task;

/// Which way a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// It is walked where it lies: nothing is built in between.
    Walked,
    /// It is kept until there is something to tell.
    Kept,
    /// By the loop: it has to do with connections, or with sessions and subscriptions of other loops, or needs no session.
    Loop,
    /// At the desk of its session: at once, or one operation after another.
    Desk,
}

/// A service.
#[derive(Debug)]
pub struct Served {
    /// Its request.
    pub kind: Kind,
    /// The type of its request.
    pub type_id: u32,
    /// What a loop counts it as.
    pub task: Task,
    /// What it is counted as for a session, if it is counted by itself.
    pub counted: Option<Service>,
    /// Which way it is answered.
    pub route: Route,
}

impl Served {
    /// The service of a request by the type that it begins with.
    #[inline]
    pub fn by_type(type_id: u32) -> Option<&'static Self> {
        TABLE.iter().find(|served| served.type_id == type_id)
    }

    /// The service of a request that was decoded.
    pub fn of(request: &Request) -> Option<&'static Self> {
        let kind = request.kind();
        TABLE.iter().find(|served| served.kind == kind)
    }

    /// Whether it is walked where it lies, and never decoded if its type is spelled as usual.
    #[inline]
    pub fn is_walked(&self) -> bool {
        matches!(self.route, Route::Walked | Route::Kept)
    }

    const fn new(kind: Kind, counted: Option<Service>, route: Route) -> Self {
        Self {
            kind,
            type_id: kind.encoding_id(),
            task: Task::of(kind),
            counted,
            route,
        }
    }
}

macro_rules! table {
    ($($kind:ident: $way:ident $($service:ident)?,)*) => {
        /// All services. Those that come by the million are found first.
        static TABLE: &[Served] = &[
            $(Served::new(Kind::$kind, table!(@ $($service)?), Route::$way),)*
        ];
    };
    (@ $service:ident) => { Some(Service::$service) };
    (@) => { None };
}

table! {
    ReadRequest: Walked Read,
    WriteRequest: Walked Write,
    PublishRequest: Kept Publish,
    BrowseRequest: Desk Browse,
    BrowseNextRequest: Desk BrowseNext,
    TranslateBrowsePathsToNodeIdsRequest: Desk TranslateBrowsePathsToNodeIds,
    RegisterNodesRequest: Desk RegisterNodes,
    UnregisterNodesRequest: Desk UnregisterNodes,
    CallRequest: Loop Call,
    HistoryReadRequest: Desk HistoryRead,
    HistoryUpdateRequest: Desk HistoryUpdate,
    CreateMonitoredItemsRequest: Desk CreateMonitoredItems,
    ModifyMonitoredItemsRequest: Desk ModifyMonitoredItems,
    SetMonitoringModeRequest: Desk SetMonitoringMode,
    SetTriggeringRequest: Desk SetTriggering,
    DeleteMonitoredItemsRequest: Desk DeleteMonitoredItems,
    CreateSubscriptionRequest: Desk CreateSubscription,
    ModifySubscriptionRequest: Desk ModifySubscription,
    SetPublishingModeRequest: Desk SetPublishingMode,
    DeleteSubscriptionsRequest: Desk DeleteSubscriptions,
    RepublishRequest: Loop Republish,
    TransferSubscriptionsRequest: Loop TransferSubscriptions,
    AddNodesRequest: Desk AddNodes,
    AddReferencesRequest: Desk AddReferences,
    DeleteNodesRequest: Desk DeleteNodes,
    DeleteReferencesRequest: Desk DeleteReferences,
    QueryFirstRequest: Desk QueryFirst,
    QueryNextRequest: Desk QueryNext,
    CreateSessionRequest: Loop,
    ActivateSessionRequest: Loop,
    CloseSessionRequest: Loop,
    CancelRequest: Loop,
    FindServersRequest: Loop,
    FindServersOnNetworkRequest: Loop,
    GetEndpointsRequest: Loop,
    RegisterServerRequest: Loop,
    RegisterServer2Request: Loop,
    OpenSecureChannelRequest: Desk,
    CloseSecureChannelRequest: Desk,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_is_there_once_and_counted_under_its_own_name() {
        for &kind in Request::KINDS {
            let found = TABLE.iter().filter(|it| it.kind == kind);
            assert_eq!(found.count(), 1, "{kind:?}");
        }
        assert_eq!(TABLE.len(), Request::KINDS.len());
        let counted = TABLE.iter().filter_map(|it| Some((it.kind, it.counted?)));
        let counted: Vec<_> = counted.collect();
        assert_eq!(counted.len(), Service::COUNT);
        for (kind, service) in counted {
            assert_eq!(format!("{kind:?}"), format!("{service:?}Request"));
        }
    }

    #[test]
    fn a_request_is_found_by_its_type_and_those_of_the_million_first() {
        for served in TABLE {
            assert!(Served::by_type(served.type_id).is_some_and(|it| it.kind == served.kind));
        }
        assert!(Served::by_type(Kind::ReadResponse.encoding_id()).is_none());
        let first = [Kind::ReadRequest, Kind::WriteRequest, Kind::PublishRequest];
        assert!(TABLE.iter().map(|it| it.kind).take(3).eq(first));
    }
}
