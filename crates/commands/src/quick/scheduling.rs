//! Which processors and priorities a run has: of the threads that make load, and of a server on this machine.

use std::sync::Arc;

use observe::schedule::{self, Placing};
use observe::{Process, Tree};
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
    /// Keep on isolated cores (isolcpus) meanwhile: the server's threads (server), those that make load (client), or the
    /// server's on one half of them and the others on the other (both); none leaves them (Linux)
    #[arg(long, value_name = "WHO", value_enum)]
    isolated: Option<Isolated>,
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

/// Who has the isolated cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Isolated {
    None,
    Server,
    Client,
    Both,
}

impl Isolated {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Server => "server",
            Self::Client => "client",
            Self::Both => "both",
        }
    }

    const fn has_server(self) -> bool {
        matches!(self, Self::Server | Self::Both)
    }

    const fn has_client(self) -> bool {
        matches!(self, Self::Client | Self::Both)
    }

    /// The cores of the server and those of the threads that make load.
    fn cores(self, tree: &Tree) -> Result<(Vec<usize>, Vec<usize>), Failure> {
        let mut all = observe::isolated(tree)
            .map_err(|why| Failure::new(format!("--isolated: {}", why.reason())))?;
        match (self, all.len()) {
            (Self::None, _) => Ok((Vec::new(), Vec::new())),
            (_, 0) => Err(Failure::new("--isolated: no core of this machine is isolated")
                .hint("boot with isolcpus=domain,managed_irq,2-3 nohz_full=2-3 rcu_nocbs=2-3, for two cores of four")),
            (Self::Server, _) => Ok((all, Vec::new())),
            (Self::Client, _) => Ok((Vec::new(), all)),
            (Self::Both, 1) => Err(Failure::new(format!(
                "--isolated both: one core only is isolated, {}; want two or more",
                all.first().unwrap_or(&0)
            ))
            .hint("--isolated server, or boot with more of them in isolcpus=")),
            (Self::Both, n) => {
                let client = all.split_off(n.div_ceil(2));
                Ok((all, client))
            }
        }
    }
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

    /// The same, with isolated ones.
    pub fn pins(&self) -> Result<Vec<usize>, Failure> {
        match self.isolated.filter(|it| it.has_client()) {
            Some(isolated) => Ok(isolated.cores(&Tree::here())?.1),
            None => Ok(self.pin.clone()),
        }
    }

    /// Where the server's threads are to run.
    fn placing(&self) -> Result<Placing, Failure> {
        Ok(match self.isolated.filter(|it| it.has_server()) {
            Some(isolated) => Placing {
                processors: isolated.cores(&Tree::here())?.0,
                one_each: true,
            },
            None => Placing {
                processors: self.pin_server.clone(),
                one_each: false,
            },
        })
    }

    /// Refuses what cannot be had here, before anything begins.
    pub fn check(&self, agents: bool) -> Result<(), Failure> {
        if agents {
            let asked = [
                ("--pin-server", !self.pin_server.is_empty()),
                ("--isolated", self.isolated.is_some()),
                ("--nice", self.nice.is_some()),
                ("--rt", self.rt.is_some()),
                ("--rt-server", self.rt_server.is_some()),
            ];
            if let Some((option, _)) = asked.iter().find(|it| it.1) {
                return Err(Failure::usage(format!("{option}: {ALONE}")));
            }
        }
        if let Some(isolated) = self.isolated {
            let twice = [
                ("--pin", isolated.has_client() && !self.pin.is_empty()),
                (
                    "--pin-server",
                    isolated.has_server() && !self.pin_server.is_empty(),
                ),
            ];
            if let Some((option, _)) = twice.iter().find(|it| it.1) {
                let name = isolated.name();
                let told = format!("{option}: --isolated {name} says where those threads run");
                return Err(Failure::usage(told).hint("leave one of them out"));
            }
            isolated.cores(&Tree::here())?;
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
        let placing = self.placing()?;
        let option = match (placing.processors.is_empty(), wanted(self.rt_server)) {
            (true, None) => return Ok(None),
            (false, _) if placing.one_each => "--isolated",
            (false, _) => "--pin-server",
            (true, Some(_)) => "--rt-server",
        };
        let server = server.ok_or_else(|| {
            Failure::usage(format!(
                "{option}: the server is no process of this machine that is known"
            ))
            .hint("--server-pid PID, if it is one")
        })?;
        let held = Holding::of(server.id(), &placing, wanted(self.rt_server));
        let held = held.map_err(|why| Failure::new(format!("{option}: {}", why.reason())))?;
        Ok(Some(held))
    }

    /// As it stands in a result's request.
    pub fn request(&self, request: &mut Map<String, Value>) {
        request.insert("pin".into(), self.pin.clone().into());
        if !self.pin_server.is_empty() {
            request.insert("pin_server".into(), self.pin_server.clone().into());
        }
        if let Some(isolated) = self.isolated {
            request.insert("isolated".into(), isolated.name().into());
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
        let isolated = self.isolated.filter(|it| *it != Isolated::None);
        if let Some(isolated) = isolated
            && let Ok((of_server, of_client)) = isolated.cores(&Tree::here())
        {
            for (who, cores) in [
                ("the server", of_server),
                ("those that made load", of_client),
            ] {
                if !cores.is_empty() {
                    let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
                    notes.push(format!(
                        "isolated cores {} were for {who}, each thread on one of them",
                        cores.join(", ")
                    ));
                }
            }
        }
        let asked = !self.pin_server.is_empty()
            || isolated.is_some_and(Isolated::has_server)
            || wanted(self.rt_server).is_some();
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn isolated_cores_are_shared_out_and_none_is_an_error_with_the_boot_option() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sys/devices/system/cpu/isolated");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let tree = Tree::at(folder.path());
        let cores = |who: Isolated, list: &str| {
            std::fs::write(&file, list).unwrap();
            who.cores(&tree).map_err(|error| format!("{error:?}"))
        };
        assert_eq!(
            cores(Isolated::Server, "2-3,6\n"),
            Ok((vec![2, 3, 6], vec![]))
        );
        assert_eq!(cores(Isolated::Client, "2-3\n"), Ok((vec![], vec![2, 3])));
        assert_eq!(cores(Isolated::Both, "2-4\n"), Ok((vec![2, 3], vec![4])));
        assert_eq!(cores(Isolated::None, "\n"), Ok((vec![], vec![])));
        let one = cores(Isolated::Both, "3\n").unwrap_err();
        assert!(one.contains("one core only is isolated, 3"), "{one}");
        let none = cores(Isolated::Server, "\n").unwrap_err();
        assert!(none.contains("isolcpus="), "{none}");
    }
}
