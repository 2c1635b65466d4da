//! The objective, and where to look for the load that meets it.

use judge::capacity::Bounds;
use plan::unit::{Percent, Rate};
use plan::{Arrival, Grow, Phase, Threshold, Work};

use crate::failure::Failure;

/// The objective, and where to look for the load that meets it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Search")]
pub struct Args {
    /// The objective, such as 'p99<10ms' [default: errors=0, or loss=0 of subscriptions; a rate has to be
    /// kept up with besides]
    #[arg(long, value_name = "THRESHOLD", value_delimiter = ',')]
    slo: Vec<Threshold>,
    /// What grows: rate (of all sessions together), sessions, in-flight, batch (of a request);
    /// where there are items, items and subscriptions
    #[arg(long, value_name = "WHAT", default_value_t = Grow::Rate)]
    pub grow: Grow,
    /// The first load, such as 100/s or 4 [default: as the other options say, 100/s for a rate]
    #[arg(long, value_name = "LOAD")]
    from: Option<String>,
    /// No more than this
    #[arg(long, value_name = "LOAD")]
    to: Option<String>,
    /// How narrow the range has to be in which the knee is with a chance of 90 %
    #[arg(long, value_name = "PERCENT", default_value = "2%")]
    precision: Percent,
    /// How often loads right below the knee and right above it are tried, at least
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    confirm: u32,
    /// Give up after so many trials
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: u32,
}

/// Requests per second of all sessions, when nothing is said.
const RATE: f64 = 100.0;

impl Args {
    /// The objective.
    pub fn objective(&self, phase: &Phase) -> Vec<Threshold> {
        let subscribed = matches!(phase.work, Work::Subscribe(_));
        match self.slo.as_slice() {
            [] if subscribed => "loss=0".parse().into_iter().collect(),
            [] => "errors=0".parse().into_iter().collect(),
            given => given.to_vec(),
        }
    }

    /// Where to look.
    pub fn bounds(&self, phase: &Phase, targets: usize) -> anyhow::Result<Bounds> {
        if self.grow == Grow::Rate && matches!(phase.work, Work::Subscribe(_)) {
            return Err(
                Failure::usage("--grow rate: subscriptions have none of their own")
                    .hint("want --grow items, subscriptions or sessions")
                    .into(),
            );
        }
        let closed = self.grow != Grow::Rate
            && !phase.arrival.is_open()
            && !matches!(phase.work, Work::Subscribe(_));
        if closed && self.slo.is_empty() {
            return Err(Failure::usage(format!(
                "--grow {} needs an objective: in a closed loop the server sets the rate",
                self.grow
            ))
            .hint("add --slo 'p99<10ms'")
            .into());
        }
        let start = match &self.from {
            Some(text) => self.load("--from", text)?,
            None => self.first(phase, targets),
        };
        let most = self.to.as_ref().map(|text| self.load("--to", text));
        let most = most.transpose()?;
        if most.is_some_and(|most| most < start) {
            return Err(Failure::usage(format!(
                "--to {}: want {} or more, where the search begins",
                self.to.as_deref().unwrap_or_default(),
                self.grow.show(start)
            ))
            .into());
        }
        let whole = self.grow.is_whole();
        let bounds = Bounds::from(start);
        Ok(Bounds {
            least: if whole { 1.0 } else { bounds.least },
            most,
            precision: self.precision.fraction(),
            whole,
            confirm: self.confirm,
            trials: self.trials,
            seed: phase.seed,
            ..bounds
        })
    }

    fn load(&self, option: &str, text: &str) -> anyhow::Result<f64> {
        let wrong = |want: &str| Failure::usage(format!("{option} {text}: want {want}"));
        if self.grow.is_whole() {
            let whole: u32 = text.parse().map_err(|_| wrong("a whole number"))?;
            return match whole {
                0 => Err(wrong("1 or more").into()),
                whole => Ok(f64::from(whole)),
            };
        }
        let rate: Rate = text.parse().map_err(|_| wrong("a rate, such as 100/s"))?;
        Ok(rate.as_f64())
    }

    fn first(&self, phase: &Phase, targets: usize) -> f64 {
        let (items, subscriptions) = match &phase.work {
            Work::Subscribe(it) => (it.items, it.subscriptions),
            Work::Items(it) => (it.items, it.subscriptions),
            _ => (None, 1),
        };
        let whole = match self.grow {
            Grow::Rate => {
                let sessions = f64::from(phase.sessions) * targets as f64;
                return match &phase.arrival {
                    Arrival::Open(pace) => pace.mean_rate() * sessions,
                    Arrival::Closed { .. } => RATE,
                };
            }
            Grow::Sessions => phase.sessions,
            Grow::InFlight => phase.in_flight(),
            Grow::Batch => phase.work.batch(),
            Grow::Subscriptions => subscriptions,
            Grow::Items => items.unwrap_or(1),
        };
        f64::from(whole.max(1))
    }
}
