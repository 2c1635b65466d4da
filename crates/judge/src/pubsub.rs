//! What a phase of PubSub is worth: was it published on time, and did the listeners themselves keep up.

use std::time::Duration;

use plan::unit::duration::show;
use record::run::{About, Figure, Kind, Listener, Phase, PubSub, Published, Verdict};

/// The verdict of a phase with PubSub; `interrupted` if it ended before its time.
pub fn pubsub(phase: &Phase, told: &PubSub, interrupted: bool) -> Verdict {
    let mut verdict = Verdict::default();
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
        let text = format!("no datagram of {came} could be read: {why}");
        find(
            Kind::Failed,
            About::AllFailed,
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
        let advice = "whether anybody publishes there, interface (the address of the network that a group is on), \
                      and firewalls";
        find(Kind::Incomplete, About::NothingCame, text, advice);
    }
    if interrupted {
        let text = "it ended before its time".to_owned();
        find(Kind::Incomplete, About::EndedEarly, text, "");
    }
    if let Some(sent) = &told.published {
        if sent.refused > 0 {
            let all = sent.refused + sent.datagrams;
            let text = format!("the kernel refused {} of {all} datagrams", sent.refused);
            find(
                Kind::Incomplete,
                About::FewerRequests,
                text,
                "a longer interval, or fewer signals",
            );
        }
        if let Some((late, interval)) = late(phase, sent) {
            let text =
                format!("1 of 100 cycles began {late} late or more, at an interval of {interval}");
            let advice = "a longer interval, or fewer other programs on this machine";
            find(Kind::GeneratorLimited, About::Pacer, text, advice);
        }
    }
    if let Some(drops) = told.socket_drops().filter(|drops| *drops > 0) {
        let text =
            format!("this host dropped {drops} datagrams that its listeners did not read in time");
        let advice =
            "a larger receive_buffer (and perhaps sysctl net.core.rmem_max), or fewer listeners";
        find(Kind::GeneratorLimited, About::ReceiveDelay, text, advice);
    }
    verdict.notes = notes(told, came, unreadable);
    verdict
}

/// How late one of a hundred cycles was, if that is more than an interval.
fn late(phase: &Phase, sent: &Published) -> Option<(String, String)> {
    let late = phase.total.histogram("lateness").quantile(0.99)?;
    let interval = sent.interval_ns.filter(|interval| late > *interval)?;
    let show = |ns| show(Duration::from_nanos(ns));
    Some((show(late), show(interval)))
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
            "{unreadable} of {came} datagrams could not be read"
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
    if told.listeners.iter().any(untold) {
        notes.push("this system does not tell what its sockets dropped".to_owned());
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

    fn kind(phase: &Phase, told: &PubSub) -> (Kind, Vec<About>) {
        let verdict = pubsub(phase, told, false);
        (verdict.kind, verdict.about)
    }

    #[test]
    fn a_publisher_that_is_late_by_an_interval_and_sockets_that_overflow_are_limits_of_ours() {
        let good = heard(vec![listener(100, 0)]);
        assert_eq!(kind(&phase(900_000), &good), (Kind::Valid, vec![]));
        let limited = |about| (Kind::GeneratorLimited, vec![about]);
        assert_eq!(kind(&phase(1_100_000), &good), limited(About::Pacer));
        let full = heard(vec![listener(90, 10), listener(100, 0)]);
        assert_eq!(kind(&phase(0), &full), limited(About::ReceiveDelay));
    }

    #[test]
    fn one_listener_of_several_that_hears_nothing_is_not_hidden_by_the_others() {
        let told = heard(vec![listener(100, 0), listener(0, 0)]);
        let verdict = pubsub(&phase(0), &told, false);
        assert_eq!(verdict.kind, Kind::Incomplete);
        assert_eq!(verdict.evidence, ["nothing came to 1 of 2 listeners"]);
        // Who ended it at once did not wait for the first datagram.
        let verdict = pubsub(&phase(0), &told, true);
        assert_eq!(verdict.about, [About::EndedEarly]);
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
            ["no datagram of 100 could be read: wrong key"]
        );
        assert_eq!(all.kind, Kind::Failed);
        let some = pubsub(&phase(0), &heard(vec![unread(1)]), false);
        assert_eq!((some.kind, some.notes.len()), (Kind::Valid, 1));
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
