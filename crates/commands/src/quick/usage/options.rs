//! What else is to be observed, as typed.

use std::time::Duration;

use observe::Process;

use super::WatchTargets;
use crate::failure::Failure;
use crate::remote_watch::{HOST, RemoteWatch, Site};
use crate::watch;

/// What is observed on this machine meanwhile.
#[derive(Debug, clap::Args)]
#[group(id = "observed")]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// Watch this process too: the server's, when it runs on this machine
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Observe processes of this machine, too: by id, name, the port that they listen on (:4840), or as a stack that
    /// `uaperf peers` started; host is the machine with its network interfaces. Of another host:
    /// prom:http://HOST:9100, with #NAME for a process (a page for Prometheus), or ssh:HOST or nats:TAG/NAME (an agent that
    /// waits at a broker), with :PID, :NAME or ::PORT
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    observe: Vec<String>,
    /// Time between two looks at what is observed, 10ms or more [default: 100ms, longer in long phases]
    #[arg(long, value_name = "DURATION", value_parser = watch::interval)]
    observe_interval: Option<Duration>,
    /// Count cycles, instructions, cache and branch misses, switches and migrations of the processes that are observed, by
    /// perf_event_open (Linux); each switch of a thread costs a little more meanwhile
    #[arg(long)]
    counters: bool,
}

/// Other hosts are looked at so often, if nothing else was said: as often as an exporter is asked at most.
const FAR: Duration = Duration::from_secs(1);

impl Args {
    /// What is watched, where this server was named or not. Nothing that cannot be watched is left out silently.
    pub fn asked(&self) -> anyhow::Result<WatchTargets> {
        let server =
            match self.server_pid {
                Some(pid) => Some(Process::of(pid).map_err(|why| {
                    Failure::usage(format!("--server-pid {pid}: {}", why.reason()))
                })?),
                None => None,
            };
        let mut asked = WatchTargets {
            named: server.is_some(),
            server,
            every: self.observe_interval,
            observes: !self.observe.is_empty() || self.observe_interval.is_some() || self.counters,
            counters: self.counters,
            ..WatchTargets::default()
        };
        for typed in &self.observe {
            let typed = typed.trim();
            if typed == HOST {
                asked.host = true;
                continue;
            }
            if let Some(site) = Site::read(typed) {
                let site = site.map_err(|why| Failure::usage(format!("--observe: {why}")))?;
                let every = self.observe_interval.unwrap_or(FAR);
                let opened = RemoteWatch::open(&site, every);
                asked
                    .far
                    .push(opened.map_err(|error| error.context("--observe"))?);
                continue;
            }
            let id = watch::process(typed)
                .map_err(|error| Failure::usage(format!("--observe: {error}")))?;
            let process = Process::of(id)
                .map_err(|why| Failure::usage(format!("--observe {typed}: {}", why.reason())))?;
            if id != std::process::id() && asked.others.iter().all(|it| it.id() != id) {
                asked.others.push(process);
            }
        }
        Ok(asked)
    }
}

impl WatchTargets {
    /// With the server's process where that was found out meanwhile. One that is observed is not watched twice.
    pub fn with_server(mut self, found: Option<Process>) -> Self {
        self.server = self.server.or(found);
        if let Some(server) = &self.server {
            self.others.retain(|it| it.id() != server.id());
        }
        self
    }
}
