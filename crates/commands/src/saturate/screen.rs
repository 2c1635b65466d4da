//! What a person sees of a search: a line for each trial, then the curve and its knee.

use std::fmt;

use judge::capacity::{Answer, Capacity, End, Search};
use plan::unit::{Rate, duration, share};
use plan::{Grow, Stat, Threshold};
use record::average::median_ns;
use record::run::{Bottleneck, Kind};

use super::search_file::Trial;

/// What is looked for, and the head of the list of trials.
pub fn head(grow: Grow, objective: &[Threshold]) -> String {
    let objective: Vec<String> = objective.iter().map(ToString::to_string).collect();
    let what = match grow {
        Grow::Rate => "the highest rate that meets",
        Grow::Sessions => "the most sessions that meet",
        Grow::InFlight => "the most requests in flight that meet",
        Grow::Batch => "the largest batch that meets",
        Grow::Subscriptions => "the most subscriptions that meet",
        Grow::Items => "the most items that meet",
    };
    format!(
        "{what} {}\n\n{:>14}{:>11}{:>10}{:>10}{:>8}{:>9}  {:<18}{}\n",
        objective.join(", "),
        grow.name(),
        "per second",
        "p50",
        "p99",
        "errors",
        "server",
        "verdict",
        "objective"
    )
}

/// A trial.
pub fn trial(grow: Grow, trial: &Trial) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(na, duration::show_ns);
    format!(
        "{:>14}{:>11}{:>10}{:>10}{:>8}{:>9}  {:<18}{}\n",
        load(grow, trial.load),
        trial.rate_per_s.map_or_else(na, Rate::show),
        time(trial.p50_ns),
        time(trial.p99_ns),
        trial.errors,
        trial.server_cores.map_or_else(na, share::show_cores),
        trial.verdict.kind,
        answer(trial)
    )
}

fn answer(trial: &Trial) -> String {
    let answer = match trial.answer {
        Answer::Met => "met",
        Answer::Missed => "missed",
        Answer::Unsteady => "not told: unsteady",
        Answer::Generator => "not told: generator",
    };
    match &trial.why {
        Some(why) => format!("{answer}: {why}"),
        None => answer.to_owned(),
    }
}

fn na() -> String {
    "n/a".to_owned()
}

fn load(grow: Grow, load: f64) -> String {
    match grow {
        Grow::Rate => Rate::show(load),
        _ => format!("{load}"),
    }
}

/// The end of a range: of whole loads, with the part of one that is open.
fn bound(grow: Grow, at: f64) -> String {
    match grow {
        Grow::Rate => Rate::show(at),
        _ => format!("{:.0}", at.floor()),
    }
}

/// The end of a search.
pub struct SearchEnd<'a> {
    pub grow: Grow,
    pub objective: &'a [Threshold],
    pub search: &'a Search,
    pub capacity: Capacity,
    pub trials: &'a [Trial],
    /// What limited the server at the smallest load that was too much.
    pub bottleneck: Option<&'a Bottleneck>,
    /// Why there cannot be more load, if that ended it.
    pub too_much: Option<&'a str>,
    /// How many clients there are, where each does one thing at a time and their rate grows.
    pub clients: Option<u64>,
}

impl fmt::Display for SearchEnd<'_> {
    /// What was found, what gave out first, the curve.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out)?;
        self.capacity(out)?;
        self.gave_out(out)?;
        self.failed(out)?;
        curve(out, self.grow, self.trials)
    }
}

impl SearchEnd<'_> {
    fn show(&self, at: Option<f64>) -> String {
        at.map_or_else(na, |at| self.grow.show(at))
    }

    fn votes(&self, at: Option<f64>) -> String {
        let mut points = self.search.points().iter();
        let point = points.find(|it| Some(it.load) == at);
        point.map_or_else(String::new, |it| {
            let trials = it.met + it.missed + it.unsteady;
            format!("met in {} of {trials} trials", it.met)
        })
    }

    fn open(&self) -> String {
        let (low, high) = (self.capacity.low, self.capacity.high);
        let ends = [low, high].map(|at| at.map_or_else(na, |at| bound(self.grow, at)));
        ends.join(" to ")
    }

    fn capacity(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.capacity;
        let (holds, fails) = (self.show(found.holds), self.show(found.fails));
        match found.end {
            End::Knee => {
                let (knee, open, trials) =
                    (self.show(found.knee), self.open(), self.search.trials());
                writeln!(
                    out,
                    "CAPACITY    {knee}; {open} with a chance of 90 %, by {trials} trials"
                )?;
                writeln!(out, "below       {holds}, {}", self.votes(found.holds))?;
                writeln!(out, "above       {fails}, {}", self.votes(found.fails))
            }
            End::Most if self.too_much.is_some() => {
                writeln!(out, "CAPACITY    at least {holds}: there cannot be more")
            }
            End::Most => writeln!(
                out,
                "CAPACITY    at least {holds}, where the search was to end (--to)"
            ),
            End::Least if self.trials.iter().all(Trial::failed) => {
                writeln!(out, "CAPACITY    none: nothing was done at {fails} already")
            }
            End::Least => writeln!(
                out,
                "CAPACITY    none: {fails} misses the objective already"
            ),
            End::Generator if found.holds.is_none() => writeln!(
                out,
                "CAPACITY    not known: the generator was the limit from the first load on"
            ),
            End::Generator => writeln!(
                out,
                "CAPACITY    at least {holds}; above it the generator was the limit"
            ),
            End::Unclear if found.fails.is_none() => {
                let trials = self.search.trials();
                writeln!(
                    out,
                    "CAPACITY    not reached in {trials} trials (--trials): {holds} held last"
                )
            }
            End::Unclear => {
                let (open, trials) = (self.open(), self.search.trials());
                writeln!(
                    out,
                    "CAPACITY    not as closely as asked for in {trials} trials: {open} with a chance of 90 %; \
                     {holds} held last"
                )
            }
        }
    }

    /// The lowest load above all that held whose trial says more than that the objective was missed.
    fn gave_out(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = self.too_much {
            writeln!(out, "limit       {why}")?;
        }
        let holds = self.capacity.holds;
        let above = |trial: &&Trial| holds.is_none_or(|holds| trial.load > holds);
        let trials = self.trials.iter();
        // What told nothing is beside the point, but where it is all that there is to tell.
        let told = |trial: &&Trial| match self.capacity.end {
            End::Generator => trial.answer != Answer::Met,
            _ => trial.answer == Answer::Missed,
        };
        let mut missed: Vec<&Trial> = trials.filter(above).filter(told).collect();
        missed.sort_by(|a, b| a.load.total_cmp(&b.load));
        if missed.is_empty() {
            return Ok(());
        }
        let did = missed.iter().find_map(|trial| {
            let why = trial.why.as_ref().filter(|why| why.is_of_server())?;
            Some((self.grow.show(trial.load), why))
        });
        if let Some((at, why)) = &did {
            writeln!(out, "gave out    at {at}: the server {why}")?;
        }
        let limited = missed.iter().find(|it| it.verdict.kind != Kind::Valid);
        match limited {
            Some(trial) => {
                let at = self.grow.show(trial.load);
                let head = if did.is_some() { "" } else { "gave out" };
                writeln!(out, "{head:<12}at {at}: {}", trial.verdict.kind)?;
                for evidence in &trial.verdict.evidence {
                    writeln!(out, "            {evidence}")?;
                }
            }
            None if did.is_none() => writeln!(
                out,
                "gave out    the objective alone: server and generator kept up with all that was tried"
            )?,
            None => {}
        }
        if let Some(found) = self.bottleneck {
            write!(out, "{}", report::limited_by_row(found))?;
        }
        match self.clients {
            Some(1) => writeln!(
                out,
                "            one client does one round at a time: more --sessions may do more"
            ),
            Some(n) => writeln!(
                out,
                "            {n} clients do one round at a time each: more --sessions may do more"
            ),
            None => Ok(()),
        }
    }
}

impl SearchEnd<'_> {
    /// Where most requests failed of all that met an objective without a word on errors. A server that turns
    /// requests away at once takes any load within such an objective.
    fn failed(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_errors = |it: &Threshold| matches!(it.stat, Stat::Errors | Stat::ErrorShare);
        if self.objective.iter().any(of_errors) {
            return Ok(());
        }
        let met = self.trials.iter().filter(|it| it.answer == Answer::Met);
        let worst = met.max_by_key(|it| it.errors).filter(|it| it.errors > 0);
        worst.map_or(Ok(()), |it| {
            let (errors, at) = (it.errors, self.grow.show(it.load));
            writeln!(
                out,
                "errors      {errors} at {at}, which met the objective all the same: add errors=0 to --slo if they matter"
            )
        })
    }
}

/// The width of the longest bar.
const BAR: usize = 40;

/// The 99th percentile over the load, each the median of its trials.
fn curve(out: &mut fmt::Formatter<'_>, grow: Grow, trials: &[Trial]) -> fmt::Result {
    let mut points: Vec<(f64, Vec<u64>)> = Vec::new();
    let mut sorted: Vec<&Trial> = trials.iter().collect();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    for trial in sorted {
        let p99 = trial.p99_ns;
        match points.last_mut() {
            Some((load, p99s)) if *load == trial.load => p99s.extend(p99),
            _ => points.push((trial.load, p99.into_iter().collect())),
        }
    }
    let medians: Vec<(f64, u64)> = points
        .into_iter()
        .filter_map(|(load, p99s)| Some((load, median_ns(p99s)?)))
        .collect();
    let logarithm = |ns: u64| (ns.max(1) as f64).log10();
    let least = medians
        .iter()
        .map(|(_, ns)| logarithm(*ns))
        .fold(f64::MAX, f64::min);
    let most = medians
        .iter()
        .map(|(_, ns)| logarithm(*ns))
        .fold(0.0, f64::max);
    writeln!(out, "\np99 over {} (bars are logarithmic)", grow.name())?;
    for (at, p99) in medians {
        let share = (logarithm(p99) - least) / (most - least).max(0.1);
        let bar = "█".repeat(1 + (share * (BAR - 1) as f64).round() as usize);
        let text = duration::show_ns(p99);
        writeln!(out, "{:>14}{text:>10}  {bar}", load(grow, at))?;
    }
    Ok(())
}
