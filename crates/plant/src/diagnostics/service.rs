//! The services that are counted for each session, in the order of SessionDiagnosticsDataType
//! (Part 5, 12.12).

macro_rules! services {
    ($($name:ident,)*) => {
        /// A service that is counted for each session.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the services' own names")]
        pub enum Service {
            $($name,)*
        }

        impl Service {
            /// How many there are.
            pub const COUNT: usize = [$(Self::$name,)*].len();
        }
    };
}

services! {
    Read,
    HistoryRead,
    Write,
    HistoryUpdate,
    Call,
    CreateMonitoredItems,
    ModifyMonitoredItems,
    SetMonitoringMode,
    SetTriggering,
    DeleteMonitoredItems,
    CreateSubscription,
    ModifySubscription,
    SetPublishingMode,
    Publish,
    Republish,
    TransferSubscriptions,
    DeleteSubscriptions,
    AddNodes,
    AddReferences,
    DeleteNodes,
    DeleteReferences,
    Browse,
    BrowseNext,
    TranslateBrowsePathsToNodeIds,
    QueryFirst,
    QueryNext,
    RegisterNodes,
    UnregisterNodes,
}
