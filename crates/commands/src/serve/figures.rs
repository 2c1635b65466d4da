//! What servers say of themselves to programs that look again and again.

use plant::{Counted, ServerWatch};
use record::run::Internals;
use report::family::Family;

/// A figure of a server: what it is, and what it says.
type Simple = (
    fn(&'static str, &'static str) -> Family,
    &'static str,
    &'static str,
    fn(&Counted) -> u64,
);

const COUNTED: &[Simple] = &[
    (
        Family::gauge,
        "uaperf_server_connections",
        "Connections that are open.",
        |it| it.connections,
    ),
    (
        Family::counter,
        "uaperf_server_connections_accepted_total",
        "Connections ever accepted.",
        |it| it.cumulated_connections,
    ),
    (
        Family::counter,
        "uaperf_server_connections_refused_total",
        "Connections turned away because there were too many.",
        |it| it.refused_connections,
    ),
    (
        Family::counter,
        "uaperf_server_channels_opened_total",
        "Secure channels ever opened, renewals not counted.",
        |it| it.channels,
    ),
    (
        Family::counter,
        "uaperf_server_channels_refused_total",
        "Secure channels refused for their certificate or their signatures.",
        |it| it.security_rejected_channels,
    ),
    (
        Family::gauge,
        "uaperf_server_sessions",
        "Sessions that exist.",
        |it| it.sessions,
    ),
    (
        Family::counter,
        "uaperf_server_sessions_opened_total",
        "Sessions ever created.",
        |it| it.cumulated_sessions,
    ),
    (
        Family::counter,
        "uaperf_server_sessions_refused_total",
        "Sessions that could not be created or activated.",
        |it| it.rejected_sessions,
    ),
    (
        Family::counter,
        "uaperf_server_sessions_timed_out_total",
        "Sessions that died by their timeout.",
        |it| it.session_timeouts,
    ),
    (
        Family::gauge,
        "uaperf_server_subscriptions",
        "Subscriptions that exist.",
        |it| it.subscriptions,
    ),
    (
        Family::counter,
        "uaperf_server_subscriptions_opened_total",
        "Subscriptions ever created.",
        |it| it.cumulated_subscriptions,
    ),
    (
        Family::gauge,
        "uaperf_server_monitored_items",
        "Monitored items that exist.",
        |it| it.items,
    ),
    (
        Family::counter,
        "uaperf_server_requests_total",
        "Requests answered, faults too.",
        |it| it.requests,
    ),
    (
        Family::counter,
        "uaperf_server_requests_refused_total",
        "Requests answered with a ServiceFault.",
        |it| it.rejected_requests,
    ),
    (
        Family::counter,
        "uaperf_server_values_read_total",
        "Nodes read.",
        |it| it.reads,
    ),
    (
        Family::counter,
        "uaperf_server_values_written_total",
        "Nodes written.",
        |it| it.writes,
    ),
    (
        Family::counter,
        "uaperf_server_methods_called_total",
        "Methods called.",
        |it| it.calls,
    ),
    (
        Family::counter,
        "uaperf_server_notification_messages_total",
        "Notification messages sent.",
        |it| it.messages,
    ),
    (
        Family::counter,
        "uaperf_server_notifications_total",
        "Values and events in them.",
        |it| it.notifications,
    ),
    (
        Family::counter,
        "uaperf_server_republished_total",
        "Notification messages sent again.",
        |it| it.republished,
    ),
    (
        Family::counter,
        "uaperf_server_overflows_total",
        "Values that were dropped because a queue was full.",
        |it| it.overflows,
    ),
    (
        Family::counter,
        "uaperf_server_received_bytes_total",
        "Bytes of messages that connections brought, inside TLS where there is one.",
        |it| it.received_bytes,
    ),
    (
        Family::counter,
        "uaperf_server_sent_bytes_total",
        "Bytes of messages that connections took, inside TLS where there is one.",
        |it| it.sent_bytes,
    ),
];

/// All of it, of each server by its URL.
pub fn families(watches: &[ServerWatch]) -> Vec<Family> {
    let looks: Vec<_> = watches.iter().map(Look::at).collect();
    let simple = COUNTED.iter().map(|(new, name, about, figure)| {
        let mut family = new(name, about);
        for it in &looks {
            family.add(it.labels(), figure(&it.counted) as f64);
        }
        family
    });
    let mut all: Vec<Family> = simple.collect();
    all.extend(services(&looks));
    all.extend(loops(&looks));
    all.extend(memory(&looks));
    all.extend(faults(watches));
    all
}

/// A server at one moment.
struct Look {
    url: String,
    counted: Counted,
    internals: Internals,
    memory: (usize, usize),
}

type Labels = Vec<(&'static str, String)>;

impl Look {
    fn at(watch: &ServerWatch) -> Self {
        Self {
            url: watch.url().to_owned(),
            counted: watch.counted(),
            internals: watch.internals(),
            memory: watch.memory(),
        }
    }

    fn labels(&self) -> Labels {
        vec![("server", self.url.clone())]
    }

    fn labels_of(&self, name: &'static str, text: &str) -> Labels {
        vec![("server", self.url.clone()), (name, text.to_owned())]
    }
}

/// What loops did, and how long that took where it was timed.
fn services(looks: &[Look]) -> [Family; 3] {
    let about = "How often a service was carried out; publishing and the rest of long answers are no services of the standard.";
    let mut count = Family::counter("uaperf_server_service_total", about);
    let about = "How often the time of a service was taken: of the frequent ones, one of 31.";
    let mut timed = Family::counter("uaperf_server_service_timed_total", about);
    let about = "How long those took that were timed.";
    let mut seconds = Family::counter("uaperf_server_service_timed_seconds_total", about);
    for it in looks {
        for service in &it.internals.services {
            let labels = || it.labels_of("service", &service.service);
            count.add(labels(), service.count as f64);
            timed.add(labels(), service.timed as f64);
            seconds.add(labels(), service.timed_ns as f64 / 1e9);
        }
    }
    [count, timed, seconds]
}

/// How busy loops are: a rate of seconds in a second is a share.
fn loops(looks: &[Look]) -> [Family; 2] {
    let about = "How long a loop did not wait for something to happen; its rate is the share of the time for which it was busy.";
    let mut busy = Family::counter("uaperf_server_loop_busy_seconds_total", about);
    let about = "Turns of a loop: it was woken, did what there was, and waited again.";
    let mut turns = Family::counter("uaperf_server_loop_turns_total", about);
    for it in looks {
        for used in &it.internals.loops {
            let labels = || it.labels_of("loop", &used.name);
            busy.add(labels(), used.busy_ns as f64 / 1e9);
            turns.add(labels(), used.turns as f64);
        }
    }
    [busy, turns]
}

fn memory(looks: &[Look]) -> [Family; 2] {
    let about = "Memory for what clients send, ask for and do not take: what is held.";
    let mut held = Family::gauge("uaperf_server_held_bytes", about);
    let about = "The most that may be held, --memory.";
    let mut limit = Family::gauge("uaperf_server_held_limit_bytes", about);
    for it in looks {
        held.add(it.labels(), it.memory.0 as f64);
        limit.add(it.labels(), it.memory.1 as f64);
    }
    [held, limit]
}

fn faults(watches: &[ServerWatch]) -> [Family; 2] {
    let about = "Events that a fault could have struck.";
    let mut events = Family::counter("uaperf_server_fault_events_total", about);
    let about = "Events that a fault struck.";
    let mut hits = Family::counter("uaperf_server_fault_hits_total", about);
    for watch in watches {
        for it in watch.faults() {
            let labels = || {
                vec![
                    ("server", watch.url().to_owned()),
                    ("number", it.id.to_string()),
                    ("fault", it.fault.clone()),
                ]
            };
            events.add(labels(), it.events as f64);
            hits.add(labels(), it.hits as f64);
        }
    }
    [events, hits]
}
