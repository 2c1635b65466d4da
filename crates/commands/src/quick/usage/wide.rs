//! What takes so long that it is looked at four times a second at most: connections, and a server's wait for memory.

use std::time::{Duration, Instant};

use observe::{
    Network, NotAvailable, Resource, Socket, TcpState, Tree, cgroup, pressure, thread_cpu,
};
use record::run::{Figure, SocketUsage};

/// So often at most.
const EVERY: Duration = Duration::from_millis(250);
/// It may take one part of so many of the time until the next one.
const PART: u32 = 200;

/// But a look comes after this time at the latest: two of them make a figure, and phases may be short.
const LEAST: Duration = Duration::from_secs(1);

/// Looks, and says when the next look is due.
pub(super) fn look(server: u32) -> (Wide, Instant) {
    let (began, before) = (Instant::now(), thread_cpu());
    let wide = Wide::of(server);
    // On a machine that is busy it takes long, and no more of it.
    let spent = thread_cpu().and_then(|now| Ok(now.saturating_sub(before?)));
    let spent = spent.unwrap_or_else(|_| began.elapsed());
    (wide, began + (spent * PART).clamp(EVERY, LEAST))
}

/// Looks at the connections of both ends while something is sent over them.
pub struct Ends {
    server: Option<u32>,
    looks: Vec<(Instant, Wide)>,
}

impl Ends {
    /// Without any look yet.
    pub fn new(server: Option<u32>) -> Self {
        Self {
            server,
            looks: Vec::new(),
        }
    }

    /// One more.
    pub fn look(&mut self) {
        let wide = Wide::ends(self.server);
        self.looks.push((Instant::now(), wide));
    }

    /// The share of the time in which data of our end (0) or of the server's (1) waited for the network, on any of the
    /// connections: they share it.
    pub fn held(&self, of: usize) -> Figure<f64> {
        let looks: Vec<(Instant, &Wide)> = self.looks.iter().map(|(at, it)| (*at, it)).collect();
        match connections(of, &looks) {
            Figure::Known(it) => {
                Figure::Known((judge::network_held(it) * it.connections as f64).min(1.0))
            }
            Figure::Missing { not_available } => Figure::Missing { not_available },
        }
    }
}

/// At one moment.
pub(super) struct Wide {
    /// Of the generator, and of the server.
    connections: [observe::Figure<Connections>; 2],
    /// How long work had stood still for want of memory.
    memory_stalled_ns: observe::Figure<u64>,
}

/// Open connections, added up: one by one those of ten thousand sessions would take too much memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Connections {
    count: u64,
    /// Those that the process itself had opened.
    outgoing: u64,
    /// The same for the same connections, whatever their order.
    which: u64,
    busy_us: u64,
    receiver_limited_us: u64,
    buffer_limited_us: u64,
    unsent: u64,
}

impl Wide {
    /// The connections of this process, and of a server where that is known.
    fn ends(server: Option<u32>) -> Self {
        let network = Network::default();
        let missing = || {
            Err(NotAvailable::because(
                "the server is no process of this machine",
            ))
        };
        let of = |pid: u32| open_in(&network, pid);
        Self {
            connections: [of(std::process::id()), server.map_or_else(missing, of)],
            memory_stalled_ns: Err(NotAvailable::because("nobody asked")),
        }
    }

    fn of(pid: u32) -> Self {
        let tree = Tree::here();
        let own = cgroup(&tree, pid).and_then(|it| it.memory_pressure);
        let stalled = own.or_else(|_| pressure(&tree, Resource::Memory));
        let network = Network::of(tree);
        Self {
            connections: [std::process::id(), pid].map(|pid| open_in(&network, pid)),
            memory_stalled_ns: stalled.map(|it| it.some.total_ns),
        }
    }
}

fn open_in(network: &Network, pid: u32) -> observe::Figure<Connections> {
    network.sockets(pid).and_then(|all| Connections::of(&all))
}

impl Connections {
    fn of(all: &[Socket]) -> observe::Figure<Self> {
        let ports = all.iter().filter(|it| it.state == TcpState::Listening);
        let ports: Vec<u16> = ports.map(|it| it.local.port()).collect();
        let mut sum = Self::default();
        for socket in all.iter().filter(|it| it.state == TcpState::Established) {
            let tcp = socket.tcp.clone()?;
            sum.count += 1;
            sum.outgoing += u64::from(!ports.contains(&socket.local.port()));
            sum.which = sum.which.wrapping_add(socket.inode);
            sum.busy_us += tcp.busy_us;
            sum.receiver_limited_us += tcp.receiver_limited_us;
            sum.buffer_limited_us += tcp.buffer_limited_us;
            sum.unsent += u64::from(tcp.not_sent_bytes > 0);
        }
        Ok(sum)
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.count, self.which) == (other.count, other.which)
    }
}

/// What became of the connections that were open all the time, of the generator (0) or of the server (1), out of looks
/// inside a window.
pub(super) fn connections(of: usize, looks: &[(Instant, &Wide)]) -> Figure<SocketUsage> {
    let missing = |why: &'static str| NotAvailable::because(why);
    let found = || -> observe::Figure<SocketUsage> {
        let [(from, first), ..] = looks else {
            return Err(missing(
                "it was not looked at the connections in the window",
            ));
        };
        let connections = |wide: &Wide| -> observe::Figure<Connections> {
            let found = wide.connections.get(of).cloned();
            found.unwrap_or_else(|| Err(missing("nobody asked")))
        };
        let before = connections(first)?;
        let mut known = Vec::new();
        for (at, wide) in looks {
            known.push((*at, connections(wide)?));
        }
        // They are closed when all is over, which may be within the last look.
        known.retain(|(_, it)| it.is_same(&before));
        let Some((to, after)) = known.last().copied().filter(|(to, _)| to > from) else {
            return Err(missing(
                "connections came and went, or the window was too short for two looks",
            ));
        };
        let us = |it: fn(&Connections) -> u64| it(&after).saturating_sub(it(&before)) * 1000;
        let all = |of: fn(&Connections) -> u64| known.iter().map(|(_, it)| of(it)).sum();
        Ok(SocketUsage {
            connections: after.count,
            outgoing: after.outgoing,
            window_ns: plan::unit::duration::nanos(to.duration_since(*from)),
            busy_ns: us(|it| it.busy_us),
            receiver_limited_ns: us(|it| it.receiver_limited_us),
            buffer_limited_ns: us(|it| it.buffer_limited_us),
            looks: all(|it| it.count),
            unsent: all(|it| it.unsent),
        })
    };
    found().into()
}

/// How long work stood still for want of memory in a window of this length, from looks around it.
pub(super) fn memory_stalled(around: [(Instant, &Wide); 2], window_ns: u64) -> Figure<u64> {
    let [(from, first), (to, last)] = around;
    let found = || -> observe::Figure<u64> {
        let (then, now) = (
            first.memory_stalled_ns.clone()?,
            last.memory_stalled_ns.clone()?,
        );
        let length = to.duration_since(from).as_nanos() as f64;
        let stalled = now.saturating_sub(then) as f64;
        Ok((stalled / length.max(1.0) * window_ns as f64) as u64)
    };
    found().into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn wide(which: u64, busy_us: u64, unsent: u64) -> Wide {
        let found = Connections {
            count: 2,
            which,
            busy_us,
            unsent,
            ..Connections::default()
        };
        Wide {
            connections: [Err(NotAvailable::because("none")), Ok(found)],
            memory_stalled_ns: Ok(busy_us),
        }
    }

    #[test]
    fn connections_are_added_up_as_long_as_they_are_the_same() {
        let at = Instant::now();
        let later = |ms| at + Duration::from_millis(ms);
        let all = [
            wide(7, 100, 0),
            wide(7, 300, 1),
            wide(7, 600, 2),
            wide(8, 9, 0),
        ];
        let looks: Vec<(Instant, &Wide)> = (0..).map(|n| later(n * 500)).zip(&all).collect();
        let Figure::Known(it) = connections(1, &looks) else {
            panic!()
        };
        assert_eq!((it.connections, it.window_ns), (2, 1_000_000_000));
        assert_eq!((it.busy_ns, it.unsent, it.looks), (500_000, 3, 6));
        // Others than before.
        assert!(connections(1, &looks[2..]).known().is_none());
        assert!(connections(1, &[]).known().is_none());
        assert!(connections(0, &looks).known().is_none());
    }

    #[test]
    fn a_wait_for_memory_is_that_of_the_window() {
        let at = Instant::now();
        let (first, last) = (wide(1, 100, 0), wide(1, 300, 0));
        let around = [(at, &first), (at + Duration::from_secs(2), &last)];
        assert_eq!(memory_stalled(around, 1_000_000_000), Figure::Known(100));
    }
}
