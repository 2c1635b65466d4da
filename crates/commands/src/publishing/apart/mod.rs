//! A phase of PubSub whose publisher or listeners are on other hosts: who is where, when it began for each of them, and
//! how far their clocks agree.

mod cast;
mod sides;
mod tasks;

use anyhow::Context;
use load::engine::Control;
use observe::Process;
use plan::unit::duration::show_ns;
use plan::{Phase, Work};
use record::run::{Host, Run};

use super::broker::Url;
use super::listener_display::{length, now};
use super::phase::PubSubCommand;
use super::publisher::Publisher;
use crate::fleet::{Roles, Spec, now_ns};
use crate::global::Global;
use crate::quick::usage::UsageWatch;
use cast::{Cast, begun};
use sides::{PhaseWatched, Whole, hear_here, hear_there};

impl PubSubCommand {
    /// Whether somebody is on another host.
    pub(super) fn is_apart(&self) -> bool {
        self.publish_on.is_some() || !self.listen_on.is_empty()
    }

    /// Measures.
    pub(super) fn measure_apart(
        &self,
        phase: &Phase,
        (quiet, control): (bool, &Control),
        global: &Global,
    ) -> anyhow::Result<Run> {
        let mut asked = self.common.observed.asked()?;
        let secured = self.secured(&phase.work, global)?;
        let secret = match self.at.is_broker() {
            true => self.broker.secret()?,
            false => None,
        };
        // Sockets of this host are open before anybody publishes, and have their port then.
        let mut open = match self.listen_on.is_empty() {
            true => Some(self.open(&phase.work, &secret, global)?),
            false => None,
        };
        let at = open.as_ref().map_or(&self.at, |it| &it.at).clone();
        let mut publisher = match (&phase.work, &self.publish_on) {
            (Work::Publish(plan), None) => {
                let words = self.words(plan, &at, length(phase), global)?;
                let publisher = Publisher::start(&words)?;
                asked.server = Process::of(publisher.pid()).ok();
                Some(publisher)
            }
            _ => None,
        };
        let specs: Vec<Spec> = self
            .publish_on
            .iter()
            .chain(&self.listen_on)
            .cloned()
            .collect();
        let mut roles = Roles::gather(&specs, control, global)?;
        let (tasks, many) = self.tasks(phase, &at, (&secured, &secret), roles.count())?;
        roles.begin(tasks, &many, control)?;
        let mut cast = Cast::of(roles, self.publish_on.is_some());
        let watch = UsageWatch::start(asked).context("cannot start a thread")?;
        let origin_ns = match (&mut publisher, cast.publisher) {
            (Some(it), _) => it.begin([&secret, &None], &secured.text)?,
            (None, Some(agent)) => begun(&mut cast, agent, control)?,
            (None, None) => now(),
        };
        cast.began_ns = now_ns();
        let course = PhaseWatched {
            quiet,
            control,
            watch,
            origin_ns,
        };
        let whole = match open.take() {
            Some(open) => hear_here(phase, &mut cast, open, &secured, course),
            None => hear_there(phase, &mut cast, &at, publisher.as_mut(), course),
        }?;
        self.put_together(phase, &at, (cast, whole), control)
    }

    /// One result of both sides.
    fn put_together(
        &self,
        phase: &Phase,
        at: &Url,
        (cast, whole): (Cast, Whole),
        control: &Control,
    ) -> anyhow::Result<Run> {
        let Cast {
            roles,
            publisher,
            resources,
            machine,
            heard,
            ..
        } = cast;
        let listens_here = self.listen_on.is_empty();
        let mut run = self.run(phase, at, whole.outcome, control)?;
        run.hosts = roles.end();
        for (agent, (host, heard)) in run.hosts.iter_mut().zip(&heard).enumerate() {
            if publisher == Some(agent) {
                host.resources.clone_from(&resources);
                // Of a publisher that did not tell, all of the machine is n/a.
                host.machine = machine.clone().unwrap_or_default();
            }
            if let Some((_, of_agent)) = heard.as_ref().and_then(|it| it.read().ok()) {
                tell_of(host, of_agent);
            }
        }
        let missing: Vec<judge::Missing> = run
            .hosts
            .iter()
            .filter_map(|host| {
                Some(judge::Missing::Role {
                    name: host.name.clone(),
                    // Each host of these has one.
                    role: host.role.clone().unwrap_or_default(),
                    why: host.lost.clone()?,
                })
            })
            .collect();
        if let Some(measured) = run.phases.last_mut() {
            // Of the publisher what its own host saw; this process listened only if it did.
            let own = resources.into_iter().filter(|it| it.who == "server");
            measured
                .resources
                .retain(|it| listens_here || it.who != "generator");
            measured.resources.extend(own);
            if let Some(told) = &mut measured.pubsub {
                for (listener, on) in told.listeners.iter_mut().zip(whole.on) {
                    listener.on = on;
                    if whole.no_delay.is_some() {
                        listener.no_delay.clone_from(&whole.no_delay);
                    }
                }
                if whole.no_delay.is_some() {
                    measured.total.histograms.remove("delay");
                    measured.series.delay = None;
                }
                if let Some(clock) = &mut told.clock {
                    clock.tell(&measured.total.histograms, show_ns);
                }
            }
            measured.verdict = judge::lower(std::mem::take(&mut measured.verdict), &missing);
            measured.expectations = judge::expectations(&phase.expect, measured);
            run.verdict = measured.verdict.clone();
        }
        Ok(run)
    }
}

/// What listeners say of their host.
fn tell_of(host: &mut Host, mut run: Run) {
    host.machine = run.machine;
    if let Some(phase) = run.phases.pop() {
        host.total = Some(phase.total);
        host.resources = phase.resources;
    }
}
