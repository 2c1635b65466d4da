//! Percentiles that somebody asks for, of results that were kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use judge::needed_for;
use plan::unit::duration::show_ns;
use record::run::Phase;
use record::{Histogram, Measure, hgrm};
use report::Named;
use serde::Serialize;

use crate::failure::Failure;
use crate::results;
use crate::screen::{self, Out};

/// `p99.9` or `99.9`, as a share.
pub fn percentile(text: &str) -> Result<f64, String> {
    let number = text.strip_prefix('p').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err("want p50, p99.9 or another one, more than 0 and up to 100".to_owned()),
    }
}

/// Times of a phase.
#[derive(Debug, Serialize)]
struct Times<'a> {
    file: &'a str,
    phase: &'a str,
    measure: &'static str,
    count: u64,
    /// By their names; none where there are too few values.
    percentiles_ns: BTreeMap<String, Option<u64>>,
    max_ns: Option<u64>,
    #[serde(skip)]
    shown: Vec<String>,
}

/// All times of a phase that there are, in the order of their definition.
fn times(phase: &Phase) -> impl Iterator<Item = (&'static str, &Histogram)> {
    let all = Measure::ALL.iter().map(|it| it.name());
    let all = all.map(|name| (name, phase.total.histogram(name)));
    all.filter(|(_, histogram)| !histogram.is_empty())
}

fn name(share: f64) -> String {
    let percent = format!("{:.6}", share * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// A percentile that enough values are known of. The largest is one whatever there is.
fn known(histogram: &Histogram, share: f64) -> Option<u64> {
    let enough = share >= 1.0 || histogram.count() as f64 >= needed_for(share);
    enough.then(|| histogram.quantile(share)).flatten()
}

/// Prints them.
pub fn print(mut out: Out, runs: &[Named], wanted: &[f64], as_json: bool) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut all = Vec::new();
    for it in runs {
        for phase in &it.run.phases {
            for (measure, histogram) in times(phase) {
                let found = wanted
                    .iter()
                    .map(|share| (name(*share), known(histogram, *share)));
                let found: Vec<_> = found.collect();
                let shown = found
                    .iter()
                    .map(|(_, ns)| ns.map_or_else(|| "n/a".to_owned(), show_ns));
                all.push(Times {
                    file: &it.name,
                    phase: &phase.name,
                    measure,
                    count: histogram.count(),
                    shown: shown.collect(),
                    percentiles_ns: found.iter().cloned().collect(),
                    max_ns: histogram.max(),
                });
            }
        }
    }
    if as_json {
        return screen::json(&mut out, &all);
    }
    let heads: Vec<String> = wanted.iter().map(|share| name(*share)).collect();
    let mut text = String::new();
    let mut of = ("", "");
    for it in &all {
        if of != (it.file, it.phase) {
            of = (it.file, it.phase);
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}  {}", it.file, it.phase);
            let _ = write!(text, "  {:<14}{:>10}", "", "count");
            heads.iter().for_each(|head| {
                let _ = write!(text, "{head:>11}");
            });
            let _ = writeln!(text, "{:>11}", "max");
        }
        let _ = write!(text, "  {:<14}{:>10}", it.measure, it.count);
        for time in &it.shown {
            let _ = write!(text, "{time:>11}");
        }
        let max = it.max_ns.map_or_else(|| "n/a".to_owned(), show_ns);
        let _ = writeln!(text, "{max:>11}");
    }
    out.write_all(text.as_bytes())
}

/// Writes a table of each time of each phase.
pub fn write_tables(folder: &Path, runs: &[Named]) -> Result<(), Failure> {
    let mut written = 0;
    for it in runs {
        // With its folder: files of several may have one name.
        let stem = Path::new(&it.name).with_extension("");
        for (at, phase) in it.run.phases.iter().enumerate() {
            for (measure, histogram) in times(phase) {
                let name = format!("{}-{}-{}-{measure}", stem.display(), at + 1, phase.name);
                let file = folder.join(format!("{}.hgrm", results::in_file_names(&name)));
                let table = hgrm::table(histogram)
                    .map_err(|error| Failure::new(format!("{}: {error}", it.name)))?;
                results::write(&file, &table)?;
                written += 1;
            }
        }
    }
    match written {
        0 => Err(Failure::new("--hgrm: no times were measured here")),
        _ => Ok(()),
    }
}
