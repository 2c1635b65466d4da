//! What the rules look at, out of a phase.

use record::average::mean;
use record::run::{Figure, Internals, Phase, Sign, SocketUsage, Target, UsageSeries};

use super::FULL;

/// Why nothing is known of a server's process.
pub(super) const NOT_SEEN: &str = "the server is not one process that is watched: one on this machine is found by its port, or named with --server-pid";

/// Why nothing is known of its threads.
pub(super) const THREADS_ENDED: &str =
    "threads of the server that did the work were not there at both ends";

/// Less of the same load is at most this part of it.
const LESS: f64 = 0.9;

/// A phase, and what stands beside it.
pub(super) struct Facts<'a> {
    pub phase: &'a Phase,
    /// The same with less load.
    pub before: Option<&'a Phase>,
    pub targets: &'a [Target],
}

/// Cores of the server.
#[derive(Clone, Copy)]
pub(super) struct Cores {
    pub busy: f64,
    pub allowed: f64,
    /// As far as there are any that others had.
    pub waited: f64,
}

impl Cores {
    pub fn share(self) -> f64 {
        (self.busy + self.waited) / self.allowed
    }

    pub fn sign(self) -> Sign {
        Sign::Cores {
            busy: self.busy,
            allowed: self.allowed,
            waited: self.waited,
        }
    }
}

/// The server's busiest thread.
#[derive(Clone)]
pub(super) struct Thread {
    pub name: String,
    pub busy: f64,
    /// How many had as much to do as a thread can.
    pub alike: u64,
}

impl Thread {
    pub fn sign(&self) -> Sign {
        Sign::Thread {
            name: self.name.clone(),
            busy: self.busy,
            alike: self.alike,
        }
    }
}

/// The busiest loop of a server that is a plant of ours, as it says itself.
#[derive(Clone)]
pub(super) struct Loop {
    pub name: String,
    pub busy: f64,
    /// How many were at their limit.
    pub alike: u64,
}

impl Loop {
    pub fn sign(&self) -> Sign {
        Sign::Loop {
            name: self.name.clone(),
            busy: self.busy,
            alike: self.alike,
        }
    }
}

impl<'a> Facts<'a> {
    pub fn of(phase: &'a Phase, before: Option<&'a Phase>, targets: &'a [Target]) -> Self {
        Self {
            phase,
            before: before.filter(|it| is_less(it, phase)),
            targets,
        }
    }

    pub fn server(&self) -> Option<&'a UsageSeries> {
        usage(self.phase, "server")
    }

    pub fn cores(&self) -> Option<Cores> {
        let server = self.server()?;
        let busy = *server.window.cpu_cores.known()?;
        let allowed = server.cores_allowed.filter(|it| *it > 0.0)?;
        // Where the system does not tell how long threads waited, cores are judged by what they did.
        let waited = server.window.waited_ns.known().copied().unwrap_or(0) as f64;
        let waited = waited / window_ns(self.phase) as f64;
        Some(Cores {
            busy,
            allowed,
            // More threads than cores can wait at a time; they could not all have run.
            waited: waited.min(allowed - busy).max(0.0),
        })
    }

    pub fn thread(&self) -> Option<Thread> {
        thread(self.server()?)
    }

    /// Whether all servers are on this machine.
    pub fn is_local(&self) -> bool {
        !self.targets.is_empty() && self.targets.iter().all(is_loopback)
    }

    /// What a plant says of its own work, where it is the only server.
    fn told(&self) -> Option<&'a Internals> {
        let told = self.phase.diagnostics.as_ref()?;
        let [Figure::Known(only)] = told.targets.as_slice() else {
            return None;
        };
        only.internals.as_ref().filter(|it| it.elapsed_ns > 0)
    }

    /// The loop of a plant that had most to do.
    pub fn busiest_loop(&self) -> Option<Loop> {
        let told = self.told()?;
        let (busiest, busy) = told.busiest()?;
        let each = told.loops.iter();
        let alike = each.filter(|it| it.share(told.elapsed_ns) >= FULL).count();
        Some(Loop {
            name: busiest.name.clone(),
            busy,
            alike: alike as u64,
        })
    }

    /// Cores of a plant elsewhere, as it says itself. On this machine its process is looked at, and where it is not
    /// found, it may be that of the generator.
    pub fn told_cores(&self) -> Option<Cores> {
        let told = self.told().filter(|_| !self.is_local())?;
        let cores = Cores {
            busy: told.cores()?,
            allowed: told.processors as f64,
            waited: 0.0,
        };
        (cores.allowed > 0.0).then_some(cores)
    }

    /// The server's connections, or why nothing is known of them.
    pub fn sockets(&self) -> Result<SocketUsage, String> {
        sockets(self.server())
    }

    /// The generator's.
    pub fn own_sockets(&self) -> Option<SocketUsage> {
        sockets(usage(self.phase, "generator")).ok()
    }
}

/// Whether a server is on this machine.
fn is_loopback(target: &Target) -> bool {
    // Behind a proxy the loopback is that of another machine.
    if target.proxy.is_some() {
        return false;
    }
    let rest = target.url.split_once("://").map_or("", |it| it.1);
    let host = match rest.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => rest.split([':', '/']).next().unwrap_or(""),
    };
    match host.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

fn sockets(of: Option<&UsageSeries>) -> Result<SocketUsage, String> {
    match of.map(|it| &it.sockets) {
        None => Err(NOT_SEEN.to_owned()),
        Some(None) => Err("connections were not looked at".to_owned()),
        Some(Some(Figure::Missing { not_available })) => Err(not_available.clone()),
        Some(Some(Figure::Known(it))) if it.connections == 0 || it.window_ns == 0 => {
            Err("no connection was there from the beginning to the end".to_owned())
        }
        Some(Some(Figure::Known(it))) => Ok(*it),
    }
}

/// The share of a time of all connections together.
pub(super) fn of_all(sockets: &SocketUsage, ns: u64) -> f64 {
    ns as f64 / (sockets.window_ns as f64 * sockets.connections as f64).max(1.0)
}

pub(super) fn usage<'a>(phase: &'a Phase, who: &str) -> Option<&'a UsageSeries> {
    phase.resources.iter().find(|it| it.who == who)
}

/// Threads of which less of the CPU is known were not there at both ends.
const KNOWN: f64 = 0.5;

/// Whether threads that are known did most of the work: of one that ended nothing is known.
pub(super) fn knows_threads(server: &UsageSeries) -> bool {
    let each = server.threads.iter();
    let known: f64 = each.filter_map(|it| it.cpu_cores.known()).sum();
    let all = server.window.cpu_cores.known();
    all.is_none_or(|all| known >= KNOWN * all)
}

/// The thread that had most to do.
pub(super) fn thread(server: &UsageSeries) -> Option<Thread> {
    if !knows_threads(server) {
        return None;
    }
    let known = || {
        let each = server.threads.iter();
        each.filter_map(|it| Some((it, it.busiest?)))
    };
    let (first, busy) = known().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let alike = known().filter(|(_, busy)| *busy >= FULL).map(|(it, _)| {
        // Of several by one name only their sum is known: all, or the busiest of them.
        let cores = it.cpu_cores.known().copied().unwrap_or(0.0);
        match cores >= FULL * it.count as f64 {
            true => it.count,
            false => 1,
        }
    });
    Some(Thread {
        name: first.name.clone(),
        busy,
        alike: alike.sum(),
    })
}

pub(super) fn window_ns(phase: &Phase) -> u64 {
    phase.to_ns.saturating_sub(phase.from_ns).max(1)
}

/// What is in flight on average, in the window.
pub(super) fn in_flight(phase: &Phase) -> f64 {
    let (_, inside) = in_window(phase, &phase.series.in_flight);
    mean(inside).unwrap_or(0.0)
}

/// The part of a column of the series that lies in the window, and how long that is.
pub(super) fn in_window<'a, T>(phase: &Phase, column: &'a [T]) -> (u64, &'a [T]) {
    let every = phase.series.interval_ns.max(1);
    let at = |ns: u64| usize::try_from(ns / every).unwrap_or(usize::MAX);
    // Whole intervals only.
    let (from, to) = (
        at(phase.from_ns.saturating_add(every - 1)),
        at(phase.to_ns).min(column.len()),
    );
    let inside = column.get(from..to).unwrap_or_default();
    (every.saturating_mul(inside.len() as u64), inside)
}

fn planned_per_s(phase: &Phase) -> f64 {
    phase.total.planned as f64 * 1e9 / window_ns(phase) as f64
}

/// Whether a phase had less to do.
fn is_less(before: &Phase, phase: &Phase) -> bool {
    planned_per_s(before) < LESS * planned_per_s(phase)
        || in_flight(before) < LESS * in_flight(phase)
}
