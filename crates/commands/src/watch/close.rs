//! A process looked at closely: its threads, sockets, switches, disks and control group.

use std::collections::BTreeMap;

use observe::counters::{Counted, Counters, not_counted};
use observe::{
    Beat, Cgroup, Limit, Network, NotAvailable, Process, ProcessTotals, Sample, Shares, Socket,
    Task, TcpState, Tree, cgroup, footing, shares, tasks_since,
};
use record::average::median_ns;
use record::run::Figure;

use super::difference::{between, cores, less};
use super::line::{Closely, Group, Sockets, Thread};

/// What was seen at the last close look.
#[derive(Debug)]
pub struct Close {
    process: Process,
    pub seen: Snapshot,
    looks: u32,
    counters: Option<observe::Figure<Counters>>,
    /// What was counted up to the last close look.
    pub counted: Option<observe::Figure<Counted>>,
}

/// Looking at the shares of memory holds the process up: it is done at each so many close looks.
const SHARES_EVERY: u32 = 10;

/// What was seen.
#[derive(Debug)]
pub struct Snapshot {
    beat: Beat,
    pub sample: Sample,
    pub tasks: observe::Figure<Vec<Task>>,
    pub footing: observe::Figure<ProcessTotals>,
    shares: observe::Figure<Shares>,
    sockets: observe::Figure<Vec<Socket>>,
    cgroup: observe::Figure<Cgroup>,
}

impl Snapshot {
    fn now(
        process: &mut Process,
        beat: &Beat,
        network: &Network,
        shared: Option<observe::Figure<Shares>>,
    ) -> Self {
        let (here, id) = (Tree::here(), process.id());
        let (sample, tasks) = process.look();
        Self {
            beat: beat.clone(),
            sample,
            tasks,
            footing: footing(&here, id),
            shares: shared.unwrap_or_else(|| shares(&here, id)),
            sockets: network.sockets(id),
            cgroup: cgroup(&here, id),
        }
    }
}

impl Close {
    /// Of a process, from this moment on.
    pub fn of(id: u32, beat: &Beat, counters: bool) -> observe::Figure<Self> {
        let mut process = Process::of(id)?;
        let mut counters = counters.then(|| Counters::of(id));
        Ok(Self {
            counted: counters.as_mut().map(read),
            counters,
            seen: Snapshot::now(&mut process, beat, &Network::default(), None),
            process,
            looks: 0,
        })
    }

    /// What it spent since the last close look.
    pub fn look(&mut self, beat: &Beat, network: &Network) -> Closely {
        self.looks += 1;
        let shared = match self.looks % SHARES_EVERY {
            0 => None,
            _ => Some(self.seen.shares.clone()),
        };
        let now = Snapshot::now(&mut self.process, beat, network, shared);
        let counted = self.counters.as_mut().map(read);
        let mut line = since(&now, &self.seen);
        line.counters = match (&counted, &self.counted) {
            (Some(Ok(now)), Some(Ok(then))) => Some(now.since(then).usage()),
            (Some(Err(why)), _) | (_, Some(Err(why))) => Some(not_counted(why)),
            _ => None,
        };
        self.seen = now;
        self.counted = counted;
        line
    }
}

fn read(counters: &mut observe::Figure<Counters>) -> observe::Figure<Counted> {
    Ok(counters.as_mut().map_err(|why| why.clone())?.read())
}

fn since(now: &Snapshot, then: &Snapshot) -> Closely {
    let interval = between(then.beat.at, now.beat.at);
    let share = |of: fn(&Beat) -> &observe::Figure<u64>| {
        cores(less(of(&now.beat), of(&then.beat)), interval)
    };
    let spent = now.sample.since(&then.sample);
    let held = |of: fn(&ProcessTotals) -> &observe::Figure<u64>| -> observe::Figure<u64> {
        of(now.footing.as_ref().map_err(Clone::clone)?).clone()
    };
    let moved = |of: fn(&ProcessTotals) -> &observe::Figure<u64>| -> observe::Figure<u64> {
        let then = of(then.footing.as_ref().map_err(Clone::clone)?);
        less(of(now.footing.as_ref().map_err(Clone::clone)?), then)
    };
    Closely {
        interval_ns: interval,
        cpu_cores: share(|it| &it.cpu_ns),
        user_cores: share(|it| &it.user_ns),
        system_cores: share(|it| &it.system_ns),
        waited_ns: spent.waited_ns.into(),
        voluntary_switches: spent.voluntary_switches.into(),
        involuntary_switches: spent.involuntary_switches.into(),
        peak_rss_bytes: now.sample.peak_rss_bytes.clone().into(),
        proportional_bytes: now.shares.as_ref().map(|it| it.proportional_bytes).into(),
        swap_bytes: held(|it| &it.swap_bytes).into(),
        descriptors: now.sample.descriptors.clone().into(),
        disk_read_bytes: moved(|it| &it.disk_read_bytes).into(),
        disk_written_bytes: moved(|it| &it.disk_written_bytes).into(),
        sockets: both(&now.sockets, &then.sockets, |now, then| talked(now, then)).into(),
        cgroup: both(&now.cgroup, &then.cgroup, group).into(),
        by_thread: both(&now.tasks, &then.tasks, |now, then| threads(now, then)).into(),
        counters: None,
    }
}

fn both<T, R>(
    now: &observe::Figure<T>,
    then: &observe::Figure<T>,
    of: impl Fn(&T, &T) -> R,
) -> observe::Figure<R> {
    match (now, then) {
        (Ok(now), Ok(then)) => Ok(of(now, then)),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    }
}

/// The threads that live, since then; a new one since it began. The busiest come first.
fn threads(now: &[Task], then: &[Task]) -> Vec<Thread> {
    tasks_since(now, then).into_iter().map(thread).collect()
}

/// What a thread spent.
pub fn thread(task: Task) -> Thread {
    Thread {
        id: task.id,
        name: task.name,
        cpu_ns: task.cpu_ns.into(),
        user_ns: task.user_ns.into(),
        system_ns: task.system_ns.into(),
        waited_ns: task.waited_ns.into(),
        voluntary_switches: task.voluntary_switches.into(),
        involuntary_switches: task.involuntary_switches.into(),
        migrations: task.migrations.into(),
        core: task.core.into(),
    }
}

fn talked(now: &[Socket], then: &[Socket]) -> Sockets {
    let before: BTreeMap<u64, &Socket> = then.iter().map(|it| (it.inode, it)).collect();
    let open = || now.iter().filter(|it| it.state == TcpState::Established);
    let counted = |of: fn(&observe::Tcp) -> u64| -> observe::Figure<u64> {
        open().try_fold(0, |sum, socket| {
            let tcp = socket.tcp.as_ref().map_err(Clone::clone)?;
            let was = before
                .get(&socket.inode)
                .and_then(|it| it.tcp.as_ref().ok());
            Ok(sum + of(tcp).saturating_sub(was.map_or(0, of)))
        })
    };
    let rtts = open().filter_map(|it| Some(u64::from(it.tcp.as_ref().ok()?.rtt_us) * 1000));
    Sockets {
        connections: open().count() as u64,
        to_accept: now
            .iter()
            .filter(|it| it.state == TcpState::Listening)
            .map(|it| it.receive_queue)
            .sum(),
        to_read_bytes: open().map(|it| it.receive_queue).sum(),
        to_send_bytes: open().map(|it| it.send_queue).sum(),
        received_bytes: counted(|it| it.received_bytes).into(),
        sent_bytes: counted(|it| it.sent_bytes).into(),
        retransmissions: counted(|it| it.retransmissions.into()).into(),
        median_rtt_ns: match median_ns(rtts) {
            Some(rtt) => Figure::Known(rtt),
            None => Figure::missing("no connection is open, or TCP says nothing of it"),
        },
    }
}

fn group(now: &Cgroup, then: &Cgroup) -> Group {
    fn limit<T: Copy>(it: &observe::Figure<Limit<T>>) -> Figure<Option<T>> {
        Figure::from(it.as_ref().map(|limit| match limit {
            Limit::None => None,
            Limit::At(at) => Some(*at),
        }))
    }
    let throttled = |of: fn(&observe::Throttled) -> u64| -> Result<u64, NotAvailable> {
        let was = then.throttled.as_ref().map_err(Clone::clone)?;
        let is = now.throttled.as_ref().map_err(Clone::clone)?;
        Ok(of(is).saturating_sub(of(was)))
    };
    Group {
        path: now.path.clone(),
        cpu_limit_cores: limit(&now.cpu_cores),
        memory_limit_bytes: limit(&now.memory_limit_bytes),
        memory_bytes: now.memory_bytes.clone().into(),
        throttled_periods: throttled(|it| it.held_back).into(),
        throttled_ns: throttled(|it| it.held_back_ns).into(),
    }
}
