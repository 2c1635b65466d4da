//! What a phase of PubSub is worth: was it published on time, and did the listeners themselves keep up.

use plan::unit::duration::show_ns;
use record::run::{
    Delivered, EvidenceTopic, Figure, KeyUse, Kind, Listener, Phase, PubSub, Published, Subscribed,
    Verdict,
};

/// The verdict of a phase with PubSub; `interrupted` if it ended before its time.
pub fn pubsub(phase: &Phase, told: &PubSub, interrupted: bool) -> Verdict {
    let mut verdict = Verdict::default();
    let (_, all_of_them) = told.counted();
    let mut find = |kind: Kind, about, text: String, advice: &str| {
        // What explains most is the verdict; the rest stands below it all the same.
        verdict.kind = verdict.kind.max(kind);
        verdict.add(about, text, advice);
    };
    let came = told.sum(|it| it.datagrams);
    let unreadable = told.sum(Listener::unreadable);
    if came > 0 && unreadable == came {
        let first = told.listeners.iter().flat_map(|it| &it.unread).next();
        let why = first.map_or("", |it| it.reason.as_str());
        let text = format!("none of {came} {all_of_them} could be read: {why}");
        find(
            Kind::Failed,
            EvidenceTopic::AllFailed,
            text,
            "look at keys and security of both ends",
        );
    }
    let deaf = told.listeners.iter().filter(|it| it.datagrams == 0).count();
    if deaf > 0 && !interrupted {
        let text = match told.listeners.len() {
            1 => "nothing came".to_owned(),
            all => format!("nothing came to {deaf} of {all} listeners"),
        };
        let advice = match told.is_framed() && told.published.is_some() {
            true => {
                "listen_interface: an interface hears nothing of what is sent by it, but on lo; want the other end of its \
                 cable"
            }
            false => {
                "whether anybody publishes there, interface (the address of the network that a group is on), and \
                 firewalls"
            }
        };
        find(Kind::Incomplete, EvidenceTopic::NothingCame, text, advice);
    }
    if interrupted {
        let text = "it ended before its time".to_owned();
        find(Kind::Incomplete, EvidenceTopic::EndedEarly, text, "");
    }
    if let Some(sent) = &told.published {
        if let Some(broker) = &sent.broker {
            for (kind, about, text, advice) in delivered(broker, sent.refused + sent.datagrams) {
                find(kind, about, text, advice);
            }
        } else if sent.refused > 0 {
            let all = sent.refused + sent.datagrams;
            let text = format!("the kernel refused {} of {all} {all_of_them}", sent.refused);
            find(
                Kind::Incomplete,
                EvidenceTopic::FewerRequests,
                text,
                "a longer interval, or fewer signals",
            );
        }
        if let Some(keys) = sent.keys.as_ref().filter(|keys| keys.expired > 0) {
            let text = expired(keys, all_of_them);
            find(
                Kind::Incomplete,
                EvidenceTopic::Outage,
                text,
                "the key service's own log",
            );
        }
        if let Some((late, interval)) = late(phase, sent) {
            let text =
                format!("1 of 100 cycles began {late} late or more, at an interval of {interval}");
            let advice = "a longer interval, or fewer other programs on this machine";
            find(Kind::GeneratorLimited, EvidenceTopic::Pacer, text, advice);
        }
    }
    if let Some((kind, about, text, advice)) = subscribed(told) {
        find(kind, about, text, advice);
    }
    if let Some(drops) = told.socket_drops().filter(|drops| *drops > 0) {
        let text = format!(
            "this host dropped {drops} {all_of_them} that its listeners did not read in time"
        );
        let advice =
            "a larger receive_buffer (and perhaps sysctl net.core.rmem_max), or fewer listeners";
        find(
            Kind::GeneratorLimited,
            EvidenceTopic::ReceiveDelay,
            text,
            advice,
        );
    }
    verdict.notes = notes(told, came, unreadable);
    verdict
}

/// What is found, what it is about, in words, and what to do.
type Finding = (Kind, EvidenceTopic, String, &'static str);

/// What a broker did not take, or did not say, of so many messages.
pub fn delivered(it: &Delivered, all: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    if it.window_full + it.socket_full > 0 {
        let text = format!(
            "the broker did not take {} of {all} messages in time: {} with {} unacknowledged, {} since its socket was full",
            it.window_full + it.socket_full,
            it.window_full,
            it.window,
            it.socket_full
        );
        let about = match it.window_full {
            0 => EvidenceTopic::SocketFull,
            _ => EvidenceTopic::Behind,
        };
        let advice = "a longer interval, another QoS, or a faster broker";
        found.push((Kind::ServerSaturated, about, text, advice));
    }
    if it.refused > 0 {
        let why = it.refused_because.as_deref().unwrap_or("without a reason");
        let text = format!("the broker refused {} of {all} messages: {why}", it.refused);
        let advice = "what its rules let this user publish";
        found.push((Kind::Incomplete, EvidenceTopic::FewerRequests, text, advice));
    }
    match it.lost_connections.first() {
        Some(why) => {
            let text = format!(
                "the connection to the broker was lost ({why}): {} of {all} messages not sent, {} unacknowledged",
                it.not_connected, it.unacknowledged
            );
            found.push((
                Kind::Incomplete,
                EvidenceTopic::Outage,
                text,
                "the broker's own log",
            ));
        }
        None if it.unacknowledged > 0 => {
            let text = format!(
                "the broker did not acknowledge {} of {all} messages within 2 s of the last",
                it.unacknowledged
            );
            let advice = "a longer interval, or a faster broker";
            found.push((Kind::Incomplete, EvidenceTopic::Unanswered, text, advice));
        }
        None => {}
    }
    found
}

/// What was secured with a key whose time was over.
pub fn expired(keys: &KeyUse, all_of_them: &str) -> String {
    let why = keys.last_error.as_deref().unwrap_or("it has no more");
    format!(
        "{} {all_of_them} were secured with a key whose time was over, as the key service gave no other: {why}",
        keys.expired
    )
}

/// Listeners that lost their broker.
fn subscribed(told: &PubSub) -> Option<Finding> {
    let all = told.listeners.iter().filter_map(|it| it.broker.as_ref());
    let lost: Vec<&Subscribed> = all.filter(|it| !it.lost_connections.is_empty()).collect();
    let why = lost.first()?.lost_connections.first()?;
    let longest = lost.iter().map(|it| it.away_ns).max().unwrap_or(0);
    let text = format!(
        "{} of {} listeners lost the connection to the broker ({why}), for {} at most",
        lost.len(),
        told.listeners.len(),
        show_ns(longest)
    );
    Some((
        Kind::Incomplete,
        EvidenceTopic::LostSessions,
        text,
        "the broker's own log",
    ))
}

/// How late one of a hundred cycles was, if that is more than an interval.
fn late(phase: &Phase, sent: &Published) -> Option<(String, String)> {
    let late = phase.total.histogram("lateness").quantile(0.99)?;
    let interval = sent.interval_ns.filter(|interval| late > *interval)?;
    Some((show_ns(late), show_ns(interval)))
}

fn notes(told: &PubSub, came: u64, unreadable: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if told.is_fragmented() {
        let size = told.published.as_ref().map_or(0, |it| it.datagram_bytes);
        notes.push(format!(
            "IP cuts each datagram of {size} bytes into fragments: more than 1,472 do not fit into a frame"
        ));
    }
    if unreadable > 0 && unreadable < came {
        notes.push(format!(
            "{unreadable} of {came} {} could not be read",
            told.counted().1
        ));
    }
    if told.lost().is_none() && came > 0 {
        notes.push("nothing is known of loss: messages have no sequence numbers".to_owned());
    }
    let stamped = |it: &Listener| it.kernel_stamps || it.datagrams == 0;
    if !told.listeners.iter().all(stamped) {
        notes.push("times of arrival are the program's, not the kernel's".to_owned());
    }
    let untold = |it: &Listener| matches!(it.socket_drops, Figure::Missing { .. });
    let mut of_sockets = told.listeners.iter().filter(|it| it.broker.is_none());
    if of_sockets.any(untold) {
        notes.push("this system does not tell what its sockets dropped".to_owned());
    }
    if told.is_brokered() {
        notes.push("a broker does not say what it dropped".to_owned());
    }
    let granted = told.listeners.iter().filter_map(|it| it.broker.as_ref());
    let asked = told.published.as_ref().and_then(|it| it.broker.as_ref());
    if let (Some(asked), Some(least)) = (asked, granted.map(|it| it.qos).min())
        && least < asked.qos
    {
        notes.push(format!(
            "the broker granted listeners QoS {least}, not {}: it may drop messages for them",
            asked.qos
        ));
    }
    let no_delay = told.listeners.iter().find_map(|it| it.no_delay.as_ref());
    notes.extend(no_delay.map(|why| format!("delays are unknown: {why}")));
    notes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use record::run::{Unread, WarmUp};
    use record::{Histogram, Ledger};

    fn phase(late_ns: u64) -> Phase {
        let started = "2026-03-01T09:30:00Z".parse().unwrap();
        let tally = Ledger::with_end(1_000_000_000).finish();
        let mut phase = Phase::new("p", started, &tally, WarmUp::default(), 0, &|code| {
            code.to_string()
        });
        let mut late = Histogram::of(1_000, 90);
        late.merge(&Histogram::of(late_ns, 10));
        phase.total.histograms.insert("lateness".into(), late);
        phase
    }

    fn heard(listeners: Vec<Listener>) -> PubSub {
        PubSub {
            to: "opc.udp://127.0.0.1:4840".into(),
            multicast: false,
            published: Some(Published {
                interval_ns: Some(1_000_000),
                datagrams: 100,
                datagram_bytes: 527,
                ..Published::default()
            }),
            listeners,
            clock: None,
        }
    }

    fn listener(datagrams: u64, drops: u64) -> Listener {
        Listener {
            datagrams,
            lost: Some(0),
            socket_drops: Figure::Known(drops),
            kernel_stamps: true,
            ..Listener::default()
        }
    }

    fn kind(phase: &Phase, told: &PubSub) -> (Kind, Vec<EvidenceTopic>) {
        let verdict = pubsub(phase, told, false);
        (verdict.kind, verdict.about)
    }

    #[test]
    fn a_publisher_that_is_late_by_an_interval_and_sockets_that_overflow_are_limits_of_ours() {
        let good = heard(vec![listener(100, 0)]);
        assert_eq!(kind(&phase(900_000), &good), (Kind::Valid, vec![]));
        let limited = |about| (Kind::GeneratorLimited, vec![about]);
        assert_eq!(
            kind(&phase(1_100_000), &good),
            limited(EvidenceTopic::Pacer)
        );
        let full = heard(vec![listener(90, 10), listener(100, 0)]);
        assert_eq!(kind(&phase(0), &full), limited(EvidenceTopic::ReceiveDelay));
    }

    #[test]
    fn messages_with_a_key_whose_time_is_over_are_no_whole_result() {
        let mut told = heard(vec![listener(100, 0)]);
        let mut keys = KeyUse {
            asked: 3,
            failed: 1,
            last_error: Some("timed out".into()),
            ..KeyUse::default()
        };
        told.published.as_mut().unwrap().keys = Some(keys.clone());
        assert_eq!(kind(&phase(0), &told), (Kind::Valid, vec![]));
        keys.expired = 7;
        told.published.as_mut().unwrap().keys = Some(keys);
        let verdict = pubsub(&phase(0), &told, false);
        assert_eq!(verdict.kind, Kind::Incomplete);
        assert_eq!(
            verdict.evidence,
            [
                "7 datagrams were secured with a key whose time was over, as the key service gave no other: timed out"
            ]
        );
    }

    #[test]
    fn one_listener_of_several_that_hears_nothing_is_not_hidden_by_the_others() {
        let told = heard(vec![listener(100, 0), listener(0, 0)]);
        let verdict = pubsub(&phase(0), &told, false);
        assert_eq!(verdict.kind, Kind::Incomplete);
        assert_eq!(verdict.evidence, ["nothing came to 1 of 2 listeners"]);
        // Who ended it at once did not wait for the first datagram.
        let verdict = pubsub(&phase(0), &told, true);
        assert_eq!(verdict.about, [EvidenceTopic::EndedEarly]);
    }

    #[test]
    fn what_nobody_can_read_failed_and_what_some_cannot_is_a_note() {
        let unread = |datagrams| Listener {
            unread: vec![Unread {
                reason: "wrong key".into(),
                datagrams,
            }],
            ..listener(100, 0)
        };
        let all = pubsub(&phase(0), &heard(vec![unread(100)]), false);
        assert_eq!(
            all.evidence,
            ["none of 100 datagrams could be read: wrong key"]
        );
        assert_eq!(all.kind, Kind::Failed);
        let some = pubsub(&phase(0), &heard(vec![unread(1)]), false);
        assert_eq!((some.kind, some.notes.len()), (Kind::Valid, 1));
    }

    #[test]
    fn what_a_broker_did_not_take_is_never_a_pass() {
        let with = |broker: Delivered| {
            let mut told = heard(vec![Listener {
                broker: Some(Subscribed::default()),
                socket_drops: Figure::missing("TCP"),
                ..listener(100, 0)
            }]);
            if let Some(sent) = &mut told.published {
                sent.broker = Some(broker);
                sent.datagram_bytes = 5_000;
            }
            told
        };
        let good = pubsub(&phase(0), &with(Delivered::default()), false);
        assert_eq!(good.kind, Kind::Valid);
        assert_eq!(good.notes, ["a broker does not say what it dropped"]);
        for (broker, kind, about) in [
            (
                Delivered {
                    window_full: 1,
                    ..Delivered::default()
                },
                Kind::ServerSaturated,
                EvidenceTopic::Behind,
            ),
            (
                Delivered {
                    socket_full: 1,
                    ..Delivered::default()
                },
                Kind::ServerSaturated,
                EvidenceTopic::SocketFull,
            ),
            (
                Delivered {
                    refused: 1,
                    ..Delivered::default()
                },
                Kind::Incomplete,
                EvidenceTopic::FewerRequests,
            ),
            (
                Delivered {
                    unacknowledged: 1,
                    ..Delivered::default()
                },
                Kind::Incomplete,
                EvidenceTopic::Unanswered,
            ),
            (
                Delivered {
                    lost_connections: vec!["the broker closed the connection".into()],
                    ..Delivered::default()
                },
                Kind::Incomplete,
                EvidenceTopic::Outage,
            ),
        ] {
            assert_eq!(self::kind(&phase(0), &with(broker)), (kind, vec![about]));
        }
        let mut away = with(Delivered::default());
        if let Some(it) = &mut away.listeners[0].broker {
            it.lost_connections = vec!["the broker closed the connection".into()];
        }
        let found = kind(&phase(0), &away);
        assert_eq!(found, (Kind::Incomplete, vec![EvidenceTopic::LostSessions]));
    }

    #[test]
    fn fragments_unknown_loss_and_unknown_delays_are_named() {
        let mut told = heard(vec![Listener {
            lost: None,
            no_delay: Some("messages say no time".into()),
            ..listener(100, 0)
        }]);
        if let Some(sent) = &mut told.published {
            sent.datagram_bytes = 1473;
        }
        let notes = pubsub(&phase(0), &told, false).notes.join("; ");
        for words in [
            "fragments",
            "nothing is known of loss",
            "delays are unknown: messages say no time",
        ] {
            assert!(notes.contains(words), "{words}: {notes}");
        }
    }
}
