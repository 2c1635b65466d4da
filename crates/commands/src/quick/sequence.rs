//! `uaperf sequence`: simulated users, each of whom does one thing after the other.

use std::time::Duration;

use plan::sequence::{Sequence, Sequences};
use plan::unit::duration;
use plan::{Phase, Warmup, Work};

use super::Common;

const EXAMPLES: &str = "\
Examples:
  uaperf sequence opc.tcp://plc1:4840 --sessions 20 --ramp-up 10s --duration 1m \\
      --sequence 'operator*3: connect -> browse i=85 -> think ~2s -> read ns=2;i=1 -> disconnect' \\
      --sequence 'engineer: connect -> read ns=2;i=1 -> think ~10s -> write ns=2;i=1' \\
      --allow write

Steps: connect, read NODE…, write NODE… (its own value), browse NODE…, call OBJECT METHOD ARG…, \
subscribe NODE… every 500ms, unsubscribe, think 1s or ~1s (exponential), wait 5s, disconnect. Where no sequence \
connects, each user has a session from the beginning. A sequence ends at the first step that fails. Response \
counts a sequence from its first step to its last, think times included; each step has times of its own.";

/// Simulate users: sequences of calls with think times
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Users {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) work: Args,
}

/// What users do.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What users do")]
pub struct Args {
    /// NAME*WEIGHT: STEP -> STEP; several are a mixture, each taken as often as its weight says
    #[arg(long, value_name = "SEQUENCE", required = true)]
    sequence: Vec<Sequence>,
    /// Users come one after the other over so long; left out of the figures
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    ramp_up: Duration,
    /// Users go one after the other over so long, after the measured time
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    ramp_down: Duration,
}

impl super::Does for Args {
    fn work(&self) -> anyhow::Result<Work> {
        Ok(Work::Sequence(Box::new(Sequences {
            all: self.sequence.clone(),
            ramp_up: self.ramp_up,
            ramp_down: self.ramp_down,
        })))
    }
}

/// While users come and go, nothing is measured.
pub(super) fn complete(phase: &mut Phase) {
    let Some(plan) = phase.sequences() else {
        return;
    };
    let (up, down) = (plan.ramp_up, plan.ramp_down);
    if !up.is_zero() {
        phase.warmup = Warmup::Given {
            warmup: phase.warmup.given().saturating_add(up),
        };
    }
    phase.cooldown = phase.cooldown.saturating_add(down);
}
