//! What was seen of processes and the host, as it stands in a result.

use std::time::{Duration, Instant};

use observe::counters::not_counted;
use observe::{Memory, NotAvailable, Sample, Spent, Task, Times};
use record::run::{CounterUsage, Figure, Means, Observing, Usage, UsageSeries};

use super::look::{Close, Look};
use super::wide::Wide;
use super::{SERVER, Who, course, detail, far, wide};
use crate::remote_watch::{Known, SampleCourse};

/// What was seen.
pub struct ObservedUsage {
    /// In the order of each look.
    pub(super) who: Vec<Who>,
    pub(super) looks: Vec<Look>,
    /// Whether it was said which process the server is, and not found out.
    pub named: bool,
    /// Processors that the server may use.
    pub(super) allowed: Option<f64>,
    /// What looking cost, where it was asked for.
    pub observing: Option<Observing>,
    /// What came of other hosts.
    pub(super) far: Vec<(Known, SampleCourse)>,
}

/// What a process had at a moment.
pub struct Level {
    /// When, in nanoseconds since the phase began.
    pub at: i128,
    pub rss_bytes: Option<u64>,
    pub descriptors: Option<u64>,
}

fn signed(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

/// A look that comes so much after the end belongs to it all the same.
const NEAR: u64 = 50_000_000;

impl ObservedUsage {
    /// For a result: sums over a window of a phase that began at `began`, and the course of it.
    /// `spun` tells for which share of its time the generator found nothing to do, between two times.
    pub fn series(
        &self,
        began: Instant,
        from_ns: u64,
        to_ns: u64,
        spun: Option<&dyn Fn(u64, u64) -> f64>,
    ) -> Vec<UsageSeries> {
        // The last look before the window and the last one in it: all of it is covered.
        let window = self.around(began, from_ns, to_ns, |_| true);
        // Some figures need closer ones.
        let closely = self.around(began, from_ns, to_ns, |look| look.close.is_some());
        // Of the looks, as the processor time is: theirs is not quite the window's.
        let spun = spun.zip(window).and_then(|(spun, (first, last))| {
            let from = since(first.at, began).unwrap_or(0);
            let to = since(last.at, began).filter(|&to| to > from)?;
            Some(spun(from, to))
        });
        let mut all = Vec::new();
        for (n, Who { who, name, pid }) in self.who.iter().enumerate() {
            let mut series = UsageSeries {
                who: (*who).into(),
                name: name.clone(),
                pid: *pid,
                ..UsageSeries::default()
            };
            if let Some(window) = window
                && let Some((first, last)) = of(window, n)
            {
                series.window = spent((first, last), closely.and_then(|it| of(it, n)));
                // Of the processor time only: a spinning loop that others keep from its processor is no more
                // at work for that.
                if let (None, Some(share), Figure::Known(cores)) =
                    (pid, spun, &series.window.cpu_cores)
                {
                    let length = to_ns.saturating_sub(from_ns) as f64;
                    series.window.spun_ns = Figure::Known((share * cores * length) as u64);
                }
            }
            for (at_ns, earlier, later) in self.pairs(began) {
                let (Some(a), Some(b)) = (earlier.processes.get(n), later.processes.get(n)) else {
                    continue;
                };
                series.at_ns.push(at_ns);
                series.cpu_cores.push(b.since(a).cores().ok());
                series.rss_bytes.push(b.rss_bytes.clone().ok());
            }
            if let Some((first, last)) = closely {
                let last = self.before_threads_ended((first, last), n);
                let elapsed = last.at.duration_since(first.at);
                let [then, now] = [first, last].map(|look| threads(look, n));
                series.threads = detail::threads(now, then, plan::unit::duration::nanos(elapsed));
            }
            let looks: Vec<course::Row> = self
                .closer()
                .filter_map(|(look, _)| Some((look.at, look.processes.get(n)?, threads(look, n))))
                .collect();
            series.cpu_course = course::course(&looks, began, &series.threads);
            series.counters = closely.and_then(|around| counted(around, n));
            if n == SERVER && *who == "server" {
                self.of_server(&mut series, began, (from_ns, to_ns));
            }
            let looks = wide_inside(&self.looks, began, (from_ns, to_ns));
            if n <= SERVER && !looks.is_empty() {
                series.sockets = Some(wide::connections(n, &looks));
            }
            if self.observing.is_some() {
                self.in_detail(&mut series, n, began, (from_ns, to_ns));
            }
            all.push(series);
        }
        all.push(self.host(began, closely));
        let far = self.far.iter();
        all.extend(far.map(|(known, course)| far::series(known, course, began, (from_ns, to_ns))));
        all
    }

    /// The last look of a kind before a window and the last one in it.
    fn around(
        &self,
        began: Instant,
        from_ns: u64,
        to_ns: u64,
        is_one: fn(&Look) -> bool,
    ) -> Option<(&Look, &Look)> {
        let until = |t: u64| {
            move |look: &&Look| is_one(look) && since(look.at, began).is_none_or(|at| at <= t)
        };
        let first = self.looks.iter().rfind(until(from_ns));
        let first = first.or(self.looks.first());
        let last = self.looks.iter().rfind(until(to_ns.saturating_add(NEAR)));
        first.zip(last)
    }

    /// What is asked of a server alone: its cores, and whether it waits for memory.
    fn of_server(&self, series: &mut UsageSeries, began: Instant, (from_ns, to_ns): (u64, u64)) {
        series.cores_allowed = self.allowed;
        let around = self.around(began, from_ns, to_ns, |look| look.depth() > 1);
        series.memory_stalled_ns = around.and_then(|(first, last)| {
            let around = [widely(first)?, widely(last)?];
            Some(wide::memory_stalled(around, to_ns.saturating_sub(from_ns)))
        });
    }

    /// The close look before this one if threads have ended since: a thread for each connection ends with the sessions,
    /// and takes what it did along.
    fn before_threads_ended<'a>(
        &'a self,
        (first, last): (&'a Look, &'a Look),
        n: usize,
    ) -> &'a Look {
        let between = |look: &&Look| look.at > first.at && look.at < last.at;
        let Some(earlier) = self.closer().map(|it| it.0).filter(between).last() else {
            return last;
        };
        let now = threads(last, n);
        let is_there = |task: &Task| now.iter().any(|it| it.id == task.id);
        match threads(earlier, n).iter().all(is_there) {
            true => last,
            false => earlier,
        }
    }

    /// Means, and what takes closer looks, over time.
    fn in_detail(
        &self,
        series: &mut UsageSeries,
        n: usize,
        began: Instant,
        (from_ns, to_ns): (u64, u64),
    ) {
        let inside = |values: Vec<Option<f64>>| -> Vec<f64> {
            let rows = series.at_ns.iter().zip(values);
            // What was spent before the window is none of it.
            let rows = rows.filter(|(at, _)| **at > from_ns && **at <= to_ns);
            rows.filter_map(|(_, value)| value).skip(1).collect()
        };
        let rss = series.rss_bytes.iter().map(|it| it.map(|it| it as f64));
        series.means = Some(Means {
            cpu_cores: detail::with_interval(
                &inside(series.cpu_cores.clone()),
                series.window.cpu_cores.known().copied(),
            ),
            rss_bytes: detail::with_interval(&inside(rss.collect()), None),
        });
        let mut before: Option<&Sample> = None;
        for (row, look) in self.looks.iter().enumerate() {
            let Some(now) = look.processes.get(n) else {
                continue;
            };
            let [mut waited, mut switches] = [None, None];
            if look.close.is_some() {
                if let Some(before) = before {
                    let it = now.since(before);
                    let seconds = it.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
                    waited = it.waited_ns.ok().map(|ns| ns as f64 / 1e9 / seconds);
                    let both = it.voluntary_switches.ok().zip(it.involuntary_switches.ok());
                    switches = both.map(|(one, other)| (one + other) as f64 / seconds);
                }
                before = Some(now);
            }
            // The rows of the series: looks since the phase began, but for the first of all.
            if row > 0 && since(look.at, began).is_some() {
                series.waited_cores.push(waited);
                series.switches_per_s.push(switches);
            }
        }
    }

    /// All cores of the machine, whoever used them.
    fn host(&self, began: Instant, closely: Option<(&Look, &Look)>) -> UsageSeries {
        let mut series = UsageSeries {
            who: "host".into(),
            ..UsageSeries::default()
        };
        if let Some((first, last)) = closely {
            let spent = between(first, last);
            let known = |of: fn(&Times) -> u64| Figure::from(spent.as_ref().map(of));
            series.window = Usage {
                cpu_ns: known(Times::busy_ns),
                user_ns: known(|times| times.user_ns),
                system_ns: known(|times| times.system_ns),
                stolen_ns: known(|times| times.steal_ns),
                cpu_cores: Figure::from(spent.as_ref().map(|times| cores(times, first, last))),
                rss_peak_bytes: Figure::from(self.most_memory(first, last)),
                ..Usage::default()
            };
            let memory = last.close.as_ref().map(|it| &it.memory);
            series.ram_bytes = memory.and_then(|it| Some(it.as_ref().ok()?.total_bytes));
        }
        let links = closely.and_then(|(first, last)| {
            let seconds = last.at.duration_since(first.at).as_secs_f64();
            let (then, now) = (first.close.as_ref()?, last.close.as_ref()?);
            Some(detail::links(&now.links, &then.links, seconds))
        });
        series.links = links.unwrap_or_default();
        let looks: Vec<_> = self
            .closer()
            .map(|(look, close)| (look.at, close.links.as_slice()))
            .collect();
        detail::over_time(&mut series.links, &looks, began);
        let looks = self.closer().zip(self.closer().skip(1));
        for ((earlier, _), (later, _)) in looks {
            let Some(at_ns) = since(later.at, began) else {
                continue;
            };
            let busy = between(earlier, later).ok();
            series.at_ns.push(at_ns);
            series
                .cpu_cores
                .push(busy.map(|times| cores(&times, earlier, later)));
            let memory = later.close.as_ref().map(|it| &it.memory);
            let used = memory.and_then(|it| Some(it.as_ref().ok()?.used_bytes()));
            series.rss_bytes.push(used);
        }
        let looks: Vec<course::OfHost> = self
            .closer()
            .filter_map(|(look, close)| {
                let all = close.host.as_ref().ok()?;
                Some((look.at, all, close.cores.as_slice()))
            })
            .collect();
        series.cpu_course = course::of_host(&looks, began);
        series
    }

    /// The most memory that the machine had in use at the looks behind the first of two.
    fn most_memory(&self, first: &Look, last: &Look) -> observe::Figure<u64> {
        let mut most = Err(NotAvailable::because("it was not looked at"));
        for (look, close) in self.closer() {
            if look.at > first.at && look.at <= last.at {
                let used = close.memory.as_ref().map(Memory::used_bytes);
                most = match (most, used) {
                    (Ok(most), Ok(used)) => Ok(used.max(most)),
                    (Ok(most), Err(_)) => Ok(most),
                    (Err(_), used) => used.map_err(Clone::clone),
                };
            }
        }
        most
    }

    /// Each look since the phase began, with the one before it.
    fn pairs(&self, began: Instant) -> impl Iterator<Item = (u64, &Look, &Look)> {
        self.looks.windows(2).filter_map(move |pair| match pair {
            [earlier, later] => Some((since(later.at, began)?, earlier, later)),
            _ => None,
        })
    }

    /// Closer looks: they come at about the same intervals, however often it was looked.
    fn closer(&self) -> impl Iterator<Item = (&Look, &Close)> {
        self.looks
            .iter()
            .filter_map(|look| Some((look, look.close.as_ref()?)))
    }

    /// Cores that a process kept busy between each closer look and the next, and when.
    pub fn cores(&self, who: &str, began: Instant) -> Vec<(u64, f64)> {
        let Some(n) = self.who.iter().position(|it| it.who == who) else {
            return Vec::new();
        };
        self.closer()
            .zip(self.closer().skip(1))
            .filter_map(|((a, _), (b, _))| {
                let at = since(b.at, began)?;
                let spent = b.processes.get(n)?.since(a.processes.get(n)?);
                Some((at, spent.cores().ok()?))
            })
            .collect()
    }

    /// What a process had at each look, also before the phase.
    pub fn levels(&self, who: &str, began: Instant) -> Vec<Level> {
        let Some(n) = self.who.iter().position(|it| it.who == who) else {
            return Vec::new();
        };
        let level = |look: &Look| {
            let sample = look.processes.get(n)?;
            let before = || Some(-signed(began.checked_duration_since(look.at)?));
            let after = look.at.checked_duration_since(began).map(signed);
            Some(Level {
                at: after.or_else(before)?,
                rss_bytes: sample.rss_bytes.clone().ok(),
                descriptors: sample.descriptors.clone().ok(),
            })
        };
        self.closer().filter_map(|(look, _)| level(look)).collect()
    }

    /// Processors that the server may use, where the system tells.
    pub fn allowed(&self) -> Option<f64> {
        self.allowed
    }

    /// The share of its time that the server's busiest thread had something to do in a window: on a CPU, or
    /// waiting for one that others had.
    pub fn busiest_thread(&self, began: Instant, from_ns: u64, to_ns: u64) -> Option<f64> {
        if self.who.get(SERVER)?.who != "server" {
            return None;
        }
        let mut inside = self.closer().filter(|(look, _)| {
            since(look.at, began).is_some_and(|at| (from_ns..=to_ns).contains(&at))
        });
        let ((first, _), (last, _)) = (inside.next()?, inside.last()?);
        let elapsed = last.at.duration_since(first.at).as_nanos() as f64;
        let worked = |thread: &Task| {
            let cpu = thread.cpu_ns.as_ref().ok()?;
            Some(cpu + thread.waited_ns.as_ref().unwrap_or(&0))
        };
        // One that was not there at first is no thread that could be the limit of all of it.
        let [before_all, after_all] = [first, last].map(|look| threads(look, SERVER));
        let shares = after_all.iter().filter_map(|after| {
            let before = before_all.iter().find(|it| it.id == after.id)?;
            let worked = worked(after)?.checked_sub(worked(before)?)?;
            Some(worked as f64 / elapsed.max(1.0))
        });
        shares.reduce(f64::max).map(|share| share.min(1.0))
    }

    /// The share of this machine's time that the hypervisor took.
    pub fn stolen(&self) -> Option<f64> {
        let (first, last) = self.looks.first().zip(self.looks.last())?;
        between(first, last).ok()?.stolen().ok()
    }
}

fn widely(look: &Look) -> Option<(Instant, &Wide)> {
    Some((look.at, look.close.as_ref()?.wide.as_ref()?))
}

/// Looks of a window at what takes long.
fn wide_inside(
    looks: &[Look],
    began: Instant,
    (from_ns, to_ns): (u64, u64),
) -> Vec<(Instant, &Wide)> {
    let inside = from_ns..=to_ns.saturating_add(NEAR);
    let inside = |look: &&Look| since(look.at, began).is_some_and(|at| inside.contains(&at));
    looks.iter().filter(inside).filter_map(widely).collect()
}

/// A process at both ends.
fn of<'a>((first, last): (&'a Look, &'a Look), n: usize) -> Option<(&'a Sample, &'a Sample)> {
    first.processes.get(n).zip(last.processes.get(n))
}

/// What was counted of a process between two looks.
fn counted((first, last): (&Look, &Look), n: usize) -> Option<CounterUsage> {
    let at = |look: &Look| look.close.as_ref()?.counted.get(n).cloned();
    Some(match (at(first)?, at(last)?) {
        (Ok(then), Ok(now)) => now.since(&then).usage(),
        (Err(why), _) | (_, Err(why)) => not_counted(&why),
    })
}

/// The threads of a process.
fn threads(look: &Look, n: usize) -> &[Task] {
    let close = look.close.as_ref();
    close
        .and_then(|it| it.threads.get(n))
        .map_or(&[], Vec::as_slice)
}

/// What a process spent between two samples; between closer ones what takes them.
fn spent((first, last): (&Sample, &Sample), closely: Option<(&Sample, &Sample)>) -> Usage {
    let whole = last.since(first);
    let Some((closer, end)) = closely else {
        return whole.usage(&last.peak_rss_bytes);
    };
    let close = end.since(closer);
    // Shares of the exact time between the first two.
    let part = |part: observe::Figure<u64>| -> observe::Figure<u64> {
        let (part, of, cpu) = (part?, close.cpu_ns.clone()?, whole.cpu_ns.clone()?);
        Ok((part as f64 / (of as f64).max(1.0) * cpu as f64) as u64)
    };
    let whole = Spent {
        user_ns: part(close.user_ns.clone()),
        system_ns: part(close.system_ns.clone()),
        minor_faults: close.minor_faults,
        major_faults: close.major_faults,
        waited_ns: close.waited_ns,
        voluntary_switches: close.voluntary_switches,
        involuntary_switches: close.involuntary_switches,
        ..whole.clone()
    };
    whole.usage(&end.peak_rss_bytes)
}

fn between(earlier: &Look, later: &Look) -> observe::Figure<Times> {
    let host = |look: &Look| match &look.close {
        Some(close) => close.host.clone(),
        None => Err(NotAvailable::because("found at closer looks only")),
    };
    Ok(host(later)?.since(&host(earlier)?))
}

fn cores(busy: &Times, earlier: &Look, later: &Look) -> f64 {
    let elapsed = later.at.duration_since(earlier.at);
    busy.busy_ns() as f64 / (elapsed.as_nanos() as f64).max(1.0)
}

fn since(at: Instant, began: Instant) -> Option<u64> {
    let since = at.checked_duration_since(began)?;
    u64::try_from(since.as_nanos()).ok()
}
