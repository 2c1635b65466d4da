//! How aggregates stand in requests (Part 13).

use plan::Aggregating;
use wire::types::{AggregateConfiguration, NodeId};

/// The node of an aggregate.
pub fn function(aggregate: Aggregating) -> NodeId {
    NodeId::new(0, aggregate.function.id())
}

/// The server's own; beside it what Part 13, 4.2.1.2 has for those that look at the rest all the same.
pub fn configuration() -> AggregateConfiguration {
    AggregateConfiguration {
        use_server_capabilities_defaults: true,
        treat_uncertain_as_bad: true,
        percent_data_bad: 100,
        percent_data_good: 100,
        use_sloped_extrapolation: false,
    }
}
