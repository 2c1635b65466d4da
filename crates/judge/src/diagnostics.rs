//! What servers counted themselves beside what we counted: who is right is not said, how far they are apart is.

use record::run::{CountComparison, Counted, Diagnostics, OfSubscriptions, Phase, Subscriptions};

/// Requests of a kind that a phase sent, from its first to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The service, as the phase names it: `read`, `read registered`.
    pub service: String,
    /// Requests that were written, follow-ups among them.
    pub requests: u64,
    /// Of them those that nobody answered.
    pub unanswered: u64,
}

/// What we counted ourselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ours<'a> {
    /// Requests, by service.
    pub sent: &'a [Sent],
    /// Sessions that were opened, where they came and went.
    pub sessions: Option<u64>,
    /// What subscriptions brought, and how many values their queues keep.
    pub heard: Option<(&'a Subscriptions, u32)>,
}

/// Services as they are printed, with the names that phases give them, and where Part 5, 12.11
/// (SessionDiagnosticsDataType) counts them.
const SERVICES: [(&str, &[&str], &[&str]); 15] = [
    (
        "reads",
        &["read", "read plain", "read registered"],
        &["readCount"],
    ),
    ("writes", &["write"], &["writeCount"]),
    ("browses", &["browse"], &["browseCount", "browseNextCount"]),
    ("history reads", &["history"], &["historyReadCount"]),
    (
        "translations",
        &["translate"],
        &["translateBrowsePathsToNodeIdsCount"],
    ),
    ("calls", &["call"], &["callCount"]),
    (
        "subscriptions created",
        &["create subscriptions"],
        &["createSubscriptionCount"],
    ),
    (
        "subscriptions deleted",
        &["delete subscriptions"],
        &["deleteSubscriptionsCount"],
    ),
    (
        "requests for items",
        &["create items"],
        &["createMonitoredItemsCount"],
    ),
    (
        "requests to modify items",
        &["modify items"],
        &["modifyMonitoredItemsCount"],
    ),
    (
        "requests to delete items",
        &["delete items"],
        &["deleteMonitoredItemsCount"],
    ),
    ("requests to add nodes", &["add nodes"], &["addNodesCount"]),
    (
        "requests to delete nodes",
        &["delete nodes"],
        &["deleteNodesCount"],
    ),
    (
        "requests to add references",
        &["add references"],
        &["addReferencesCount"],
    ),
    (
        "requests to delete references",
        &["delete references"],
        &["deleteReferencesCount"],
    ),
];

/// Counts of all servers beside ours. Nothing where a server tells nothing, since its part of the sums is not
/// known.
pub fn beside(told: &Diagnostics, ours: Ours<'_>) -> Vec<CountComparison> {
    let Ours {
        sent,
        sessions,
        heard,
    } = ours;
    let Some(servers) = told.all() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    if let Some(opened) = sessions {
        rows.extend(self::sessions(&servers, opened));
    }
    if let Some(calls) = Calls::of(&servers) {
        rows.extend(calls.rows(sent));
        rows.extend(heard.map_or_else(Vec::new, |(heard, _)| calls.publishing(heard)));
    }
    if let Some((heard, queue)) = heard {
        rows.extend(subscriptions(&servers, heard, queue));
    }
    rows
}

/// Where both counts differ and nothing explains it.
pub(crate) fn notes(phase: &Phase) -> Vec<String> {
    let rows = phase.diagnostics.iter().flat_map(|told| &told.beside);
    let differ = rows.filter(|row| !row.agrees() && row.because.is_none());
    differ
        .map(|row| {
            format!(
                "{}: {} by the server's own counters, {} by us",
                row.what, row.server, row.client
            )
        })
        .collect()
}

fn row(what: &str, server: u64, client: u64, because: Option<String>) -> CountComparison {
    CountComparison {
        source: "diagnostics".to_owned(),
        what: what.to_owned(),
        server,
        client,
        because: because.filter(|_| server != client),
    }
}

/// What servers counted for our sessions, added up.
struct Calls<'a> {
    servers: Vec<&'a record::run::OfSessions>,
    own_reads: u64,
}

impl<'a> Calls<'a> {
    fn of(servers: &[&'a Counted]) -> Option<Self> {
        let sessions: Option<Vec<_>> = servers.iter().map(|it| it.sessions.known()).collect();
        Some(Self {
            servers: sessions.filter(|all| all.iter().any(|it| it.found > 0))?,
            own_reads: servers.iter().map(|it| it.own_reads).sum(),
        })
    }

    fn count(&self, counter: &str) -> u64 {
        let each = self
            .servers
            .iter()
            .filter_map(|it| it.requests.get(counter));
        each.sum()
    }

    /// Why a server may know of fewer requests than we sent.
    fn lost(&self) -> Option<String> {
        let lost: u64 = self.servers.iter().map(|it| it.lost).sum();
        match lost {
            0 => None,
            1 => Some("a session was lost, and its counts with it".to_owned()),
            n => Some(format!(
                "{n} sessions were lost, and their counts with them"
            )),
        }
    }

    fn rows(&self, sent: &[Sent]) -> Vec<CountComparison> {
        let mut rows = Vec::new();
        for (what, names, counters) in SERVICES {
            let ours = || {
                sent.iter()
                    .filter(|it| names.contains(&it.service.as_str()))
            };
            let requests: u64 = ours().map(|it| it.requests).sum();
            if requests == 0 {
                continue;
            }
            let unanswered: u64 = ours().map(|it| it.unanswered).sum();
            let mut server: u64 = counters.iter().map(|it| self.count(it)).sum();
            if what == "reads" {
                server = server.saturating_sub(self.own_reads);
            }
            let short = requests.checked_sub(server);
            let unanswered = short
                .filter(|short| *short <= unanswered)
                .map(|_| format!("{unanswered} requests were not answered"));
            rows.push(row(what, server, requests, self.lost().or(unanswered)));
        }
        rows
    }

    fn publishing(&self, heard: &Subscriptions) -> Vec<CountComparison> {
        let (sent, answered) = (heard.count("publish_sent"), heard.count("publish_answered"));
        let server = self.count("publishCount");
        let mut rows = vec![match server == answered {
            // Some count a request when they answer it.
            true => row("publish requests answered", server, answered, None),
            false => row("publish requests", server, sent, self.lost()),
        }];
        let (server, asked) = (self.count("republishCount"), heard.count("republish_asked"));
        if server + asked > 0 {
            // What was missed while there was no connection is asked for until there is no more of it.
            let back = (heard.count("cut") > 0 && server > asked)
                .then(|| "those after a lost connection are among them".to_owned());
            rows.push(row(
                "republish requests",
                server,
                asked,
                back.or_else(|| self.lost()),
            ));
        }
        rows
    }
}

/// Where sessions come and go, the server as a whole tells how many there were.
fn sessions(servers: &[&Counted], ours: u64) -> Option<CountComparison> {
    let created = servers
        .iter()
        .map(|it| it.summary.get("cumulatedSessionCount").copied());
    let server: u64 = created.sum::<Option<u64>>()?;
    let because = match server > ours {
        true => "those of other clients are among them",
        false => "some could not be opened",
    };
    Some(row("sessions", server, ours, Some(because.to_owned())))
}

/// What was counted for subscriptions (Part 5, 12.15).
fn subscriptions(servers: &[&Counted], heard: &Subscriptions, queue: u32) -> Vec<CountComparison> {
    let told: Option<Vec<&OfSubscriptions>> = servers
        .iter()
        .map(|it| it.subscriptions.as_ref()?.known())
        .collect();
    let Some(told) = told else {
        return Vec::new();
    };
    let count =
        |name: &str| -> Option<u64> { told.iter().map(|it| it.counts.get(name).copied()).sum() };
    let ours = |name: &str| heard.count(name);
    let ended = heard.found("ended").map_or(0, |it| it.count) + ours("recreated");
    let gone = match ended {
        0 => None,
        1 => Some("a subscription ended, and its counts with it".to_owned()),
        n => Some(format!(
            "{n} subscriptions ended, and their counts with them"
        )),
    };
    let mut rows = Vec::new();
    let mut add = |what: &str, server: Option<u64>, client: u64, because: Option<String>| {
        if let Some(server) = server {
            rows.push(row(what, server, client, because));
        }
    };
    let found = told.iter().map(|it| it.found).sum();
    add(
        "subscriptions",
        Some(found),
        heard.subscriptions,
        gone.clone(),
    );
    add(
        "monitored items",
        count("monitoredItemCount"),
        heard.items,
        gone.clone(),
    );

    let came = ours("notifications").saturating_sub(ours("repeated_messages"));
    let fetched = ours("republish_answered").saturating_sub(ours("republish_crossed"));
    let lost = ours("missing_messages").saturating_sub(ours("returned") + fetched);
    // Of a message that came by Republish, too, there are two copies.
    let in_turn = came.saturating_sub(ours("republish_answered"));
    let made = count("nextSequenceNumber");
    let short = made.and_then(|made| made.checked_sub(in_turn));
    let on_the_way = short.filter(|short| *short > 0 && *short == fetched + lost);
    let on_the_way = on_the_way.map(|short| match lost {
        0 => format!("{short} were lost on the way, and came by Republish"),
        _ => format!("{short} were lost on the way: {fetched} came by Republish, {lost} never"),
    });
    let of_transfers = ours("status_changes");
    let numbered = short.is_some_and(|short| short > 0 && short <= of_transfers);
    let numbered = numbered.then(|| "those that told of transfers have numbers, too".to_owned());
    add(
        "messages",
        made,
        in_turn,
        on_the_way.or(numbered).or_else(|| gone.clone()),
    );

    let copies = ours("repeated") + ours("overtaken") + ours("crossed");
    let values = ours("received").saturating_sub(copies);
    let (of, word) = match heard.events {
        Some(_) => ("eventNotificationsCount", "events"),
        None => ("dataChangeNotificationsCount", "values"),
    };
    let changes = count(of);
    // Part 5, 12.15 does not say whether a notification is a value or a message with some.
    match changes == Some(came) && changes != Some(values) {
        true => add(&format!("messages with {word}"), changes, came, None),
        false => {
            let never = (lost > 0).then(|| format!("those in {lost} messages never came"));
            add(word, changes, values, never.or_else(|| gone.clone()));
        }
    }
    if heard.events.is_some() {
        // eventQueueOverFlowCount counts items or events, as a server understands it.
        return rows;
    }
    let overflows = count("monitoringQueueOverflowCount");
    let seen = match heard.counters > 0 && heard.counters == heard.items {
        true => ours("overflowed"),
        false => ours("overflow_bits"),
    };
    // Where the server does not count them, what was seen is enough to tell of it.
    if overflows.unwrap_or(0) + seen > 0 {
        let because = match (overflows, seen) {
            (Some(1..), 0) if heard.held.is_some() => Some("nothing was to be reported"),
            // Part 4, 5.13.1.5: a queue of one has no overflow bit.
            (Some(1..), 0) if queue <= 1 => Some("values replaced in queues of one"),
            (Some(1..), 1..) => Some("one bit may stand for several values"),
            _ => None,
        };
        add("overflows", overflows, seen, because.map(str::to_owned));
    }
    rows
}
