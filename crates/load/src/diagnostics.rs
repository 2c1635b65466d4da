//! A server's own counts of sessions and subscriptions (Part 5, 6.3.3 to 6.3.5): to compare with what
//! we sent and received.
//!
//! Two Read requests at most: one of the flag, the summary and the sessions; another of the subscriptions. What a plant
//! of ours says of its own work is a value more in the first one.
//! What has to be known to understand the answers, which sessions are ours, may become known later.

mod growth;

use std::collections::HashSet;

use record::run::{Counted, Figure, Internals};
use wire::types::{
    DynEncodable, NodeId, ReadRequest, ReadResponse, ReadValueId, RequestHeader,
    ServerDiagnosticsSummaryDataType, SessionDiagnosticsDataType, StatusCode,
    SubscriptionDiagnosticsDataType, TimestampsToReturn, VariableId, Variant,
};

/// The namespace in which a plant's own object is.
pub const PLANT: &str = "urn:uaperf:plant";

/// Entries that are read at most: with more, their arrays weigh megabytes, and asking for them is a load of
/// its own.
pub const MOST: u64 = 10_000;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosticsRequest {
    /// Server and sessions.
    Sessions(Plant),
    /// Server alone, where there are too many sessions.
    Server(Plant),
    /// Subscriptions.
    Subscriptions,
}

/// Whether the server is a plant of ours: the namespace of what it says of its own work, then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plant(Option<u16>);

impl Plant {
    /// Of a server with these namespaces.
    pub fn of(namespaces: &[String]) -> Self {
        let index = namespaces.iter().position(|uri| uri == PLANT);
        Self(index.and_then(|index| u16::try_from(index).ok()))
    }

    fn node(self) -> Option<NodeId> {
        self.0.map(|index| NodeId::new(index, "Plant.Internals"))
    }
}

/// The request for it.
pub fn request(about: DiagnosticsRequest, request_header: RequestHeader) -> ReadRequest {
    use VariableId as V;
    let (nodes, plant): (&[V], _) = match about {
        DiagnosticsRequest::Sessions(plant) => (
            &[
                V::Server_ServerDiagnostics_EnabledFlag,
                V::Server_ServerDiagnostics_ServerDiagnosticsSummary,
                V::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray,
            ],
            plant,
        ),
        DiagnosticsRequest::Server(plant) => (
            &[
                V::Server_ServerDiagnostics_EnabledFlag,
                V::Server_ServerDiagnostics_ServerDiagnosticsSummary,
            ],
            plant,
        ),
        DiagnosticsRequest::Subscriptions => (
            &[V::Server_ServerDiagnostics_SubscriptionDiagnosticsArray],
            Plant::default(),
        ),
    };
    let nodes = nodes.iter().map(|&id| NodeId::from(id));
    let nodes = nodes.chain(plant.node()).map(ReadValueId::from);
    ReadRequest {
        request_header,
        // Part 4, 5.11.2: 0 asks for what is true now.
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(nodes.collect()),
    }
}

/// A look at the server and its sessions.
#[derive(Debug)]
pub struct Look {
    summary: Option<ServerDiagnosticsSummaryDataType>,
    sessions: Result<Vec<SessionDiagnosticsDataType>, String>,
    /// What a plant of ours says.
    internals: Option<Internals>,
}

impl Look {
    /// What an answer tells, or why it tells nothing.
    pub fn of(
        about: DiagnosticsRequest,
        answer: Result<ReadResponse, StatusCode>,
    ) -> Result<Self, String> {
        let mut values = values(answer)?;
        let internals = match about {
            DiagnosticsRequest::Sessions(Plant(Some(_)))
            | DiagnosticsRequest::Server(Plant(Some(_))) => values.pop(),
            _ => None,
        };
        let mut values = values.into_iter();
        let enabled = values.next();
        let summary = values.next().map_or_else(none, structure);
        let sessions = match values.next() {
            Some(array) => structures(array),
            None => Err(too_many("sessions")),
        };
        if matches!(enabled, Some(Ok(Variant::Boolean(false)))) {
            return Err("the server's diagnostics are switched off".to_owned());
        }
        // Our own session is there: a list of none is kept by nobody.
        let sessions = sessions.and_then(|all| match all.is_empty() {
            true => Err("the server lists no sessions".to_owned()),
            false => Ok(all),
        });
        match (summary, sessions) {
            (Err(_), Err(_)) => Err("the server has no diagnostics".to_owned()),
            (summary, sessions) => Ok(Self {
                summary: summary.ok(),
                sessions,
                internals: internals.and_then(parsed),
            }),
        }
    }

    /// What was added since another look, for our sessions, those that there were and those that are.
    pub fn since(&self, before: &Self, ours: &HashSet<NodeId>, own_reads: u64) -> Counted {
        let summary = before.summary.as_ref().zip(self.summary.as_ref());
        Counted {
            summary: summary.map_or_else(Default::default, |(a, b)| growth::summary(a, b)),
            sessions: match (&before.sessions, &self.sessions) {
                (Ok(before), Ok(after)) => match growth::sessions(before, after, ours) {
                    told if told.found + told.lost == 0 => {
                        Figure::missing("the server lists none of our sessions")
                    }
                    told => Figure::Known(told),
                },
                (Err(why), _) | (_, Err(why)) => Figure::missing(why),
            },
            subscriptions: None,
            own_reads,
            internals: before
                .internals
                .as_ref()
                .zip(self.internals.as_ref())
                .and_then(|(before, now)| now.since(before)),
        }
    }
}

/// What a plant says of its own work; nothing of an older one, which says nothing.
fn parsed(value: ReadValue) -> Option<Internals> {
    match value {
        Ok(Variant::String(text)) => Internals::from_json(text.value().as_ref()?),
        _ => None,
    }
}

/// What the server counted for the subscriptions of our sessions.
pub fn subscriptions(
    answer: Result<ReadResponse, StatusCode>,
    ours: &HashSet<NodeId>,
) -> Result<record::run::OfSubscriptions, String> {
    let array = values(answer)?.into_iter().next().unwrap_or_else(none);
    let entries: Vec<SubscriptionDiagnosticsDataType> = structures(array)?;
    let own = entries.iter().filter(|it| ours.contains(&it.session_id));
    let told = growth::subscriptions(own);
    match told.found {
        0 if entries.is_empty() => Err("the server lists no subscriptions".to_owned()),
        0 => Err("the server lists no subscriptions of our sessions".to_owned()),
        _ => Ok(told),
    }
}

/// Why there is nothing about so many.
pub fn too_many(what: &str) -> String {
    format!("not asked for: more than {MOST} {what}")
}

type ReadValue = Result<Variant, StatusCode>;

fn none<T>() -> Result<T, StatusCode> {
    Err(StatusCode::BadNoData)
}

/// The values in the order asked for.
fn values(answer: Result<ReadResponse, StatusCode>) -> Result<Vec<ReadValue>, String> {
    let answer = answer.map_err(|status| format!("the server did not tell: {status}"))?;
    let results = answer.results.unwrap_or_default();
    let value = |result: wire::types::DataValue| match result.status {
        Some(status) if status.is_bad() => Err(status),
        _ => result.value.ok_or(StatusCode::BadNoData),
    };
    Ok(results.into_iter().map(value).collect())
}

fn structure<T: DynEncodable>(value: ReadValue) -> Result<T, StatusCode> {
    match value? {
        Variant::ExtensionObject(object) => object
            .into_inner_as::<T>()
            .map(|it| *it)
            .ok_or(StatusCode::BadDataEncodingUnsupported),
        _ => none(),
    }
}

fn structures<T: DynEncodable>(value: ReadValue) -> Result<Vec<T>, String> {
    match value {
        Ok(Variant::Array(array)) => {
            let all: Result<Vec<T>, StatusCode> = array
                .values
                .into_iter()
                .map(|it| structure(Ok(it)))
                .collect();
            all.map_err(|status| format!("the server's entries cannot be read: {status}"))
        }
        // How some encode an array of none.
        Ok(Variant::Empty) => Ok(Vec::new()),
        Ok(_) => Err("the server tells something else than a list".to_owned()),
        Err(status) => Err(format!("the server does not tell: {status}")),
    }
}

#[cfg(test)]
mod tests;
