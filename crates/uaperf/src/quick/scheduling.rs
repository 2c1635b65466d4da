//! Which processors and priorities a run has: of the threads that make load, and of a server on this machine.

use std::sync::Arc;

use observe::Process;
use observe::schedule;
use serde_json::{Map, Value};

use super::held::Holding;
use crate::failure::Failure;
use crate::fleet::ALONE;
use crate::pinning;

/// Processors and priorities.
#[derive(Debug, clap::Args)]
#[group(id = "scheduling")]
#[command(next_help_heading = "Load")]
pub struct Args {
    /// CPUs to keep the threads on, in turn: 1 or 2,3
    #[arg(
        long,
        visible_alias = "pin-client",
        value_name = "LIST",
        value_delimiter = ','
    )]
    pin: Vec<usize>,
    /// CPUs to keep the server's threads on meanwhile, a server on this machine (Linux): 0 or 0,1
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pin_server: Vec<usize>,
    /// Nice value of the threads that make load: -20 (first) to 19 (last) (Linux)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    nice: Option<i32>,
    /// Real-time priority of the threads that make load, under SCHED_FIFO: 1 to 99, or 0 for none (Linux)
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(0..=99))]
    rt: Option<u8>,
    /// The same of the server's threads meanwhile, a server on this machine (Linux)
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(0..=99))]
    rt_server: Option<u8>,
}

/// 0 leaves threads as they are: a sweep compares with that.
fn wanted(priority: Option<u8>) -> Option<u8> {
    priority.filter(|it| *it > 0)
}

/// What a thread does before it makes load.
type AtStart = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

impl Args {
    /// CPUs to keep the threads on that make load.
    pub fn pin(&self) -> &[usize] {
        &self.pin
    }

    /// Refuses what cannot be had here, before anything begins.
    pub fn check(&self, agents: bool) -> Result<(), Failure> {
        if agents {
            let asked = [
                ("--pin-server", !self.pin_server.is_empty()),
                ("--nice", self.nice.is_some()),
                ("--rt", self.rt.is_some()),
                ("--rt-server", self.rt_server.is_some()),
            ];
            if let Some((option, _)) = asked.iter().find(|it| it.1) {
                return Err(Failure::usage(format!("{option}: {ALONE}")));
            }
        }
        pinning::check(&self.pin)?;
        // A thread of its own finds out whether it may.
        if let Some(at_start) = self.at_start() {
            let tried = std::thread::scope(|scope| scope.spawn(|| at_start()).join());
            if let Ok(Err(why)) = tried {
                return Err(Failure::new(why));
            }
        }
        Ok(())
    }

    /// What each thread that makes load does first.
    pub fn at_start(&self) -> Option<AtStart> {
        let (nice, rt) = (self.nice, wanted(self.rt));
        if nice.is_none() && rt.is_none() {
            return None;
        }
        Some(Arc::new(move || {
            let thread = schedule::this_thread();
            if let Some(value) = nice {
                schedule::nice(thread, value)
                    .map_err(|why| format!("--nice {value}: {}", why.reason()))?;
            }
            if let Some(priority) = rt {
                schedule::fifo(thread, priority)
                    .map_err(|why| format!("--rt {priority}: {}", why.reason()))?;
            }
            Ok(())
        }))
    }

    /// The server as it was to be, until the run is over.
    pub fn hold(&self, server: Option<&Process>) -> anyhow::Result<Option<Holding>> {
        let option = match (self.pin_server.is_empty(), wanted(self.rt_server)) {
            (true, None) => return Ok(None),
            (false, _) => "--pin-server",
            (true, Some(_)) => "--rt-server",
        };
        let server = server.ok_or_else(|| {
            Failure::usage(format!(
                "{option}: the server is no process of this machine that is known"
            ))
            .hint("--server-pid PID, if it is one")
        })?;
        let held = Holding::of(server.id(), &self.pin_server, wanted(self.rt_server));
        let held = held.map_err(|why| Failure::new(format!("{option}: {}", why.reason())))?;
        Ok(Some(held))
    }

    /// As it stands in a result's request.
    pub fn request(&self, request: &mut Map<String, Value>) {
        request.insert("pin".into(), self.pin.clone().into());
        if !self.pin_server.is_empty() {
            request.insert("pin_server".into(), self.pin_server.clone().into());
        }
        let numbers = [
            ("nice", self.nice.map(Value::from)),
            ("rt", self.rt.map(Value::from)),
            ("rt_server", self.rt_server.map(Value::from)),
        ];
        for (key, value) in numbers {
            request.extend(value.map(|it| (key.to_owned(), it)));
        }
    }

    /// What is to be said of it beside the figures: how the server was scheduled, as the kernel says.
    pub fn notes(&self, server: Option<u32>) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(value) = self.nice {
            notes.push(format!(
                "the threads that made load had a nice value of {value}"
            ));
        }
        if let Some(priority) = wanted(self.rt) {
            notes.push(format!(
                "the threads that made load ran under SCHED_FIFO with priority {priority}"
            ));
        }
        let asked = !self.pin_server.is_empty() || wanted(self.rt_server).is_some();
        let found = server.filter(|_| asked).map(schedule::scheduling);
        if let Some(Ok(it)) = found {
            let processors: Vec<String> = it.processors.iter().map(usize::to_string).collect();
            notes.push(format!(
                "the server ran on processors {} under {} with priority {}{}",
                processors.join(", "),
                it.policy,
                it.priority,
                if it.mixed {
                    ", some of its threads otherwise"
                } else {
                    ""
                },
            ));
        }
        notes
    }
}
