//! The network between generator and server, and the buffers at its end.

use link::{Direction, HEADERS, SEGMENT, Spec};
use record::run::{Candidate, Limiter, LinkTest, Messages, Sign, SocketUsage, Throughput};

use super::facts::{Facts, in_window, of_all, usage};
use super::{FREE, FULL, by_share, cannot_tell, does_not_limit, limits, unknown};

/// The headers of a chunk without security (Part 6, 6.7.2), which are not in the size of a message.
const CHUNK: f64 = 24.0;

/// A connection that is held up for more than half of the time is so most of the time...
const MOST: f64 = 0.5;
/// ...and for less than a tenth it hardly is.
const HARDLY: f64 = 0.1;

/// The link between generator and server: an emulated one, the fullest network interface, or what TCP says.
pub(super) fn link(facts: &Facts<'_>) -> Candidate {
    const OF: Limiter = Limiter::Link;
    let emulated = facts.targets.iter().find_map(|it| it.link.as_deref());
    if let Some(text) = emulated {
        return match (facts.targets, text.parse()) {
            ([_], Ok(spec)) => by_spec(facts, &spec),
            ([_], Err(_)) => unknown(OF, format!("this is no link: {text}")),
            _ => unknown(
                OF,
                "how much went over the link of each server is not known",
            ),
        };
    }
    let interfaces = usage(facts.phase, "host").map_or(&[][..], |it| it.links.as_slice());
    let shares = interfaces
        .iter()
        .filter_map(|it| Some((it, *it.share.known()?)));
    let full = shares.max_by(|a, b| a.1.total_cmp(&b.1));
    let mut room = Vec::new();
    if let Some((link, share)) = full {
        let link = link.name.clone();
        let sign = Sign::LinkFull { link, share };
        if share >= FULL {
            return limits(OF, vec![sign]);
        }
        // It says nothing of what is behind it.
        room.push(sign);
    }
    let tested = facts
        .phase
        .link_test
        .as_ref()
        .and_then(|it| tested(facts, it));
    if let Some(
        sign @ Sign::LinkTested {
            share: FULL..,
            proven: true,
            ..
        },
    ) = &tested
    {
        return limits(OF, vec![sign.clone()]);
    }
    let local = facts.is_local();
    let delay = match local {
        false => facts
            .phase
            .link_test
            .as_ref()
            .and_then(|it| delayed(facts, it)),
        true => None,
    };
    let sockets = match facts.sockets() {
        Ok(sockets) => sockets,
        Err(_) if tested.is_some() => return by_test(tested, delay, room),
        Err(why) => return cannot_tell(OF, vec![Sign::NotAvailable { why }], room),
    };
    // Half of the connections of a relay lead on.
    if sockets.outgoing > 0 && 2 * sockets.outgoing >= sockets.connections {
        return unknown(
            OF,
            "what listens on that port passes on to another server, as a relay does",
        );
    }
    // Requests wait at our end of it, answers at the server's.
    let (ours, theirs) = (facts.own_sockets().map_or(0.0, held), held(sockets));
    let share = ours.max(theirs);
    let sign = Sign::NetworkHeld { share };
    match share {
        MOST.. => limits(OF, vec![sign]),
        it if it >= HARDLY => cannot_tell(OF, vec![sign], Vec::new()),
        _ if local => does_not_limit(OF, vec![Sign::Loopback]),
        _ => does_not_limit(OF, vec![sign]),
    }
}

/// What was answered, of what went through in the test, the fuller way.
fn tested(facts: &Facts<'_>, test: &LinkTest) -> Option<Sign> {
    let total = &facts.phase.total;
    let way = |test: &Throughput, messages: &Messages| {
        let capacity = *test.bits_per_s.known().filter(|it| **it > 0.0)?;
        let proven = test.held.known().is_some_and(|it| *it >= MOST);
        let share = (answered(facts)? * messages.mean_bytes? * 8.0 / capacity).min(1.0);
        Some((share, capacity, proven))
    };
    let ways = [
        way(&test.up, &total.requests),
        way(&test.down, &total.responses),
    ];
    let fuller = ways
        .into_iter()
        .flatten()
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, bits_per_s, proven) = fuller?;
    Some(Sign::LinkTested {
        bits_per_s,
        share,
        proven,
    })
}

/// The network's round trip, of the service time.
fn delayed(facts: &Facts<'_>, test: &LinkTest) -> Option<(f64, Sign)> {
    let delay_ns = *test.tcp_round_trip_ns.known()?;
    let mean = facts.phase.total.histogram("service").mean()?;
    let share = (delay_ns as f64 / mean.max(1.0)).min(1.0);
    Some((share, Sign::LinkDelay { delay_ns, share }))
}

/// A server whose connections are not seen: by the test alone.
fn by_test(tested: Option<Sign>, delay: Option<(f64, Sign)>, room: Vec<Sign>) -> Candidate {
    const OF: Limiter = Limiter::Link;
    let share = match &tested {
        Some(Sign::LinkTested { share, .. }) => *share,
        _ => 1.0,
    };
    match delay {
        // What is in flight at most, and how long each is on its way, make the rate.
        Some((FULL.., delay)) => limits(OF, vec![delay]),
        Some((late, delay)) if late >= FREE => {
            cannot_tell(OF, vec![delay], tested.into_iter().collect())
        }
        delay if share < FREE => {
            let signs = tested.into_iter().chain(delay.map(|it| it.1));
            does_not_limit(OF, signs.chain(room).collect())
        }
        _ => cannot_tell(OF, tested.into_iter().collect(), room),
    }
}

/// For which share of the time data waited for the network: something was on its way all the time, and something else
/// had to wait for that. One alone proves nothing: an answer to somebody far away is on its way for long as well.
pub fn held(sockets: SocketUsage) -> f64 {
    let network = sockets
        .busy_ns
        .saturating_sub(sockets.receiver_limited_ns)
        .saturating_sub(sockets.buffer_limited_ns);
    let unsent = sockets.unsent as f64 / (sockets.looks as f64).max(1.0);
    of_all(&sockets, network).min(unsent).min(1.0)
}

/// An emulated link: its rate, then its delay.
fn by_spec(facts: &Facts<'_>, spec: &Spec) -> Candidate {
    let total = &facts.phase.total;
    let up = share(facts, &spec.up, &total.requests);
    let down = share(facts, &spec.down, &total.responses);
    let fuller = [up, down].into_iter().flatten().reduce(f64::max);
    let full = fuller.map(|share| {
        let link = "the emulated link".to_owned();
        (share, Sign::LinkFull { link, share })
    });
    if let Some((FULL.., sign)) = full {
        return limits(Limiter::Link, vec![sign]);
    }
    let delay_ns = [spec.up, spec.down]
        .iter()
        .map(|it| it.delay.as_nanos() as u64)
        .sum();
    let service = facts.phase.total.histogram("service").mean();
    let of_service = service.map_or(0.0, |mean| delay_ns as f64 / mean.max(1.0));
    let delay = Sign::LinkDelay {
        delay_ns,
        share: of_service.min(1.0),
    };
    match full {
        // What is in flight at most, and how long each is on its way, make the rate.
        _ if of_service >= FULL => limits(Limiter::Link, vec![delay]),
        Some((share, sign)) => by_share(Limiter::Link, share, sign),
        None => by_share(Limiter::Link, of_service, delay),
    }
}

/// Of what a direction can carry, with the headers of each segment. What was sent may still lie in front of it: only
/// what was answered has gone both ways.
fn share(facts: &Facts<'_>, way: &Direction, messages: &Messages) -> Option<f64> {
    let rate = way.rate?.get() as f64;
    let mean = messages.mean_bytes?;
    let mean = mean + CHUNK;
    let segments = (mean / SEGMENT as f64).ceil().max(1.0);
    let headers = segments * (HEADERS + way.overhead.0) as f64;
    let bits_per_s = answered(facts)? * (mean + headers) * 8.0;
    Some((bits_per_s / rate).min(1.0))
}

/// How many were answered in a second.
fn answered(facts: &Facts<'_>) -> Option<f64> {
    let series = &facts.phase.series;
    let (ns, completed) = in_window(facts.phase, &series.completed);
    let (_, failed) = in_window(facts.phase, &series.errors);
    let sum = |of: &[u64]| of.iter().sum::<u64>();
    // What was given up is among those that failed.
    let answered = sum(completed).saturating_sub(sum(failed));
    (ns > 0).then(|| answered as f64 * 1e9 / ns as f64)
}

/// The server's buffers for sending: data waited for room in them, and the network had nothing to do.
pub(super) fn buffers(facts: &Facts<'_>) -> Candidate {
    const OF: Limiter = Limiter::SocketBuffers;
    match facts.sockets() {
        Err(why) => unknown(OF, why),
        Ok(sockets) => {
            let share = of_all(&sockets, sockets.buffer_limited_ns).min(1.0);
            let sign = Sign::BufferFull { share };
            match share {
                MOST.. => limits(OF, vec![sign]),
                it if it < HARDLY => does_not_limit(OF, vec![sign]),
                _ => cannot_tell(OF, vec![sign], Vec::new()),
            }
        }
    }
}
