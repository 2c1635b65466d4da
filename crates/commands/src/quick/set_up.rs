//! What is there before the load of a phase begins: servers that were looked at, and what each is asked for.

use std::sync::Arc;

use judge::{Missing, OwnLimit};
use load::engine::{Control, Options, RunError, Target};
use load::work::Prepared;
use plan::{Phase, Targets};
use record::Samples;
use record::run::LinkTest;
use serde_json::Value;

use super::servers::{self, ReachedServers};
use super::writer::Writer;
use super::{Common, link_test, look, subscription_results};
use crate::failure::Failure;
use crate::global::Global;
use crate::screen::tell;

/// What is to be measured.
#[derive(Clone, Copy)]
pub struct Measurement<'a> {
    pub command: &'static str,
    pub common: &'a Common,
    pub targets: &'a Targets,
    pub phase: &'a Phase,
    pub control: &'a Control,
    pub global: &'a Global,
}

/// What a phase is carried out with.
pub struct Setup {
    /// The servers that are there.
    pub looked: Vec<Arc<Target>>,
    /// What is to be said of those that are not.
    pub not_there: Vec<Missing>,
    /// What this process may not do that the phase wants. A fleet's limits are those of its hosts.
    pub own_limits: Vec<OwnLimit>,
    /// Writes the values that are subscribed to, if that is wanted.
    pub writer: Option<Writer>,
    /// What each server is asked for.
    pub prepared: Vec<Arc<Prepared>>,
}

impl Setup {
    /// The servers' URLs.
    pub fn urls(&self) -> Vec<String> {
        let urls = self.looked.iter().map(|it| it.access.url.to_string());
        urls.collect()
    }

    /// The load could not be carried out: what nodes held is put back.
    pub fn stopped(&self, error: RunError) -> anyhow::Error {
        let notes = self.writer.iter().flat_map(|it| it.restore(&self.looked));
        for note in notes {
            tell!("warning: {note}");
        }
        servers::not_run(error, &self.looked)
    }
}

impl Measurement<'_> {
    /// Prepares what each server is asked for.
    pub fn set_up(self, found: ReachedServers, by_fleet: bool) -> anyhow::Result<Setup> {
        let (looked, phase) = (found.targets, self.phase);
        let limits = !self.common.load.ignores_limits();
        let own_limits = match by_fleet {
            true => Vec::new(),
            false => servers::own_limits(phase, &looked),
        };
        let writer =
            Writer::prepare(phase, &looked, limits).map_err(|(error, n)| match looked.get(n) {
                Some(target) => servers::refused(error, target),
                None => Failure::new(error.to_string()).into(),
            })?;
        let prepared = prepared(phase, &looked, writer.as_ref(), limits, self.control)?;
        Ok(Setup {
            looked,
            not_there: found.missing,
            own_limits,
            writer,
            prepared,
        })
    }

    /// How the load is made.
    pub fn options(self, samples: Option<Samples>) -> anyhow::Result<Options> {
        let common = self.common;
        let scheduling = common.load.scheduling();
        let options = Options {
            samples,
            threads: common.load.threads(),
            pin: scheduling.pins()?,
            at_start: scheduling.at_start(),
            limits: !common.load.ignores_limits(),
            // A server that is still busy with what was given up would have to be awaited for them.
            diagnostics: common.until_the_end.is_none(),
            abandons: common.until_the_end.is_some(),
            ..Options::default()
        };
        Ok(match &common.part {
            Some(part) => part.options(options),
            None => options,
        })
    }

    /// What the way to the server carries, if that is asked for.
    pub fn link_test(
        self,
        looked: &[Arc<Target>],
        by_fleet: bool,
    ) -> anyhow::Result<Option<LinkTest>> {
        match (self.common.output.link_test, by_fleet) {
            (false, _) => Ok(None),
            (true, true) => Err(Failure::usage("--link-test does not work with --fleet")
                .hint("run `uaperf bench link URL` on each of them")
                .into()),
            (true, false) => {
                let server = servers::found(looked);
                link_test::of(looked, server.as_ref(), self.control).map(Some)
            }
        }
    }

    /// What servers count themselves. Of a load in parts it is that of all, and whoever put them together asks.
    pub fn witnesses(self, looked: &[Arc<Target>]) -> Vec<Option<Value>> {
        match &self.common.part {
            Some(_) => Vec::new(),
            None => subscription_results::witnesses(self.phase, looked),
        }
    }
}

/// What each server is asked for, once it was found there.
fn prepared(
    phase: &Phase,
    looked: &[Arc<Target>],
    writer: Option<&Writer>,
    limits: bool,
    control: &Control,
) -> anyhow::Result<Vec<Arc<Prepared>>> {
    let planned = phase.clone();
    let prepared = look::each(looked.to_vec(), control, move |target: Arc<Target>| {
        target.prepare(&planned, limits)
    })?;
    let one = |(n, (prepared, target)): (usize, (Result<Prepared, _>, &Arc<Target>))| {
        let prepared = prepared.map_err(|error| servers::refused(error, target))?;
        Ok(Arc::new(match writer {
            Some(writer) => prepared.watching(writer.watches(n)),
            None => prepared,
        }))
    };
    prepared
        .into_iter()
        .zip(looked)
        .enumerate()
        .map(one)
        .collect()
}
