//! What is told of an attack: a paragraph when it is over, and a row of the table at the end.

use judge::Slope;
use plan::unit::Bytes;

use crate::attackers::Look;

/// More than this, and the good session has been hurt.
pub const MOST: f64 = 1.2;

/// The geometric mean of ratios, and where it lies with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The mean.
    pub mean: f64,
    /// Lower end; nothing with a single ratio.
    pub interval: Option<(f64, f64)>,
}

/// Two-sided 95 % quantiles of Student's t distribution for 1 to 10 degrees of freedom.
const T: [f64; 10] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];

impl Ratio {
    /// Of at least one. Logarithms are what is spread evenly: half and double are as far from one.
    pub fn of(ratios: &[f64]) -> Self {
        let n = ratios.len().max(1) as f64;
        let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / n;
        let off = ratios.iter().map(|ratio| (ratio.ln() - mean).powi(2));
        let interval = (ratios.len() > 1).then(|| {
            let t = T.get(ratios.len() - 2).copied().unwrap_or(2.228);
            let error = t * (off.sum::<f64>() / (n - 1.0) / n).sqrt();
            ((mean - error).exp(), (mean + error).exp())
        });
        Self {
            mean: mean.exp(),
            interval,
        }
    }

    fn show(&self) -> String {
        match self.interval {
            Some((low, high)) => format!("{:.2} ({low:.2} to {high:.2})", self.mean),
            None => format!("{:.2}", self.mean),
        }
    }

    /// Whether it is at most [`MOST`], as far as that can be told.
    fn verdict(&self) -> &'static str {
        match self.interval {
            Some((_, high)) if high <= MOST => "yes",
            Some((low, _)) if low > MOST => "NO",
            _ => "cannot tell",
        }
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
    /// Medians of the 99th percentiles, in nanoseconds.
    pub calm: f64,
    pub hit: f64,
    pub ratio: Ratio,
    /// Of the good session.
    pub errors: u64,
    pub cycles: u64,
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
    /// A paragraph.
    pub fn text(&self) -> String {
        let Self {
            kind, what, cycles, ..
        } = self;
        format!(
            "{kind}: {what}\n  \
             p99           {:.0} µs without, {:.0} µs with, ratio {}, under {MOST:.2}: {}; {} errors of the good session\n  \
             1,000 cycles  memory {}, descriptors {} ({cycles} cycles)\n  \
             afterwards    memory {} before, {} after; descriptors {} before, {} after\n",
            self.calm / 1e3,
            self.hit / 1e3,
            self.ratio.show(),
            self.ratio.verdict(),
            self.errors,
            self.memory.show(&bytes),
            self.descriptors.show(&|n| format!("{n:.2}")),
            self.before.memory(),
            self.after.memory(),
            self.before.open(),
            self.after.open(),
        )
    }

    /// A row of the table.
    pub fn row(&self) -> String {
        format!(
            "| {} | {:.0} | {:.0} | {} | {} | {} | {} | {} | {} | {} to {} | {} to {} |",
            self.kind,
            self.calm / 1e3,
            self.hit / 1e3,
            self.ratio.show(),
            self.ratio.verdict(),
            self.errors,
            self.cycles,
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
| attack | p99 without, µs | with, µs | ratio (95 %) | under 1.20 | errors | cycles | memory per 1,000 (95 %) | descriptors per 1,000 (95 %) | memory before to after | descriptors |
|---|---|---|---|---|---|---|---|---|---|---|";
