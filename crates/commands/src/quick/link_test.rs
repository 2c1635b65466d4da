//! The way to a server tested before a load: round trips by size, and what goes through.

use std::sync::Arc;
use std::time::{Duration, Instant};

use load::access::{Access, Session};
use load::engine::{Control, Target};
use load::path_test::{Through, Trips, Way, flood, trips};
use load::transport::Steps;
use observe::{Network, Process};
use plan::unit::duration::nanos;
use record::average::median_ns;
use record::run::{Figure, LinkTest, Throughput, Trip};

use super::usage::Ends;
use crate::advice;
use crate::failure::Failure;
use crate::time_limit;

/// A size for so long at most...
const TRIPS: Duration = Duration::from_millis(150);
/// ...and so often.
const MOST: usize = 100;
/// Fillings of requests, in bytes.
const UP: [usize; 4] = [0, 1 << 10, 8 << 10, 64 << 10];
/// Values of the server's status that are asked for: some 150 bytes each.
const DOWN: [usize; 3] = [8, 64, 512];
/// Nothing larger is tried that would take longer.
const SLOW: Duration = Duration::from_secs(2);
/// Sessions that send at once: what is on its way fills a path of many round trips.
const SESSIONS: usize = 8;
/// Each way.
const FLOOD: Duration = Duration::from_millis(800);
/// Between two looks at the connections meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// Tests the way to the one server that there is. `server` is its process, where that is one of this machine.
pub fn of(
    targets: &[Arc<Target>],
    server: Option<&Process>,
    control: &Control,
) -> anyhow::Result<LinkTest> {
    match targets {
        [one] => Ok(measure(&one.access, server, control)?),
        _ => Err(
            Failure::usage("--link-test works with one server, not with several")
                .hint("test each with uaperf bench link URL")
                .into(),
        ),
    }
}

/// Tests the way to a server.
pub fn measure(
    access: &Access,
    server: Option<&Process>,
    control: &Control,
) -> Result<LinkTest, Failure> {
    let began = Instant::now();
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!(
            "the link cannot be tested: {}: {error}",
            access.url
        ))
    };
    let opening = access.discover().map_err(|it| advice::on(&it, access))?;
    let mut all = Vec::new();
    let open = || access.open(&opening, &mut Steps::new());
    all.push(open().map_err(|it| advice::on(&it, access))?);
    // A server may have room for few.
    all.extend((1..SESSIONS).map_while(|_| open().ok()));
    let mut found = Vec::new();
    let (mut up, mut down) = (None, None);
    for (way, amounts, taken) in [
        (Way::Up, &UP[..], &mut up),
        (Way::Down, &DOWN[..], &mut down),
    ] {
        for amount in amounts {
            // The next size is eight times as much: a slow link would take minutes for it.
            let slow = taken.is_some_and(|it: Load| it.took * 8 > SLOW);
            if slow || control.is_stopped() {
                break;
            }
            let Some(first) = all.first_mut() else { break };
            match trips(first, way, *amount, (TRIPS, MOST)) {
                Ok(it) => {
                    found.push(trip(&it));
                    *taken = Some(Load {
                        amount: *amount,
                        took: typical(&it),
                    });
                }
                // The smallest has to be taken; servers may refuse what is large.
                Err(error) if found.is_empty() => return Err(failed(&error)),
                Err(_) => {
                    // It may have closed the connection.
                    let session = open().map_err(|it| advice::on(&it, access))?;
                    all.splice(0..1, [session]).for_each(Session::leave);
                    break;
                }
            }
        }
    }
    found.sort_by_key(|it| it.request_bytes + it.response_bytes);
    let mut most = |way, load: Option<Load>| through(&mut all, server, way, load, control);
    let up = most(Way::Up, up);
    let down = most(Way::Down, down);
    let shortest = shortest(&all);
    all.into_iter().for_each(Session::leave);
    Ok(LinkTest {
        trips: found,
        tcp_round_trip_ns: shortest,
        up,
        down,
        took_ns: nanos(began.elapsed()),
    })
}

fn trip(it: &Trips) -> Trip {
    let at = |place: usize| it.took.get(place).copied().map_or(0, nanos);
    Trip {
        request_bytes: it.request_bytes,
        response_bytes: it.response_bytes,
        count: it.took.len() as u64,
        min_ns: at(0),
        median_ns: nanos(typical(it)),
    }
}

fn typical(it: &Trips) -> Duration {
    let took = it.took.iter().map(|it| nanos(*it));
    Duration::from_nanos(median_ns(took).unwrap_or_default())
}

/// The largest size that the server took in little time, and how long that was.
#[derive(Clone, Copy)]
struct Load {
    amount: usize,
    took: Duration,
}

/// As much as goes through, with the largest of the sizes that the server took.
fn through(
    all: &mut [Session],
    server: Option<&Process>,
    way: Way,
    load: Option<Load>,
    control: &Control,
) -> Throughput {
    let missing = |why: &str| Throughput {
        bits_per_s: Figure::missing(why),
        held: Figure::missing(why),
    };
    if control.is_stopped() {
        return missing(&time_limit::why());
    }
    let Some(load) = load else {
        return missing("the server took nothing of this kind");
    };
    // Over a slow link a few messages fill the time.
    let fit = FLOOD.as_secs_f64() * 2.0 / load.took.as_secs_f64().max(f64::MIN_POSITIVE);
    let count = (fit as usize).clamp(1, all.len().max(1));
    let sessions = all.get_mut(..count).unwrap_or_default();
    let mut looks = Ends::new(server.map(Process::id));
    let flooded = std::thread::scope(|scope| {
        let flooding = scope.spawn(move || flood(sessions, way, load.amount, FLOOD));
        while !flooding.is_finished() {
            looks.look();
            std::thread::sleep(LOOK);
        }
        flooding.join()
    });
    let (bytes, end): (fn(&Through) -> u64, usize) = match way {
        Way::Up => (|it| it.sent, 0),
        Way::Down => (|it| it.received, 1),
    };
    let seconds = |it: &Through| it.took.as_secs_f64().max(f64::MIN_POSITIVE);
    match flooded {
        Ok(Ok(it)) => Throughput {
            bits_per_s: Figure::Known(bytes(&it) as f64 * 8.0 / seconds(&it)),
            held: looks.held(end),
        },
        Ok(Err(error)) => missing(&format!("it broke off: {error}")),
        Err(_) => missing("its thread ended early"),
    }
}

/// By what TCP knows of these connections.
fn shortest(all: &[Session]) -> Figure<u64> {
    let own = match Network::default().sockets(std::process::id()) {
        Ok(own) => own,
        Err(why) => return Figure::missing(why.reason().to_owned()),
    };
    let peers: Vec<_> = all.iter().map(|it| it.link().address()).collect();
    let known = own.iter().filter(|it| peers.contains(&it.remote));
    let known = known.filter_map(|it| it.tcp.as_ref().ok());
    let least = known
        .map(|it| u64::from(it.min_rtt_us))
        .filter(|us| *us > 0)
        .min();
    match least {
        Some(us) => Figure::Known(us * 1000),
        None => Figure::missing("TCP knows of no round trip yet"),
    }
}
