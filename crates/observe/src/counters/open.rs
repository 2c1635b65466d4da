//! Counters of the threads of a process, as the kernel gives them.

mod refused;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use nix::errno::Errno;
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Counter, ReadFormat};

use self::refused::{CounterRequest, refused};
use super::{Count, Counted, Counts, Event, Refused};
use crate::figure::{Figure, NotAvailable};
use crate::limits;
use crate::tasks::tasks;
use crate::tree::Tree;

/// A process that is counted from now on, until this is dropped: each thread that it has, and those that they begin.
#[derive(Debug)]
pub struct Counters {
    threads: BTreeMap<u32, Thread>,
    refused: Arc<Refused>,
    user_only: bool,
}

#[derive(Debug)]
struct Thread {
    name: Arc<str>,
    counters: [Option<Counter>; Event::ALL.len()],
}

impl Counters {
    /// Of a process. An event that cannot be counted has its reason in what is counted.
    pub fn of(id: u32) -> Figure<Self> {
        let mut refused = Refused::default();
        let mut threads = BTreeMap::new();
        let mut user_only = false;
        let all = tasks(&Tree::here(), id)?;
        make_room(all.len());
        // Threads of one that is counted already are counted with it.
        for task in &all {
            let mut thread = Thread {
                name: task.name.as_str().into(),
                counters: [const { None }; Event::ALL.len()],
            };
            let places = thread.counters.iter_mut().zip(&mut refused);
            for (event, (place, refused)) in Event::ALL.into_iter().zip(places) {
                if refused.is_some() {
                    continue;
                }
                match open(event, task.id, all.len()) {
                    Ok((counter, kernel)) => {
                        user_only |= !kernel;
                        *place = Some(counter);
                    }
                    // It has ended meanwhile.
                    Err(None) => {}
                    Err(Some(why)) => *refused = Some(why),
                }
            }
            threads.insert(task.id, thread);
        }
        if threads.is_empty() {
            return Err(NotAvailable::because(format!("process {id} has ended")));
        }
        // An event that some thread could not have says nothing of the process.
        for thread in threads.values_mut() {
            for (place, refused) in thread.counters.iter_mut().zip(&refused) {
                if refused.is_some() {
                    *place = None;
                }
            }
        }
        Ok(Self {
            threads,
            refused: Arc::new(refused),
            user_only,
        })
    }

    /// What was counted up to now.
    pub fn read(&mut self) -> Counted {
        let read = |thread: &mut Thread| {
            let mut counts = Counts::default();
            for (count, counter) in counts.iter_mut().zip(&mut thread.counters) {
                *count = counter.as_mut().and_then(value);
            }
            (Arc::clone(&thread.name), counts)
        };
        let threads = self.threads.iter_mut();
        Counted {
            threads: threads.map(|(id, thread)| (*id, read(thread))).collect(),
            refused: Arc::clone(&self.refused),
            user_only: self.user_only,
        }
    }
}

fn value(counter: &mut Counter) -> Option<Count> {
    let data = counter.read_full().ok()?;
    // They were asked for. Without them nobody can say which part of the time was counted.
    let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).ok();
    Some(Count {
        raw: data.count(),
        enabled_ns: ns(data.time_enabled()?)?,
        running_ns: ns(data.time_running()?)?,
    })
}

/// Each counter is a descriptor, beside those that this process reckons with for its connections.
fn make_room(threads: usize) {
    let wanted = threads.saturating_mul(Event::ALL.len()) as u64;
    if let Ok(now) = limits::descriptors() {
        // Where it may not be raised so far, the event that has none left says so.
        let _ = limits::raise_descriptors(now.soft.saturating_add(wanted));
    }
}

/// A counter of a thread, and whether what happens in the kernel is in it.
fn open(
    event: Event,
    thread: u32,
    threads: usize,
) -> Result<(Counter, bool), Option<NotAvailable>> {
    let why = |error: &io::Error, user_only: bool| {
        let asked = CounterRequest {
            event,
            threads,
            user_only,
        };
        refused(&Tree::here(), &asked, errno(error))
    };
    match build(event, thread, true) {
        Ok(counter) => Ok((counter, true)),
        Err(error) if errno(&error) == Errno::ESRCH => Err(None),
        Err(error) if is_forbidden(&error) && !event.is_of_the_kernel() => {
            match build(event, thread, false) {
                Ok(counter) => Ok((counter, false)),
                Err(error) if errno(&error) == Errno::ESRCH => Err(None),
                Err(error) => Err(Some(why(&error, true))),
            }
        }
        Err(error) => Err(Some(why(&error, false))),
    }
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw)
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(errno(error), Errno::EACCES | Errno::EPERM)
}

fn build(event: Event, thread: u32, kernel: bool) -> io::Result<Counter> {
    match event {
        Event::Cycles => of(Builder::new(Hardware::CPU_CYCLES), thread, kernel),
        Event::Instructions => of(Builder::new(Hardware::INSTRUCTIONS), thread, kernel),
        Event::CacheReferences => of(Builder::new(Hardware::CACHE_REFERENCES), thread, kernel),
        Event::CacheMisses => of(Builder::new(Hardware::CACHE_MISSES), thread, kernel),
        Event::BranchMisses => of(Builder::new(Hardware::BRANCH_MISSES), thread, kernel),
        Event::ContextSwitches => of(Builder::new(Software::CONTEXT_SWITCHES), thread, kernel),
        Event::Migrations => of(Builder::new(Software::CPU_MIGRATIONS), thread, kernel),
        Event::PageFaults => of(Builder::new(Software::PAGE_FAULTS), thread, kernel),
        Event::TaskClock => of(Builder::new(Software::TASK_CLOCK), thread, kernel),
    }
}

fn of(mut builder: Builder<'_>, thread: u32, kernel: bool) -> io::Result<Counter> {
    builder
        .observe_pid(i32::try_from(thread).unwrap_or(i32::MAX))
        .any_cpu()
        .exclude_kernel(!kernel)
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING)
        .enabled(true)
        .inherit(true)
        // Threads that it begins, and no other programs.
        .inherit_thread(true);
    match builder.build() {
        // Before Linux 5.13.
        Err(error) if errno(&error) == Errno::EINVAL || error.raw_os_error().is_none() => {
            builder.inherit_thread(false).build()
        }
        built => built,
    }
}
