//! The Server object (Part 5, 6.3.1): what the server says of itself, live where it changes.

use std::sync::Arc;

use wire::template::walk::RawVariant;
use wire::types::{
    BuildInfo, DateTime, ExtensionObject, LocalizedText, ObjectId,
    ServerDiagnosticsSummaryDataType, ServerState, ServerStatusDataType, StatusCode, UAString,
    VariableId, Variant,
};

use super::publish_subscribe::Publisher;
use crate::config::Config;
use crate::counters::{Counted, Counters};
use crate::diagnostics::{
    Register, publishing_intervals, security_array, session_array, subscription_array,
};
use crate::internals::Workings;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::space::Builder;
use crate::space::encode;
use crate::space::event::nodes::SUBSCRIBE;
use crate::space::node::{Body, Shape, Variable, access};
use crate::space::standing::{constant, set};
use crate::space::value::{Scalar, Source, Stamp};
use crate::status::Status;

/// What a server knows of itself, and tells in its Server object.
#[derive(Debug)]
pub struct Own {
    /// What it counts.
    pub counters: Arc<Counters>,
    /// Its sessions and subscriptions.
    pub register: Arc<Register>,
    /// What became of their values and messages.
    pub ledger: Arc<Ledger>,
    /// What its loops do.
    pub workings: Arc<Workings>,
    /// Its state, and since when.
    pub status: Arc<Status>,
    /// What it publishes.
    pub publishers: Vec<Arc<Publisher>>,
}

/// Profiles of Part 7 that the server keeps.
const PROFILES: &[&str] = &["http://opcfoundation.org/UA-Profile/Server/EmbeddedUA2017"];

/// What switches diagnostics on and off (Part 5, 6.3.3).
pub const ENABLED_FLAG: VariableId = VariableId::Server_ServerDiagnostics_EnabledFlag;

/// Gives the variables of the Server object their values.
pub fn describe(
    builder: &mut Builder,
    config: &Config,
    Own {
        counters,
        register,
        status: life,
        ..
    }: &Own,
) {
    use VariableId as V;
    status(builder, life);
    let uris: Vec<UAString> = vec![config.application_uri.as_str().into()];
    constant(builder, V::Server_ServerArray, uris);
    let namespaces: Vec<UAString> = builder.namespaces().iter().map(|s| s.into()).collect();
    constant(builder, V::Server_NamespaceArray, namespaces);
    constant(builder, V::Server_ServiceLevel, 255u8);
    constant(builder, V::Server_Auditing, config.audit);
    capabilities(builder, &config.limits);
    diagnostics(builder, counters, register);
    // Part 5, 8.3.2: whoever listens here hears of everything.
    if let Some(server) = builder.node_mut(&ObjectId::Server.into()) {
        server.body = Body::Object {
            event_notifier: SUBSCRIBE,
        };
    }
}

/// Computed whenever it is asked for.
fn live(
    builder: &mut Builder,
    id: VariableId,
    value: impl Fn(i64) -> Variant + Send + Sync + 'static,
) {
    let source = Source::Live(Arc::new(move |now, out| {
        encode::encode(&value(now.utc), out);
        Stamp::good(now.utc)
    }));
    set(builder, id, source);
}

/// What every server of this crate is, whatever it serves; that is in its ApplicationName.
const PRODUCT: &str = "uaperf plant";

fn build_info(started: i64) -> BuildInfo {
    BuildInfo {
        product_uri: "urn:uaperf".into(),
        manufacturer_name: "uaperf".into(),
        product_name: PRODUCT.into(),
        software_version: env!("CARGO_PKG_VERSION").into(),
        build_number: env!("CARGO_PKG_VERSION").into(),
        build_date: DateTime::from(started),
    }
}

fn status(builder: &mut Builder, life: &Arc<Status>) {
    use VariableId as V;
    let info = build_info(life.started());
    let own = Arc::clone(life);
    live(builder, V::Server_ServerStatus_StartTime, move |_| {
        DateTime::from(own.started()).into()
    });
    let own = Arc::clone(life);
    live(builder, V::Server_ServerStatus_State, move |_| {
        (own.state() as i32).into()
    });
    let own = Arc::clone(life);
    live(
        builder,
        V::Server_ServerStatus_SecondsTillShutdown,
        move |utc| own.seconds_till_shutdown(utc).into(),
    );
    let own = Arc::clone(life);
    live(builder, V::Server_ServerStatus_ShutdownReason, move |_| {
        reason(&own).into()
    });
    for (id, text) in [
        (
            V::Server_ServerStatus_BuildInfo_ProductUri,
            &info.product_uri,
        ),
        (
            V::Server_ServerStatus_BuildInfo_ManufacturerName,
            &info.manufacturer_name,
        ),
        (
            V::Server_ServerStatus_BuildInfo_ProductName,
            &info.product_name,
        ),
        (
            V::Server_ServerStatus_BuildInfo_SoftwareVersion,
            &info.software_version,
        ),
        (
            V::Server_ServerStatus_BuildInfo_BuildNumber,
            &info.build_number,
        ),
    ] {
        constant(builder, id, text.clone());
    }
    constant(
        builder,
        V::Server_ServerStatus_BuildInfo_BuildDate,
        info.build_date,
    );
    let structure = ExtensionObject::from_message(info.clone());
    constant(builder, V::Server_ServerStatus_BuildInfo, structure);
    live(builder, V::Server_ServerStatus_CurrentTime, |utc| {
        DateTime::from(utc).into()
    });
    let own = Arc::clone(life);
    live(builder, V::Server_ServerStatus, move |utc| {
        ExtensionObject::from_message(ServerStatusDataType {
            start_time: DateTime::from(own.started()),
            current_time: DateTime::from(utc),
            state: own.state(),
            build_info: info.clone(),
            seconds_till_shutdown: own.seconds_till_shutdown(utc),
            shutdown_reason: reason(&own),
        })
        .into()
    });
}

/// Why it ends, once it does.
fn reason(life: &Status) -> LocalizedText {
    match life.state() {
        ServerState::Shutdown => LocalizedText::new("en", "the server was asked to stop"),
        _ => LocalizedText::null(),
    }
}

fn capabilities(builder: &mut Builder, limits: &Limits) {
    use VariableId as V;
    let profiles: Vec<UAString> = PROFILES.iter().map(|uri| (*uri).into()).collect();
    constant(
        builder,
        V::Server_ServerCapabilities_ServerProfileArray,
        profiles,
    );
    let locales: Vec<UAString> = vec!["en".into()];
    constant(builder, V::Server_ServerCapabilities_LocaleIdArray, locales);
    let sampling = limits.sampling_interval.as_secs_f64() * 1000.0;
    constant(
        builder,
        V::Server_ServerCapabilities_MinSupportedSampleRate,
        sampling,
    );
    let points = u16::try_from(limits.continuation_points).unwrap_or(u16::MAX);
    constant(
        builder,
        V::Server_ServerCapabilities_MaxBrowseContinuationPoints,
        points,
    );
    for (id, points) in [
        (V::Server_ServerCapabilities_MaxQueryContinuationPoints, 0),
        (
            V::Server_ServerCapabilities_MaxHistoryContinuationPoints,
            points,
        ),
    ] {
        constant(builder, id, points);
    }
    crate::space::history::describe(builder, limits);
    crate::space::aggregate::announce(builder);
    let message = limits.sizes.receive_message;
    for (id, limit) in [
        (
            V::Server_ServerCapabilities_MaxArrayLength,
            message as usize,
        ),
        (
            V::Server_ServerCapabilities_MaxStringLength,
            message as usize,
        ),
        (
            V::Server_ServerCapabilities_MaxByteStringLength,
            message as usize,
        ),
        (V::Server_ServerCapabilities_MaxSessions, limits.sessions),
        (V::Server_ServerCapabilities_MaxSubscriptions, 0),
        (V::Server_ServerCapabilities_MaxMonitoredItems, 0),
        (
            V::Server_ServerCapabilities_MaxSubscriptionsPerSession,
            limits.subscriptions_per_session,
        ),
        (
            V::Server_ServerCapabilities_MaxMonitoredItemsPerSubscription,
            limits.items_per_subscription,
        ),
        (
            V::Server_ServerCapabilities_MaxMonitoredItemsQueueSize,
            limits.queue_size as usize,
        ),
    ] {
        number(builder, id, limit);
    }
    operation_limits(builder, limits);
}

/// Part 5, 6.3.11. What is not supported is limited to nothing by being refused.
fn operation_limits(builder: &mut Builder, limits: &Limits) {
    use VariableId as V;
    for (id, limit) in [
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerRead,
            limits.nodes_per_read,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerWrite,
            limits.nodes_per_write,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerMethodCall,
            limits.methods_per_call,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerBrowse,
            limits.nodes_per_browse,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerRegisterNodes,
            limits.nodes_per_register,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerTranslateBrowsePathsToNodeIds,
            limits.paths_per_translate,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxMonitoredItemsPerCall,
            limits.items_per_call,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerNodeManagement,
            match limits.added_nodes {
                0 => 0,
                _ => limits.nodes_per_write,
            },
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryReadData,
            limits.nodes_per_read,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryReadEvents,
            0,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryUpdateData,
            0,
        ),
        (
            V::Server_ServerCapabilities_OperationLimits_MaxNodesPerHistoryUpdateEvents,
            0,
        ),
    ] {
        number(builder, id, limit);
    }
}

fn number(builder: &mut Builder, id: VariableId, limit: usize) {
    constant(builder, id, u32::try_from(limit).unwrap_or(u32::MAX));
}

/// A count out of them all.
type Pick = fn(&Counted) -> u64;

/// Whoever reads it makes an array of structures out of it.
type Array = fn(&Register) -> Variant;

/// Shows something of the diagnostics, as long as they are enabled.
fn diagnostic(
    builder: &mut Builder,
    id: VariableId,
    register: &Arc<Register>,
    value: impl Fn(&Register) -> Variant + Send + Sync + 'static,
) {
    let register = Arc::clone(register);
    let source = Source::Live(Arc::new(move |now, out| {
        if register.is_enabled() {
            encode::encode(&value(&register), out);
            return Stamp::good(now.utc);
        }
        encode::encode(&Variant::Empty, out);
        // Part 5, 6.3.3: the nodes that are always there say so.
        Stamp {
            status: StatusCode::BadNotReadable,
            source: now.utc,
        }
    }));
    set(builder, id, source);
}

/// Part 5, 6.3.3 to 6.3.5.
fn diagnostics(builder: &mut Builder, counters: &Arc<Counters>, register: &Arc<Register>) {
    use VariableId as V;
    enabled_flag(builder);
    let arrays: [(V, Array); 3] = [
        (
            V::Server_ServerDiagnostics_SubscriptionDiagnosticsArray,
            subscription_array,
        ),
        (
            V::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray,
            session_array,
        ),
        (
            V::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray,
            security_array,
        ),
    ];
    for (id, array) in arrays {
        diagnostic(builder, id, register, array);
    }
    let picks: [(V, Pick); 10] = [
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSessionCount,
            |c| c.sessions,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_CumulatedSessionCount,
            |c| c.cumulated_sessions,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_SecurityRejectedSessionCount,
            |c| c.security_rejected_sessions,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_RejectedSessionCount,
            |c| c.rejected_sessions,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_SessionTimeoutCount,
            |c| c.session_timeouts,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_SessionAbortCount,
            |c| c.aborted_sessions,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSubscriptionCount,
            |c| c.subscriptions,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_CumulatedSubscriptionCount,
            |c| c.cumulated_subscriptions,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_RejectedRequestsCount,
            |c| c.rejected_requests,
        ),
        (
            V::Server_ServerDiagnostics_ServerDiagnosticsSummary_SecurityRejectedRequestsCount,
            |c| c.security_rejected_requests,
        ),
    ];
    for (id, pick) in picks {
        let counters = Arc::clone(counters);
        diagnostic(builder, id, register, move |register| {
            count(pick(&register.counted(&counters))).into()
        });
    }
    let views = V::Server_ServerDiagnostics_ServerDiagnosticsSummary_ServerViewCount;
    diagnostic(builder, views, register, |_| 0u32.into());
    let intervals = V::Server_ServerDiagnostics_ServerDiagnosticsSummary_PublishingIntervalCount;
    diagnostic(builder, intervals, register, |register| {
        publishing_intervals(register).into()
    });
    let counters = Arc::clone(counters);
    let all = V::Server_ServerDiagnostics_ServerDiagnosticsSummary;
    diagnostic(builder, all, register, move |register| {
        let counted = register.counted(&counters);
        let intervals = publishing_intervals(register);
        ExtensionObject::from_message(summary(&counted, intervals)).into()
    });
}

/// The flag that clients switch diagnostics with. What comes of a write is seen to by who takes it.
fn enabled_flag(builder: &mut Builder) {
    let stamp = Stamp::good(builder.anchor());
    let encoded = encode::variant(true);
    let scalar = RawVariant::parse(&encoded).ok();
    let scalar = scalar.and_then(|on| Scalar::new(&on, stamp));
    if let (Some(scalar), Some(variable)) = (scalar, builder.variable_mut(&ENABLED_FLAG.into())) {
        let shape = Shape {
            access_level: access::READ | access::WRITE,
            ..(*variable.shape).clone()
        };
        *variable = Variable::new(Source::Scalar(scalar), shape);
    }
}

fn summary(counted: &Counted, intervals: u32) -> ServerDiagnosticsSummaryDataType {
    ServerDiagnosticsSummaryDataType {
        server_view_count: 0,
        current_session_count: count(counted.sessions),
        cumulated_session_count: count(counted.cumulated_sessions),
        security_rejected_session_count: count(counted.security_rejected_sessions),
        rejected_session_count: count(counted.rejected_sessions),
        session_timeout_count: count(counted.session_timeouts),
        session_abort_count: count(counted.aborted_sessions),
        current_subscription_count: count(counted.subscriptions),
        cumulated_subscription_count: count(counted.cumulated_subscriptions),
        publishing_interval_count: intervals,
        security_rejected_requests_count: count(counted.security_rejected_requests),
        rejected_requests_count: count(counted.rejected_requests),
    }
}

fn count(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
