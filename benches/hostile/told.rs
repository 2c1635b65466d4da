//! What is told of an attack: a paragraph when it is over, and a row of the table at the end.

use judge::Slope;
use plan::unit::Bytes;

use crate::attackers::Look;

/// As much as this, and the good session has been hurt: anything finer is decided by the noise of a shared machine.
pub const MOST: f64 = 10.0;

/// The median of some seconds over that of others, and where it lies with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    ratio: f64,
    interval: (f64, f64),
}

pub fn median(values: &[f64]) -> f64 {
    ranked(values).map_or(f64::NAN, |(_, median, _)| median)
}

/// The median, and the order statistics that it lies between with 95 % confidence, by the binomial distribution.
fn ranked(values: &[f64]) -> Option<(f64, f64, f64)> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let (n, last) = (values.len() as f64, values.len().checked_sub(1)?);
    let at = |rank: f64| {
        values
            .get((rank.max(0.0).round() as usize).min(last))
            .copied()
    };
    let (middle, off) = ((n - 1.0) / 2.0, 0.98 * n.sqrt());
    Some((at(middle - off)?, at(middle)?, at(middle + off)?))
}

impl Ratio {
    /// Of seconds without and with.
    pub fn of(calm: &[f64], hit: &[f64]) -> Self {
        let unknown = (f64::NAN, f64::NAN, f64::NAN);
        let [calm, hit] = [calm, hit].map(|seconds| ranked(seconds).unwrap_or(unknown));
        let ratio = hit.1 / calm.1;
        // Errors of both, on the scale of logarithms.
        let off = |hit: f64, calm: f64| hit.ln().hypot(calm.ln()).exp();
        let below = off(hit.0 / hit.1, calm.2 / calm.1);
        let above = off(hit.2 / hit.1, calm.0 / calm.1);
        Self {
            ratio,
            interval: (ratio / below, ratio * above),
        }
    }

    fn show(&self) -> String {
        let (low, high) = self.interval;
        match self.ratio.is_nan() {
            true => "n/a".to_owned(),
            false => format!("{:.2} ({low:.2} to {high:.2})", self.ratio),
        }
    }

    /// Whether it is at most [`MOST`], as far as that can be told.
    fn verdict(&self) -> &'static str {
        let (low, high) = self.interval;
        if high <= MOST {
            "yes"
        } else if low > MOST {
            "NO"
        } else {
            "cannot tell"
        }
    }
}

/// Who is attacked while the good session reads.
#[derive(Debug, Clone, Copy)]
pub enum Attacked {
    Nobody,
    /// Another plant, with the attackers' processors.
    Another,
    /// The plant that it reads from.
    Plant,
}

impl Attacked {
    pub const ALL: [Self; 3] = [Self::Nobody, Self::Another, Self::Plant];

    pub fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Another => "another",
            Self::Plant => "plant",
        }
    }
}

/// 99th percentiles of seconds that the host left alone, in nanoseconds.
#[derive(Debug, Default)]
pub struct Seen([Vec<f64>; Attacked::ALL.len()]);

impl Seen {
    pub fn of(&mut self, attacked: Attacked) -> &mut Vec<f64> {
        let Self([nobody, another, plant]) = self;
        match attacked {
            Attacked::Nobody => nobody,
            Attacked::Another => another,
            Attacked::Plant => plant,
        }
    }

    /// In microseconds.
    fn medians(&self) -> [f64; Attacked::ALL.len()] {
        self.0.each_ref().map(|seconds| median(seconds) / 1e3)
    }

    /// The plant attacked over nobody, and over another.
    fn ratios(&self) -> [Ratio; 2] {
        let Self([nobody, another, plant]) = self;
        [nobody, another].map(|others| Ratio::of(others, plant))
    }

    /// Seconds of whatever was seen least.
    pub fn fewest(&self) -> usize {
        self.0.iter().map(Vec::len).min().unwrap_or(0)
    }
}

/// By how much something rises with each thousand attackers.
#[derive(Debug, Clone, Copy)]
pub struct Rise(Option<Slope>);

impl Rise {
    /// Of what was seen.
    pub fn of(looks: &[Look], figure: fn(&Look) -> Option<f64>) -> Self {
        let points = looks
            .iter()
            .filter_map(|look| Some((look.cycles as f64, figure(look)?)));
        Self(Slope::of(&points.collect::<Vec<_>>()))
    }

    fn show(&self, show: &dyn Fn(f64) -> String) -> String {
        let Some(Slope { each, error }) = self.0 else {
            return "n/a".to_owned();
        };
        let rises = if each - error > 0.0 { ", RISES" } else { "" };
        format!("{} ± {}{rises}", show(each * 1e3), show(error * 1e3))
    }
}

/// What the plant held at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// Resident bytes.
    pub rss: Option<u64>,
    /// Open files.
    pub descriptors: Option<u64>,
}

impl Held {
    /// What a sample says of it.
    pub fn of(sample: &observe::Sample) -> Self {
        Self {
            rss: sample.rss_bytes.clone().ok(),
            descriptors: sample.descriptors.clone().ok(),
        }
    }
}

/// All of one attack.
pub struct Told {
    pub kind: &'static str,
    pub what: &'static str,
    pub seen: Seen,
    /// Of the good session.
    pub errors: u64,
    pub cycles: u64,
    /// Connections and sessions that attackers did not get.
    pub refused: u64,
    pub memory: Rise,
    pub descriptors: Rise,
    pub before: Held,
    pub after: Held,
}

fn bytes(n: f64) -> String {
    match n < 0.0 {
        true => format!("-{}", Bytes::show(-n)),
        false => Bytes::show(n),
    }
}

fn known<T>(figure: Option<T>, show: impl Fn(T) -> String) -> String {
    figure.map_or_else(|| "n/a".to_owned(), show)
}

impl Held {
    fn memory(self) -> String {
        known(self.rss, |n| Bytes::show(n as f64))
    }

    fn open(self) -> String {
        known(self.descriptors, |n| n.to_string())
    }
}

impl Told {
    /// Whether the good session had errors, or was slower by an order of magnitude than with nobody attacked and than
    /// with another one attacked.
    pub fn fails(&self) -> bool {
        self.errors > 0 || self.seen.ratios().iter().all(|ratio| ratio.ratio >= MOST)
    }

    /// A paragraph.
    pub fn text(&self) -> String {
        let Self {
            kind, what, cycles, ..
        } = self;
        let [nobody, another, plant] = self.seen.medians();
        let [all, own] = self.seen.ratios();
        format!(
            "{kind}: {what}\n  \
             p99           {:.0} µs without, {:.0} µs with, ratio {}, under {MOST:.0}: {}; {} errors of the good session\n  \
             of which      {:.0} µs with the same elsewhere: the plant's part is {}, under {MOST:.0}: {}\n  \
             1,000 cycles  memory {}, descriptors {} ({cycles} cycles, {} refused)\n  \
             afterwards    memory {} before, {} after; descriptors {} before, {} after\n",
            nobody,
            plant,
            all.show(),
            all.verdict(),
            self.errors,
            another,
            own.show(),
            own.verdict(),
            self.memory.show(&bytes),
            self.descriptors.show(&|n| format!("{n:.2}")),
            self.refused,
            self.before.memory(),
            self.after.memory(),
            self.before.open(),
            self.after.open(),
        )
    }

    /// A row of the table.
    pub fn row(&self) -> String {
        let [nobody, another, plant] = self.seen.medians();
        let [all, own] = self.seen.ratios();
        format!(
            "| {} | {:.0} | {:.0} | {:.0} | {} {} | {} {} | {} | {} | {} | {} | {} | {} to {} | {} to {} |",
            self.kind,
            nobody,
            another,
            plant,
            all.show(),
            all.verdict(),
            own.show(),
            own.verdict(),
            self.errors,
            self.cycles,
            self.refused,
            self.memory.show(&bytes),
            self.descriptors.show(&|n| format!("{n:.2}")),
            self.before.memory(),
            self.after.memory(),
            self.before.open(),
            self.after.open(),
        )
    }
}

/// Above the rows.
pub const HEAD: &str = "\
| attack | p99 without, µs | elsewhere, µs | with, µs | with over without (95 %), under 10 | with over elsewhere (95 %), under 10 | errors | cycles | refused | memory per 1,000 (95 %) | descriptors per 1,000 (95 %) | memory before to after | descriptors |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";
