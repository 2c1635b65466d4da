//! Devices of a landscape that an agent serves for a controller.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::{Args as _, Command, FromArgMatches as _};
use fleet::frame::{pack, unpack};
use observe::Process;
use serde::{Deserialize, Serialize};

use super::Args;
use super::file::{Landscape, NO_FILES};
use super::ledger::{Sheet, Struck};
use super::live::{self, Look};
use super::share::Part;
use super::start;
use crate::failure::Failure;
use crate::fleet::agent_pool::instant;
use crate::fleet::roles::wait_until;
use crate::fleet::task::Serves;
use crate::publishing::role::Stage;

/// What an agent tells meanwhile.
#[derive(Debug, Serialize, Deserialize)]
pub enum PartMessage {
    /// All of its devices are there.
    Up {
        /// Their URLs, in the order of the file.
        urls: Vec<String>,
        /// What of the time until then went into certificates, in nanoseconds.
        certificates_ns: u64,
    },
    /// How they are.
    Look {
        /// What they counted.
        counted: Box<plant::Counted>,
        /// Of its process.
        memory: Option<u64>,
    },
    /// Something happened to some of them.
    Struck(Struck),
}

/// What an agent tells at the end. It is JSON: not all of it can be written otherwise.
#[derive(Debug, Serialize, Deserialize)]
pub struct PartResult {
    /// What became of its devices.
    pub sheet: Sheet,
    /// What happened to them.
    pub struck: Vec<Struck>,
}

impl PartResult {
    /// As they came.
    pub fn read(bytes: &[u8]) -> anyhow::Result<Self> {
        let text: String = unpack(bytes)?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// Figures are told this often.
const EVERY: Duration = Duration::from_secs(1);
/// The end is looked for so often.
const LOOK_UP: Duration = Duration::from_millis(20);

/// The landscape and the options of a role. A file of this host is nothing that a controller may name: none is opened.
fn read(role: &Serves) -> anyhow::Result<(Landscape, Args)> {
    if Landscape::names_files(&role.text) {
        return Err(Failure::usage(NO_FILES).into());
    }
    let landscape = Landscape::parse(&role.text, &role.name, Path::new("")).map_err(|wrong| {
        let wrong = wrong.in_text(&role.name, &role.text);
        Failure::usage(wrong.to_string())
    })?;
    let command = Args::augment_args(Command::new("serve"));
    let words = ["serve", "devices.toml"].into_iter();
    let words = words.chain(role.words.iter().map(String::as_str));
    let args = Args::from_arg_matches(&command.try_get_matches_from(words)?)?;
    Ok((landscape, args))
}

/// Where devices of a role would listen and publish, as URLs.
pub fn addresses(role: &Serves) -> Result<Vec<String>, String> {
    let (landscape, _) = read(role).map_err(|error| format!("{error:#}"))?;
    let part = part(role);
    let listen = part.listen(&landscape);
    let mut urls = Vec::new();
    for group in &landscape.groups {
        let devices = part.of(group);
        if !devices.is_empty() {
            let publishing = group.publish.iter().chain(&group.plant.publish);
            urls.extend(publishing.map(|it| it.to.clone()));
        }
        let listens = |port| format!("opc.tcp://{}", std::net::SocketAddr::new(listen, port));
        urls.extend(devices.iter().map(|it| listens(it.port)));
    }
    Ok(urls)
}

fn part(role: &Serves) -> Part<'_> {
    Part {
        devices: &role.devices,
        host: role.host.as_deref(),
    }
}

/// Serves them until the controller has had enough, and gives what became of them.
pub fn carry_out(role: &Serves, stage: &Stage<'_>) -> anyhow::Result<Vec<u8>> {
    let (landscape, args) = read(role)?;
    let (part, control) = (part(role), stage.control);
    let running = start::start(&landscape, &part, &args, stage.global, &|| {
        control.is_over()
    })?;
    let at = (stage.ready)().ok_or_else(Failure::interrupted)?;
    if !wait_until(at, control) {
        return Err(Failure::interrupted().into());
    }
    let start = instant(at.as_nanos());
    let tell = |told: &PartMessage| {
        // It is short.
        pack(told).into_iter().for_each(|bytes| (stage.tell)(bytes));
    };
    tell(&PartMessage::Up {
        urls: running
            .watches
            .iter()
            .map(|it| it.url().to_owned())
            .collect(),
        certificates_ns: plan::unit::duration::nanos(running.certificates),
    });
    let mut schedule = landscape.events.iter().enumerate().peekable();
    let mut struck = Vec::new();
    let mut process = Process::own();
    let mut next = Instant::now();
    while !control.is_over() {
        for it in running.strike(&mut schedule, start)? {
            tell(&PartMessage::Struck(it));
            struck.push(it);
        }
        let now = Instant::now();
        if now >= next {
            next = now + EVERY;
            let Look { counted, memory } = live::look(&running.watches, &mut process);
            tell(&PartMessage::Look {
                counted: Box::new(counted),
                memory,
            });
        }
        let due = schedule
            .peek()
            .map(|(_, it)| it.at.saturating_sub(start.elapsed()));
        std::thread::sleep(due.unwrap_or(LOOK_UP).min(LOOK_UP));
    }
    let watches = running.stop(Some(args.grace));
    let results = PartResult {
        sheet: Sheet::read(&landscape, &part, &watches),
        struck,
    };
    Ok(pack(&serde_json::to_string(&results)?)?)
}
