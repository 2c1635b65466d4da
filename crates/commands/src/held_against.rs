//! Which figures of results are held against each other, and what counts as noise.

use judge::compare::{LEAST_MARGIN, Metric, Rules};
use plan::unit::Percent;
use report::compared::Options;

use crate::failure::Failure;

/// Figures, phases and the margin, as `uaperf compare` and `uaperf results trend` take them.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct HeldAgainst {
    /// Which figures, such as p99, rate, service.p50, cpu-per-request [default: times, CPU for each request, the rate of closed loops]
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    pub metric: Vec<Metric>,
    /// Only phases of this name; several as --phase a,b
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    phase: Vec<String>,
    /// Differences of less are noise
    #[arg(long, value_name = "PERCENT", default_value_t = Percent::from_fraction(LEAST_MARGIN))]
    margin: Percent,
}

impl HeldAgainst {
    /// What a comparison takes; an error where the margin is none.
    pub fn options(&self, single_run: bool) -> Result<Options, Failure> {
        let margin = self.margin.fraction();
        if !(0.0..1.0).contains(&margin) {
            let what = format!("--margin {}: want less than 100%", self.margin);
            return Err(Failure::usage(what));
        }
        Ok(Options {
            metrics: self.metric.clone(),
            phases: self.phase.clone(),
            rules: Rules { margin, single_run },
        })
    }
}
