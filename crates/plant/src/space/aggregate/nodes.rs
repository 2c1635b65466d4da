//! The server says which aggregates it has (Part 13, 4.4).

use wire::types::{NodeId, ObjectId, ReferenceTypeId};

use super::Aggregate;
use crate::space::Builder;

/// Puts them into the folders of the server's capabilities and of its histories.
pub fn announce(builder: &mut Builder) {
    for folder in [
        ObjectId::Server_ServerCapabilities_AggregateFunctions,
        ObjectId::HistoryServerCapabilities_AggregateFunctions,
    ] {
        for aggregate in Aggregate::ALL {
            builder.link(
                &NodeId::from(folder),
                ReferenceTypeId::Organizes,
                &aggregate.node().into(),
            );
        }
    }
}
