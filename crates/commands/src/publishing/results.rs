//! What publisher and listeners say, as results keep it.

use load::pubsub::{
    Counted, Delay, Delivered, KeyUse, ListenerReport, Published, Stream, Subscribed,
};
use plan::Work;
use pubsub::security::PubSubPolicy;
use record::Histogram;
use record::run::{self, Figure};

/// What was published.
pub fn published(it: &Published, interval_ns: Option<u64>) -> run::Published {
    run::Published {
        interval_ns,
        planned_cycles: it.planned_cycles,
        cycles: it.cycles,
        datagrams: it.datagrams,
        refused: it.refused,
        bytes: it.bytes,
        // Texts differ in length: what they have on average.
        datagram_bytes: match it.datagram_bytes {
            // Of none there is no average, and nothing was sent.
            0 => it.bytes.checked_div(it.datagrams).unwrap_or(0),
            bytes => bytes,
        },
        values: it.values,
        roll_overs: it.roll_overs,
        elapsed_ns: it.elapsed_ns,
        keys: it.keys.as_ref().map(keys),
        broker: it.mqtt.as_ref().map(delivered),
    }
}

/// Which keys there were.
pub fn keys(it: &KeyUse) -> run::KeyUse {
    let tokens = it.tokens.iter().map(|it| run::TokenUse {
        token: it.token,
        datagrams: it.datagrams,
    });
    run::KeyUse {
        tokens: tokens.collect(),
        earlier: it.earlier,
        asked: it.asked,
        failed: it.failed,
        last_error: it.last_error.clone(),
        expired: it.expired,
    }
}

/// What a broker did with messages.
pub fn delivered(it: &Delivered) -> run::Delivered {
    run::Delivered {
        version: it.version.clone(),
        tls: it.tls.clone(),
        qos: it.qos,
        connections: it.connections,
        lost_connections: it.lost_connections.clone(),
        not_connected: it.not_connected,
        window_full: it.window_full,
        socket_full: it.socket_full,
        window: it.window,
        acknowledged: it.acknowledged,
        refused: it.refused,
        refused_because: it.refused_because.clone(),
        unacknowledged: it.unacknowledged,
        acknowledgement: it.acknowledgement_histogram.clone(),
    }
}

fn subscribed(it: &Subscribed) -> run::Subscribed {
    run::Subscribed {
        version: it.version.clone(),
        tls: it.tls.clone(),
        qos: it.qos,
        connections: it.connections,
        lost_connections: it.lost_connections.clone(),
        away_ns: it.away_ns,
        retained: it.retained,
        maybe_again: it.maybe_again,
    }
}

/// What one listener heard, of what was sent if that is known.
pub fn listener(
    it: &ListenerReport,
    cpu_ns: Figure<u64>,
    sent: Option<&Published>,
) -> run::Listener {
    let streams = || it.streams.iter();
    let writers = || streams().flat_map(|it| &it.writers);
    let counted: Vec<Counted> = streams().flat_map(Stream::numbered).collect();
    let sum = |of: fn(&Counted) -> u64| counted.iter().map(of).sum();
    let repeated = sum(|it| it.duplicates);
    run::Listener {
        datagrams: it.datagrams,
        bytes: it.bytes,
        values: it.values,
        messages: writers().map(|it| it.messages).sum(),
        lost: it.knows_loss().then(|| it.lost()),
        never_came: sent.map(|sent| {
            let once = it.datagrams.saturating_sub(repeated);
            sent.datagrams.saturating_sub(once)
        }),
        repeated,
        late: sum(|it| it.late),
        gaps: sum(|it| it.gaps),
        longest_gap: counted.iter().map(|it| it.longest_gap).max().unwrap_or(0),
        restarts: sum(|it| it.restarts),
        socket_drops: match it.socket_drops {
            Some(drops) => Figure::Known(drops),
            None if it.mqtt.is_some() => {
                Figure::missing("TCP drops nothing, and a broker does not say what it dropped")
            }
            None => Figure::missing("this system does not tell"),
        },
        buffer_bytes: it.buffer_bytes,
        kernel_stamps: it.kernel_stamps,
        cpu_ns,
        on: None,
        streams: it.streams.len() as u64,
        encodings: distinct(writers().map(|it| it.encoding.clone())),
        security: distinct(streams().map(|it| it.security.clone())),
        no_delay: no_delay(it),
        unread: it
            .unread
            .iter()
            .map(|it| run::Unread {
                reason: it.reason.clone(),
                datagrams: it.datagrams,
            })
            .collect(),
        discovery: it.discovery,
        keys: it.keys.as_ref().map(keys),
        broker: it.mqtt.as_ref().map(subscribed),
    }
}

fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = all.filter(|it| !it.is_empty()).collect();
    all.sort();
    all.dedup();
    all
}

/// Why no delay is known.
fn no_delay(it: &ListenerReport) -> Option<String> {
    let known = |it: &Stream| matches!(it.delay, Delay::SameClock(_) | Delay::Compared(_));
    if it.streams.iter().any(known) {
        return None;
    }
    let first = it.streams.first()?;
    Some(
        match first.delay {
            Delay::NoTimestamp => "messages say no time",
            _ if it.mqtt.is_some() => {
                "a broker does not say whose clock the publisher has: same_clock = true says that it is this host's"
            }
            _ => "the publisher's clock is another",
        }
        .to_owned(),
    )
}

/// How far arrivals are from each other beyond what they should be: from the interval of the cycles, or from their
/// median where nobody knows it.
pub fn jitter(arrival: &Histogram, interval_ns: Option<u64>) -> Option<Histogram> {
    let middle = interval_ns.or_else(|| arrival.quantile(0.5))?;
    let mut all = Histogram::default();
    for (value, count) in arrival.values() {
        all.merge(&Histogram::of(value.abs_diff(middle), count));
    }
    (!all.is_empty()).then_some(all)
}

/// How messages are secured, as targets say it.
pub fn security(work: &Work, policy: PubSubPolicy, has_keys: bool) -> String {
    match work {
        Work::Publish(plan) if plan.security == "none" => "None".to_owned(),
        // A file may have keys of either policy, and so may a key service.
        Work::Publish(plan) if has_keys => plan.security.clone(),
        Work::Publish(plan) => format!("{policy}:{}", plan.security),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_the_distance_from_the_interval_or_from_the_median() {
        let mut arrival = Histogram::of(900, 1);
        arrival.merge(&Histogram::of(1000, 8));
        arrival.merge(&Histogram::of(1500, 1));
        let known = jitter(&arrival, Some(1100)).unwrap_or_default();
        assert_eq!((known.count(), known.max()), (10, Some(400)));
        let unknown = jitter(&arrival, None).unwrap_or_default();
        assert_eq!((unknown.min(), unknown.max()), (Some(0), Some(500)));
        assert_eq!(jitter(&Histogram::default(), None), None);
    }
}
