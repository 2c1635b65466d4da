//! The services that there are: what each is counted as, which way it is answered, and by what.

use wire::service::shape::Kind;
use wire::service::{Request, Response};
use wire::types::StatusCode;

use super::discovery::Discovery;
use super::{Answer, ServiceContext};
use crate::diagnostics::Service;
use crate::internals::Task;

/// Answers a request of a service that needs a session, or begins to. What it does not need is left in the request.
pub type AtDesk = fn(&mut ServiceContext<'_>, &mut Request) -> Result<Answer, StatusCode>;

/// Answers a request of a service that needs no session.
pub type ForAll = fn(&Discovery<'_>, &Request) -> Result<Response, StatusCode>;

/// Which way a request is answered.
#[derive(Debug, Clone, Copy)]
pub enum Route {
    /// It is walked where it lies: nothing is built in between.
    Walked,
    /// It is kept until there is something to tell.
    Kept,
    /// By the loop: it has to do with connections, or with sessions and subscriptions of other loops.
    Loop,
    /// In the context of its session: at once, or one operation after another.
    ServiceContext(AtDesk),
    /// For everybody who has a channel.
    Open(ForAll),
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
    ($($kind:ident $(as $service:ident)?: $way:ident $(($request:ident $answer:ident))?,)*) => {
        /// All services. Those that come by the million are found first.
        static TABLE: &[Served] = &[
            $(Served::new(
                Kind::$kind,
                table!(@counted $($service)?),
                table!(@route $way $($request $answer)?),
            ),)*
        ];

        /// The requests of the table, and those that are answered for them.
        #[cfg(test)]
        fn answered() -> Vec<(Kind, Kind)> {
            vec![$($((Kind::$kind, Request::$request(Default::default()).kind()),)?)*]
        }
    };
    (@counted $service:ident) => { Some(Service::$service) };
    (@counted) => { None };
    // One operation after another.
    (@route Steps $request:ident $answer:ident) => {
        Route::ServiceContext(|context, request| match request {
            Request::$request(request) => context.$answer(request).map(Answer::Steps),
            _ => Err(StatusCode::BadServiceUnsupported),
        })
    };
    // Without many operations, or with such that cost next to nothing.
    (@route Whole $request:ident $answer:ident) => {
        Route::ServiceContext(|context, request| match request {
            Request::$request(request) => {
                let response = context.$answer(request);
                response.map(|response| Answer::Whole(response.into()))
            }
            _ => Err(StatusCode::BadServiceUnsupported),
        })
    };
    (@route Open $request:ident $answer:ident) => {
        Route::Open(|discovery, request| match request {
            Request::$request(request) => discovery.$answer(request).map(Response::from),
            _ => Err(StatusCode::BadServiceUnsupported),
        })
    };
    (@route Unserved) => { Route::ServiceContext(|_, _| Err(StatusCode::BadServiceUnsupported)) };
    (@route $way:ident) => { Route::$way };
}

table! {
    ReadRequest as Read: Walked,
    WriteRequest as Write: Walked,
    PublishRequest as Publish: Kept,
    BrowseRequest as Browse: Steps(Browse browse),
    BrowseNextRequest as BrowseNext: Steps(BrowseNext browse_next),
    TranslateBrowsePathsToNodeIdsRequest as TranslateBrowsePathsToNodeIds: Steps(TranslateBrowsePathsToNodeIds translate),
    RegisterNodesRequest as RegisterNodes: Steps(RegisterNodes register),
    UnregisterNodesRequest as UnregisterNodes: Whole(UnregisterNodes unregister),
    CallRequest as Call: Loop,
    HistoryReadRequest as HistoryRead: Steps(HistoryRead history_read),
    HistoryUpdateRequest as HistoryUpdate: Whole(HistoryUpdate history_update),
    CreateMonitoredItemsRequest as CreateMonitoredItems: Steps(CreateMonitoredItems create_items),
    ModifyMonitoredItemsRequest as ModifyMonitoredItems: Steps(ModifyMonitoredItems modify_items),
    SetMonitoringModeRequest as SetMonitoringMode: Steps(SetMonitoringMode set_monitoring_mode),
    SetTriggeringRequest as SetTriggering: Whole(SetTriggering set_triggering),
    DeleteMonitoredItemsRequest as DeleteMonitoredItems: Steps(DeleteMonitoredItems delete_items),
    CreateSubscriptionRequest as CreateSubscription: Whole(CreateSubscription create_subscription),
    ModifySubscriptionRequest as ModifySubscription: Whole(ModifySubscription modify_subscription),
    SetPublishingModeRequest as SetPublishingMode: Whole(SetPublishingMode set_publishing_mode),
    DeleteSubscriptionsRequest as DeleteSubscriptions: Whole(DeleteSubscriptions delete_subscriptions),
    RepublishRequest as Republish: Loop,
    TransferSubscriptionsRequest as TransferSubscriptions: Loop,
    AddNodesRequest as AddNodes: Steps(AddNodes add_nodes),
    AddReferencesRequest as AddReferences: Steps(AddReferences add_references),
    DeleteNodesRequest as DeleteNodes: Steps(DeleteNodes delete_nodes),
    DeleteReferencesRequest as DeleteReferences: Steps(DeleteReferences delete_references),
    QueryFirstRequest as QueryFirst: Unserved,
    QueryNextRequest as QueryNext: Unserved,
    CreateSessionRequest: Loop,
    ActivateSessionRequest: Loop,
    CloseSessionRequest: Loop,
    CancelRequest: Loop,
    FindServersRequest: Open(FindServers find_servers),
    FindServersOnNetworkRequest: Open(FindServersOnNetwork find_servers_on_network),
    GetEndpointsRequest: Open(GetEndpoints get_endpoints),
    RegisterServerRequest: Open(RegisterServer register_server),
    RegisterServer2Request: Open(RegisterServer2 register_server_2),
    OpenSecureChannelRequest: Unserved,
    CloseSecureChannelRequest: Unserved,
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
    fn each_request_is_given_to_what_answers_it() {
        let all = answered();
        assert!(all.len() > 20);
        assert!(all.iter().all(|(asked, given)| asked == given), "{all:?}");
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
