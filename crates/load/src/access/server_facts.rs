//! What a server says of itself: product, namespaces, capabilities, limits.

use serde::Serialize;
use wire::types::{
    DataValue, DateTime, NodeId, ReadRequest, ReadResponse, ReadValueId, TimestampsToReturn,
    VariableId, Variant,
};

use crate::transport::CallError;

/// The answers. What a server does not say is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ServerFacts {
    /// BuildInfo.ProductName.
    pub product: Option<String>,
    /// BuildInfo.ProductUri.
    pub product_uri: Option<String>,
    /// BuildInfo.ManufacturerName.
    pub manufacturer: Option<String>,
    /// BuildInfo.SoftwareVersion.
    pub version: Option<String>,
    /// BuildInfo.BuildNumber.
    pub build: Option<String>,
    /// BuildInfo.BuildDate.
    pub build_date: Option<String>,
    /// ServerStatus.State by name.
    pub state: Option<String>,
    /// ServerStatus.StartTime.
    pub started: Option<String>,
    /// How far the server's clock is ahead of ours, and the error bound of that.
    pub clock: Option<ClockOffset>,
    /// The namespace URIs by index.
    pub namespaces: Vec<String>,
    /// Profiles the server claims.
    pub profiles: Vec<String>,
    /// Limits by name, in the order of the specification; 0 is "no limit" and left as it is.
    pub limits: Vec<Limit>,
}

/// What is known of a server that says nothing of itself.
pub const NAMELESS: &str = "a server that does not say what it is";

impl ServerFacts {
    /// What it calls itself: product and version.
    pub fn name(&self) -> String {
        match &self.product {
            Some(product) => {
                let version = self.version.as_deref().unwrap_or_default();
                format!("{product} {version}").trim_end().to_owned()
            }
            None => NAMELESS.to_owned(),
        }
    }
}

/// A limit the server declares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Its BrowseName.
    pub name: &'static str,
    /// Its value; 0 means that there is none.
    pub value: f64,
}

/// The difference of two clocks, taken from one read: right to half its round trip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockOffset {
    /// Positive if the server is ahead.
    pub ahead_ns: i64,
    /// The true value is within this of it.
    pub error_ns: i64,
}

/// Limits in the order of Part 5, 6.3.2 and 6.3.11.
const LIMITS: [(&str, VariableId); 27] =
    {
        use VariableId as V;
        [
        ("MaxSessions", V::Server_ServerCapabilities_MaxSessions),
        ("MaxSubscriptions", V::Server_ServerCapabilities_MaxSubscriptions),
        (
            "MaxSubscriptionsPerSession",
            V::Server_ServerCapabilities_MaxSubscriptionsPerSession,
        ),
        ("MaxMonitoredItems", V::Server_ServerCapabilities_MaxMonitoredItems),
        (
            "MaxMonitoredItemsPerSubscription",
            V::Server_ServerCapabilities_MaxMonitoredItemsPerSubscription,
        ),
        (
            "MaxMonitoredItemsQueueSize",
            V::Server_ServerCapabilities_MaxMonitoredItemsQueueSize,
        ),
        (
            "MinSupportedSampleRate",
            V::Server_ServerCapabilities_MinSupportedSampleRate,
        ),
        (
            "MaxMonitoredItemsPerCall",
            V::Server_ServerCapabilities_OperationLimits_MaxMonitoredItemsPerCall,
        ),
        (
            "MaxNodesPerRead",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerRead,
        ),
        (
            "MaxNodesPerWrite",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerWrite,
        ),
        (
            "MaxNodesPerMethodCall",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerMethodCall,
        ),
        (
            "MaxNodesPerBrowse",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerBrowse,
        ),
        (
            "MaxNodesPerRegisterNodes",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerRegisterNodes,
        ),
        (
            "MaxNodesPerTranslateBrowsePathsToNodeIds",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerTranslateBrowsePathsToNodeIds,
        ),
        (
            "MaxNodesPerNodeManagement",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerNodeManagement,
        ),
        (
            "MaxNodesPerHistoryReadData",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryReadData,
        ),
        (
            "MaxNodesPerHistoryReadEvents",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryReadEvents,
        ),
        (
            "MaxNodesPerHistoryUpdateData",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryUpdateData,
        ),
        (
            "MaxNodesPerHistoryUpdateEvents",
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryUpdateEvents,
        ),
        ("MaxArrayLength", V::Server_ServerCapabilities_MaxArrayLength),
        ("MaxStringLength", V::Server_ServerCapabilities_MaxStringLength),
        (
            "MaxByteStringLength",
            V::Server_ServerCapabilities_MaxByteStringLength,
        ),
        (
            "MaxBrowseContinuationPoints",
            V::Server_ServerCapabilities_MaxBrowseContinuationPoints,
        ),
        (
            "MaxQueryContinuationPoints",
            V::Server_ServerCapabilities_MaxQueryContinuationPoints,
        ),
        (
            "MaxHistoryContinuationPoints",
            V::Server_ServerCapabilities_MaxHistoryContinuationPoints,
        ),
        (
            "MaxSelectClauseParameters",
            V::Server_ServerCapabilities_MaxSelectClauseParameters,
        ),
        (
            "MaxWhereClauseParameters",
            V::Server_ServerCapabilities_MaxWhereClauseParameters,
        ),
    ]
    };

const FACTS: [VariableId; 10] = {
    use VariableId as V;
    [
        V::Server_ServerStatus_BuildInfo_ProductName,
        V::Server_ServerStatus_BuildInfo_ProductUri,
        V::Server_ServerStatus_BuildInfo_ManufacturerName,
        V::Server_ServerStatus_BuildInfo_SoftwareVersion,
        V::Server_ServerStatus_BuildInfo_BuildNumber,
        V::Server_ServerStatus_BuildInfo_BuildDate,
        V::Server_ServerStatus_State,
        V::Server_ServerStatus_StartTime,
        V::Server_NamespaceArray,
        V::Server_ServerCapabilities_ServerProfileArray,
    ]
};

/// Something that reads: the caller's session.
pub trait Reads {
    /// Calls Read.
    fn read(&mut self, request: ReadRequest) -> Result<ReadResponse, CallError>;

    /// The wall clock, in ticks.
    fn utc(&self) -> i64;
}

impl ServerFacts {
    /// Asks the server. The limits are not known yet, so each call is small: five nodes, which
    /// every server takes.
    pub fn ask(session: &mut impl Reads) -> Result<Self, CallError> {
        let mut facts = read(session, &FACTS)?.into_iter();
        let mut text = || facts.next().and_then(string);
        let mut about = Self {
            product: text(),
            product_uri: text(),
            manufacturer: text(),
            version: text(),
            build: text(),
            ..Self::default()
        };
        about.build_date = facts.next().and_then(time);
        about.state = facts.next().and_then(number).map(state);
        about.started = facts.next().and_then(time);
        about.namespaces = facts.next().map(strings).unwrap_or_default();
        about.profiles = facts.next().map(strings).unwrap_or_default();
        about.clock = clock(session)?;
        let ids = LIMITS.map(|(_, id)| id);
        let values = read(session, &ids)?;
        about.limits = LIMITS
            .iter()
            .zip(values)
            .filter_map(|(&(name, _), value)| number(value).map(|value| Limit { name, value }))
            .collect();
        Ok(about)
    }

    /// A declared limit; nothing if it is not declared, or declared as 0.
    pub fn limit(&self, name: &str) -> Option<f64> {
        let limit = self.limits.iter().find(|limit| limit.name == name)?;
        (limit.value > 0.0).then_some(limit.value)
    }
}

const PER_READ: usize = 5;

/// The values in the order asked for. A value that is not good is null.
fn read(session: &mut impl Reads, ids: &[VariableId]) -> Result<Vec<Variant>, CallError> {
    let mut values = Vec::with_capacity(ids.len());
    for ids in ids.chunks(PER_READ) {
        let response = session.read(request(ids))?;
        // What has no result is not known, as what has no good one.
        let mut results = response.results.unwrap_or_default().into_iter();
        values.extend(ids.iter().map(|_| good(results.next())));
    }
    Ok(values)
}

fn request(ids: &[VariableId]) -> ReadRequest {
    ReadRequest {
        request_header: Default::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(
            ids.iter()
                .map(|&id| ReadValueId::from(NodeId::from(id)))
                .collect(),
        ),
    }
}

fn good(value: Option<DataValue>) -> Variant {
    value
        .filter(|value| !value.status.is_some_and(|status| status.is_bad()))
        .and_then(|value| value.value)
        .unwrap_or(Variant::Empty)
}

/// The best of a few reads of the server's clock: the shortest round trip has the smallest error.
fn clock(session: &mut impl Reads) -> Result<Option<ClockOffset>, CallError> {
    let mut best: Option<ClockOffset> = None;
    for _ in 0..5 {
        let before = session.utc();
        let values = read(session, &[VariableId::Server_ServerStatus_CurrentTime])?;
        let after = session.utc();
        let Some(Variant::DateTime(server)) = values.into_iter().next() else {
            return Ok(None);
        };
        let found = ClockOffset {
            ahead_ns: (server.ticks() - before.midpoint(after)) * 100,
            error_ns: (after - before).max(1) * 50,
        };
        if best.is_none_or(|best| found.error_ns < best.error_ns) {
            best = Some(found);
        }
    }
    Ok(best)
}

fn string(value: Variant) -> Option<String> {
    match value {
        Variant::String(text) => Some(text.as_ref().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

fn strings(value: Variant) -> Vec<String> {
    match value {
        Variant::Array(array) => array.values.into_iter().filter_map(string).collect(),
        _ => Vec::new(),
    }
}

fn time(value: Variant) -> Option<String> {
    match value {
        // Year 1601 is how a null time looks on the wire.
        Variant::DateTime(time) if *time > DateTime::from(0) => Some(time.to_rfc3339()),
        _ => None,
    }
}

fn number(value: Variant) -> Option<f64> {
    match value {
        Variant::Double(value) => Some(value),
        Variant::UInt32(value) => Some(value.into()),
        Variant::Int32(value) => Some(value.into()),
        Variant::UInt16(value) => Some(value.into()),
        Variant::Byte(value) => Some(value.into()),
        _ => None,
    }
}

/// ServerState (Part 5, 12.6).
fn state(number: f64) -> String {
    let names = [
        "Running",
        "Failed",
        "NoConfiguration",
        "Suspended",
        "Shutdown",
        "Test",
        "CommunicationFault",
        "Unknown",
    ];
    names
        .get(number as usize)
        .map_or_else(|| format!("state {number}"), |name| (*name).to_owned())
}
