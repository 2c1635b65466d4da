//! The servers that a scenario starts, and when a new one takes the place of an old one.

use std::collections::BTreeMap;

use plan::scenario::{Kind, Restart, Start, Turn};

use super::placed;
use super::vocabulary::Commands;
use crate::peers;
use crate::serving::{Folder, Serving};

/// What runs, and how it was started.
pub struct Servers<'a> {
    commands: &'a Commands,
    folder: Folder,
    running: Option<(Start, Turn, Running)>,
    /// What the tools of each peer say of themselves: some take seconds for it.
    tools: BTreeMap<String, Vec<String>>,
}

enum Running {
    Plant(Serving),
    Peer(::peers::Server),
}

/// Where servers are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Their URLs.
    pub targets: Vec<String>,
    /// The process, whose CPU is watched; none on another host.
    pub pid: Option<u32>,
    /// What has their processes observed on another host, as options of a phase.
    pub observed: Vec<String>,
    /// Its name in `uaperf peers`, and its tools with their versions.
    pub peer: Option<(String, Vec<String>)>,
}

impl<'a> Servers<'a> {
    /// None runs yet.
    pub fn new(commands: &'a Commands) -> anyhow::Result<Self> {
        Ok(Self {
            commands,
            folder: Folder::make("run")?,
            running: None,
            tools: BTreeMap::new(),
        })
    }

    /// The servers for a measurement; old ones end first, so that two never share the machine.
    pub fn for_turn(&mut self, start: &Start, turn: Turn) -> anyhow::Result<Reached> {
        let stays = |(as_before, since, running): &mut (Start, Turn, Running)| {
            let in_time = match start.restart {
                Restart::EachPoint => false,
                Restart::EachRepetition => since.repetition == turn.repetition,
                Restart::Never => true,
            };
            in_time && as_before == start && running.is_there()
        };
        if !self.running.as_mut().is_some_and(stays) {
            self.running = None;
            let running = self.start(start)?;
            self.running = Some((start.clone(), turn, running));
        }
        Ok(match &self.running {
            Some((start, _, Running::Plant(serving))) => Reached {
                targets: serving.urls.iter().map(ToString::to_string).collect(),
                pid: start.on.is_none().then(|| serving.pid()),
                observed: (start.on.iter())
                    .flat_map(|on| placed::observed(on, &serving.urls))
                    .collect(),
                peer: None,
            },
            Some((start, _, Running::Peer(server))) => Reached {
                targets: vec![server.url().to_owned()],
                pid: Some(server.pid()),
                observed: Vec::new(),
                peer: Some((
                    start.name.clone(),
                    self.tools.get(&start.name).cloned().unwrap_or_default(),
                )),
            },
            None => Reached {
                targets: Vec::new(),
                pid: Some(std::process::id()),
                observed: Vec::new(),
                peer: None,
            },
        })
    }

    fn start(&mut self, start: &Start) -> anyhow::Result<Running> {
        match start.kind {
            Kind::Plant => {
                let mut words = self.commands.plant_words(&start.name, &start.settings);
                // Both sides are ours: the server takes whoever comes.
                if !words.iter().any(|word| word == "--trust") {
                    words.push("--trust".to_owned());
                }
                if let Some(on) = &start.on {
                    let started = placed::started(on, &words, start);
                    return started.map(Running::Plant);
                }
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let pki = self.folder.0.join("server");
                Serving::start_several(&words, start.servers(), &pki).map(Running::Plant)
            }
            Kind::Peer => {
                let typed = self.commands.peer(&start.name, &start.settings)?;
                let server = peers::started(&start.name, &typed)?;
                let tools = self.tools.entry(start.name.clone());
                tools.or_insert_with(|| server.stack().tools_here());
                Ok(Running::Peer(server))
            }
        }
    }
}

impl Running {
    fn is_there(&mut self) -> bool {
        match self {
            Self::Plant(serving) => serving.is_running(),
            Self::Peer(server) => server.is_running(),
        }
    }
}
