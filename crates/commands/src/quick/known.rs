//! From all that is known of a phase to its run and its verdict: where it was carried out, or when results came late.

use std::sync::Arc;

use judge::{EndedBy, Missing, OwnLimit};
use load::engine::{Outcome, Target};
use load::work::Prepared;
use plan::Phase;
use plan::unit::duration;
use record::run::{Expectation, Kind, LinkTest, Mark, Run};
use serde_json::Value;

use super::usage::ObservedUsage;
use super::{Common, missing, outcome, result, subscription_results};
use crate::fleet::Shared;

/// All that is known of a phase that was carried out.
pub(super) struct Known<'a> {
    pub(super) command: &'static str,
    pub(super) common: &'a Common,
    pub(super) phase: &'a Phase,
    /// Servers; none where that was long ago.
    pub(super) looked: &'a [Arc<Target>],
    /// What each was asked for.
    pub(super) prepared: &'a [Arc<Prepared>],
    pub(super) outcome: &'a Outcome,
    /// What processes spent.
    pub(super) seen: Option<&'a ObservedUsage>,
    pub(super) own_limits: Vec<OwnLimit>,
    pub(super) by: Option<EndedBy>,
    /// What servers counted, before and after.
    pub(super) witnessed: (&'a [Option<Value>], &'a [Option<Value>]),
    /// Servers that are missing.
    pub(super) not_there: Vec<Missing>,
    /// What a fleet did.
    pub(super) shared: Option<Shared>,
    /// What the way to the server carried before.
    pub(super) link_test: Option<LinkTest>,
    /// The condition that ended it.
    pub(super) aborted: Option<Expectation>,
}

impl Known<'_> {
    /// The run.
    pub(super) fn run(self) -> Run {
        let Self {
            phase,
            looked,
            outcome,
            by,
            shared,
            ..
        } = self;
        let (mut run, mut judgement) = outcome::run(
            self.command,
            self.common,
            phase,
            looked,
            outcome,
            self.seen,
            (self.own_limits, by),
        );
        let heard = subscription_results::subscriptions(
            phase,
            outcome,
            looked,
            self.prepared,
            self.witnessed,
            &mut run,
        );
        let by_hand = result::by_hand(&outcome.by_hand);
        if by_hand.iter().any(|it| it.did.changes_load()) {
            run.marks.push(Mark::ByHand);
        }
        if !self.not_there.is_empty() {
            run.marks.push(Mark::Degraded);
        }
        if let Some(measured) = run.phases.last_mut() {
            measured.diagnostics =
                subscription_results::diagnostics(phase, outcome, heard.as_ref());
            measured.subscriptions = heard;
            if let (Some(told), Some(shared)) = (&mut measured.subscriptions, &shared) {
                told.clock.error_ns = shared.clock_error.clone();
            }
            if let Some(told) = &mut measured.subscriptions {
                let here = match &shared {
                    Some(_) => "the agents",
                    None => "this host",
                };
                told.clock.between = vec!["the server".to_owned(), here.to_owned()];
                told.clock
                    .tell(&measured.total.histograms, duration::show_ns);
            }
            measured.by_hand = by_hand;
            let tally = result::whole(outcome);
            let heard = measured.subscriptions.as_ref();
            judgement.hear(measured);
            judgement.by_hand(&measured.by_hand);
            if let Some(shared) = &shared {
                judgement.lacks(shared.missing.iter().cloned());
                for (agent, share, why) in shared.limits() {
                    judgement.limited_by(agent, share, &why);
                }
                // This process made none of the load.
                measured.resources.retain(|it| it.who != "generator");
            }
            judgement.lacks(self.not_there);
            judgement.lacks(missing::of(phase, looked, outcome, &tally, by, heard));
            measured.verdict = judgement.verdict();
            measured.link_test = self.link_test;
            if measured.verdict.kind == Kind::ServerSaturated {
                measured.bottleneck = Some(judge::bottleneck(measured, None, &run.targets));
            }
            measured.expectations = judge::expectations(&phase.expect, measured);
            measured.series.budgets = judge::budgets(&phase.expect, measured, &tally);
            measured.expectations.extend(self.aborted);
            run.verdict = measured.verdict.clone();
        }
        if let Some(shared) = shared {
            run.notes.push(shared.note(phase.name.as_deref()));
            if !shared.missing.is_empty() && !run.marks.contains(&Mark::Degraded) {
                run.marks.push(Mark::Degraded);
            }
            run.hosts = shared.hosts;
        }
        run
    }
}
