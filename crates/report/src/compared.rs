//! A comparison of two sets of runs: on a screen, and for the page.

use judge::change::Changes;
use judge::compare::{
    Comparison, Direction, FAILURES, Failure, Method, Metric, Outcome, Row, Rules, Sides, broken,
    compare_phases, doubts, is_closed, usual,
};
use record::Run;

use crate::hosts::{Agent, of_side};
use crate::metric::{changed_by, kind, probability};
use crate::page::{Page, WIDTH, clean, counted, cut};
use crate::points::{Named, Points, labelled, names, phases};
use crate::style::{Style, TextStyle};
use crate::trend::{Occasion, Trend, occasion, says_nothing};

/// What was compared, and what came of it.
#[derive(Debug)]
pub struct Compared {
    /// Names of both sides.
    pub sides: (String, String),
    /// What makes them hard to compare.
    pub doubts: Vec<String>,
    /// Agents of fleets, on either side.
    pub agents: Vec<Agent>,
    /// Each point and phase.
    pub points: Vec<At>,
    /// Points that one side has and the other has not.
    pub alone: Vec<String>,
    /// What failed, or was not there, on either side.
    pub failures: Vec<Failure>,
    /// Whether one run each was allowed to be called better or worse.
    pub single_run: bool,
    /// How metrics went before.
    pub history: Vec<Trend>,
}

/// A point and a phase of the comparison.
#[derive(Debug)]
pub struct At {
    /// Which; empty if there is but one.
    pub label: String,
    /// Runs of both sides.
    pub runs: (usize, usize),
    /// The metrics.
    pub rows: Vec<Row>,
    /// What failed in it.
    pub failures: Vec<Failure>,
}

impl At {
    fn in_pairs(&self) -> bool {
        let methods = self.rows.iter().map(|row| row.comparison.method);
        methods.into_iter().any(|it| it == Method::Pairs)
    }

    /// Of how many runs it is.
    pub(crate) fn of_runs(&self) -> String {
        match self.in_pairs() {
            true => format!("{} pairs of runs that went at the same time", self.runs.0),
            false => format!("{} + {} runs", self.runs.0, self.runs.1),
        }
    }
}

/// What is compared, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The metrics; the usual ones if none are named.
    pub metrics: Vec<Metric>,
    /// The phases; all if none are named.
    pub phases: Vec<String>,
    /// What counts.
    pub rules: Rules,
}

impl Options {
    pub(crate) fn wants(&self, phase: &str) -> bool {
        self.phases.is_empty() || self.phases.iter().any(|it| it == phase)
    }
}

/// A point and phase that both sides have.
struct Place<'a> {
    label: String,
    phase: &'a str,
    sides: Sides<'a>,
    values: &'a [String],
}

/// Compares: points with the same values of what was varied, phases of the same name. `same` holds runs of
/// one and the same thing; `history` sets of runs from before, each with its name.
pub fn compared(
    base: (&str, &[Named]),
    new: (&str, &[Named]),
    same: &[Named],
    history: &[(String, Vec<Named>)],
    options: &Options,
) -> Compared {
    fn runs(side: &[Named]) -> Vec<&Run> {
        side.iter().map(|it| &it.run).collect()
    }
    let mut compared = Compared {
        sides: (base.0.to_owned(), new.0.to_owned()),
        doubts: twice(base.1, new.1)
            .into_iter()
            .chain(doubts(&runs(base.1), &runs(new.1)))
            .collect(),
        agents: [of_side("base", base.1), of_side("new", new.1)].concat(),
        points: Vec::new(),
        alone: Vec::new(),
        failures: Vec::new(),
        single_run: options.rules.single_run,
        history: Vec::new(),
    };
    let (left, right, third) = (Points::of(base.1), Points::of(new.1), Points::of(same));
    let mut places = Vec::new();
    for point in &left.points {
        let label = point.label(&left.axes);
        let other = right
            .points
            .iter()
            .find(|it| it.label(&right.axes) == label);
        let Some(other) = other else {
            compared.alone.push(format!("{}: {label}", base.0));
            compared.failures.push(Failure {
                worse: false,
                told: format!(
                    "new has no {}",
                    if label.is_empty() {
                        "such point"
                    } else {
                        &label
                    }
                ),
            });
            continue;
        };
        let alike = third
            .points
            .iter()
            .find(|it| it.label(&third.axes) == label);
        for phase in names(&point.runs) {
            if !options.wants(phase) {
                continue;
            }
            let (x, y) = (phases(&point.runs, phase), phases(&other.runs, phase));
            if x.is_empty() || y.is_empty() {
                continue;
            }
            let z = alike.map_or_else(Vec::new, |it| phases(&it.runs, phase));
            let closed = point
                .runs
                .iter()
                .chain(&other.runs)
                .all(|it| is_closed(&it.run));
            let metrics = match options.metrics.as_slice() {
                [] => usual(&[x.clone(), y.clone()].concat(), closed),
                named => named.to_vec(),
            };
            let several = names(&point.runs).len() > 1;
            places.push(Place {
                label: labelled(&[&label, if several { phase } else { "" }]),
                phase,
                sides: Sides {
                    base: x,
                    new: y,
                    same: z,
                    metrics,
                },
                values: &point.values,
            });
        }
    }
    for point in &right.points {
        let label = point.label(&right.axes);
        if !left.points.iter().any(|it| it.label(&left.axes) == label) {
            compared.alone.push(format!("{}: {label}", new.0));
        }
    }
    let changes = Changes::default();
    let sides: Vec<Sides<'_>> = places.iter().map(|it| it.sides.clone()).collect();
    for (place, found) in places.iter().zip(compare_phases(&sides, &options.rules)) {
        for row in &found.rows {
            let mut occasions = earlier(place, row.metric, history, &left.axes);
            if occasions.is_empty() {
                continue;
            }
            let it = &row.comparison;
            let sides = [("base", it.means.0, &it.base), ("new", it.means.1, &it.new)];
            occasions.extend(sides.map(|(name, mean, runs)| Occasion {
                name: name.to_owned(),
                mean,
                runs: runs.len(),
            }));
            let (label, margin) = (&place.label, options.rules.margin);
            let trend = Trend::new(label, row.metric, occasions, &changes, margin);
            compared.history.push(trend);
        }
        compared.points.push(At {
            label: place.label.clone(),
            runs: (place.sides.base.len(), place.sides.new.len()),
            rows: found.rows,
            failures: found.failures,
        });
    }
    // Of phases that did not come about there is nothing to compare.
    if compared.points.iter().all(|at| at.failures.is_empty()) {
        let kinds =
            |side: &[Named]| -> Vec<_> { side.iter().map(|it| it.run.verdict.kind).collect() };
        compared
            .failures
            .extend(broken(&kinds(base.1), &kinds(new.1)));
    }
    compared
}

/// Whether all of these runs, and there are some, are among others: the same files, or copies of them.
pub fn all_among(runs: &[Named], others: &[Named]) -> bool {
    !runs.is_empty() && runs.iter().all(|it| is_among(it, others))
}

fn is_among(it: &Named, others: &[Named]) -> bool {
    others.iter().any(|other| other.run == it.run)
}

/// What there is to say of runs that are counted twice: on both sides, or in several files of one.
fn twice(base: &[Named], new: &[Named]) -> Vec<String> {
    let mut told = Vec::new();
    if all_among(new, base) && all_among(base, new) {
        told.push(
            "both sides are the same runs, compared with themselves: that says nothing of a change"
                .to_owned(),
        );
    } else {
        let shared = new.iter().filter(|it| is_among(it, base)).count();
        if shared > 0 {
            told.push(format!(
                "{shared} of {} of new {} of base, too: that makes the sides more alike than they are",
                counted(new.len() as u64, "run", "runs"),
                if shared == 1 { "is a run" } else { "are runs" }
            ));
        }
    }
    for (side, runs) in [("base", base), ("new", new)] {
        let again = |(n, it): &(usize, &Named)| is_among(it, runs.get(..*n).unwrap_or_default());
        let again = runs.iter().enumerate().filter(again).count();
        if again > 0 {
            told.push(format!(
                "{again} of {} of {side} {} of another: what is counted twice tells nothing new",
                counted(runs.len() as u64, "run", "runs"),
                if again == 1 {
                    "is a copy"
                } else {
                    "are copies"
                }
            ));
        }
    }
    told
}

/// The means of a metric on earlier occasions, in their order.
fn earlier(
    place: &Place<'_>,
    metric: Metric,
    history: &[(String, Vec<Named>)],
    axes: &[String],
) -> Vec<Occasion> {
    let wanted: Vec<(&String, &String)> = axes.iter().zip(place.values).collect();
    let on = |(name, runs): &(String, Vec<Named>)| {
        let all = Points::of(runs);
        let point = all.points.iter().find(|point| {
            let has = |(axis, value): &(&String, &String)| {
                let at = all.axes.iter().position(|it| it == *axis);
                at.is_none_or(|at| point.values.get(at) == Some(*value))
            };
            wanted.iter().all(has)
        })?;
        if says_nothing(&point.runs) {
            return None;
        }
        occasion(name, metric, &phases(&point.runs, place.phase))
    };
    history.iter().filter_map(on).collect()
}

impl Compared {
    /// The metrics that are worse by more than this: 0.05 is five percent.
    pub fn failed(&self, limit: f64) -> Vec<(&At, &Row)> {
        let all = self
            .points
            .iter()
            .flat_map(|at| at.rows.iter().map(move |row| (at, row)));
        all.filter(|(_, row)| row.comparison.fails(limit)).collect()
    }

    /// What failed, with the point where it did.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &Failure)> {
        let whole = self.failures.iter().map(|it| ("", it));
        let each = self.points.iter();
        whole.chain(each.flat_map(|at| at.failures.iter().map(|it| (at.label.as_str(), it))))
    }

    /// What is said first.
    pub fn headline(&self) -> (Outcome, String) {
        let all = || self.points.iter().flat_map(|at| &at.rows);
        let count = |wanted: fn(Outcome) -> bool| {
            all().filter(|row| wanted(row.comparison.outcome)).count() as u64
        };
        let worse = count(|it| it == Outcome::Worse);
        let better = count(|it| it == Outcome::Better);
        let same = count(|it| it == Outcome::Same);
        let open = count(|it| matches!(it, Outcome::CannotTell { .. }));
        let unlike = count(|it| it == Outcome::NotComparable);
        let parts = [
            (worse, "worse"),
            (better, "better"),
            (same, "the same"),
            (open, "cannot be told"),
            (unlike, "not comparable"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"))
            .collect();
        let text = match parts.is_empty() {
            true => "nothing to compare".to_owned(),
            false => format!(
                "{}: {}",
                counted(worse + better + same + open + unlike, "metric", "metrics"),
                parts.join(", ")
            ),
        };
        if self.failures().any(|(_, it)| it.worse) {
            return (Outcome::Worse, text);
        }
        if self.failures().next().is_some() {
            return (Outcome::NotComparable, text);
        }
        let outcome = match (worse, better, same, open) {
            (1.., ..) => Outcome::Worse,
            (0, 1.., _, 0) => Outcome::Better,
            (0, 0, 1.., 0) => Outcome::Same,
            (0, 1.., ..) => Outcome::Better,
            _ => Outcome::CannotTell { runs: None },
        };
        (outcome, text)
    }

    /// What there is to say of single runs, if there are any.
    pub fn single(&self) -> Option<&'static str> {
        let each = || self.points.iter().map(|at| at.runs);
        match self.single_run {
            true if each().any(|it| it == (1, 1)) => Some(SINGLE_RUN),
            false if each().any(|it| it == (1, 1)) => Some(ONE_RUN_EACH),
            _ => each().any(|it| it.0 == 1 || it.1 == 1).then_some(ONE_RUN),
        }
    }
}

const ONE_RUN_EACH: &str = "one run each: intervals come from the samples inside them, and how much one run differs \
     from the next is unknown; so neither is called better. Repeat both, interleaved, or take --single-run";
const SINGLE_RUN: &str = "one run each, called better or worse because --single-run was given: intervals come from the \
     samples inside them, and how much one run differs from the next is unknown";
const ONE_RUN: &str = "one run on one side: there is no interval; repeat both, interleaved";

/// What is said of a row besides its figures.
pub(crate) fn remark(it: &Comparison) -> Option<String> {
    let Outcome::CannotTell { runs } = it.outcome else {
        return None;
    };
    // Holm's correction asks as much of the clearest of them.
    let best = |p: judge::compare::P| (p.least * it.family as f64).min(1.0);
    let least = it.p.filter(|p| p.exact && best(*p) > judge::compare::ALPHA);
    let few = least.map(|p| {
        let among = match it.family {
            0 | 1 => String::new(),
            n => format!(" among {n} figures"),
        };
        format!(
            "{} + {} runs cannot reach p 0.05{among} (at best {:.2})",
            it.base.len(),
            it.new.len(),
            best(p)
        )
    });
    let needed = match (runs, it.interval.is_some()) {
        (Some(n), _) => Some(format!("would take {n} + {n} runs")),
        (None, true) if it.base.len() > 1 => {
            Some("would take more than 1,000 runs on each side".to_owned())
        }
        _ => None,
    };
    let words: Vec<String> = few.into_iter().chain(needed).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

pub(crate) fn ink(outcome: Outcome) -> TextStyle {
    match outcome {
        Outcome::Better | Outcome::Same => TextStyle::Good,
        Outcome::Worse | Outcome::NotComparable => TextStyle::Bad,
        Outcome::CannotTell { .. } => TextStyle::Warning,
    }
}

const METRIC: usize = 18;

/// A comparison on a screen.
pub fn screen(compared: &Compared, style: Style) -> String {
    let mut page = Page::new(style);
    let (outcome, headline) = compared.headline();
    page.line(&format!(
        "{}  {headline}",
        style.ink(ink(outcome), outcome.name().to_uppercase())
    ));
    page.gap();
    page.row("base", &compared.sides.0);
    page.row("new", &compared.sides.1);
    for (label, failure) in compared.failures() {
        let at = if label.is_empty() { "" } else { ": " };
        page.inked_row(
            "failure",
            TextStyle::Bad,
            &format!("{}{at}{}", clean(label), failure.told),
        );
    }
    if let Some(single) = compared.single() {
        page.inked_row("note", TextStyle::Warning, single);
    }
    for doubt in &compared.doubts {
        page.inked_row("note", TextStyle::Warning, doubt);
    }
    for alone in &compared.alone {
        page.inked_row(
            "note",
            TextStyle::Warning,
            &format!("only on one side: {alone}"),
        );
    }
    for at in &compared.points {
        page.gap();
        let runs = at.of_runs();
        let label = match at.label.is_empty() {
            true => runs,
            false => format!("{}, {runs}", clean(&at.label)),
        };
        page.line(&style.ink(TextStyle::Bold, cut(&label, WIDTH)));
        page.line(&format!(
            "{:METRIC$}{:>10}{:>10}{:>9}{:>20}{:>8}{:>7}  {}",
            "", "base", "new", "change", "95 % interval", "p", "delta", "verdict"
        ));
        for row in &at.rows {
            page.line(&line(row, style));
            if let Some(remark) = remark(&row.comparison) {
                page.sentence(2, &remark);
            }
        }
    }
    page.gap();
    for agent in &compared.agents {
        let text = format!("{} {}: {}", agent.side, clean(&agent.name), agent.told());
        page.row("agent", &text);
    }
    if !compared.agents.is_empty() {
        page.gap();
    }
    page.sentence(0, &explained(compared));
    for trend in &compared.history {
        page.row("history", &format!("{}  {}", trend.line(), trend.title()));
        trend.put_changes(&mut page);
    }
    page.finish()
}

fn line(row: &Row, style: Style) -> String {
    let it = &row.comparison;
    let show = |value: f64| kind(row.metric).show(value);
    let change = it.ratio.map_or_else(|| "n/a".to_owned(), changed_by);
    let interval = it.interval.map_or_else(
        || "n/a".to_owned(),
        |(low, high)| {
            format!(
                "{} to {}",
                changed_by(low).trim_end_matches(" %"),
                changed_by(high)
            )
        },
    );
    let p = it.adjusted.or(it.p.map(|p| p.value));
    let p = p.map_or_else(|| "n/a".to_owned(), probability);
    let delta = it
        .delta
        .map_or_else(|| "n/a".to_owned(), |delta| format!("{delta:+.2}"));
    format!(
        "{:METRIC$}{:>10}{:>10}{:>9}{:>20}{:>8}{:>7}  {}",
        cut(&row.metric.to_string(), METRIC - 1),
        cut(&show(it.means.0), 9),
        cut(&show(it.means.1), 9),
        change,
        interval,
        p,
        delta,
        style.ink(ink(it.outcome), it.outcome.name())
    )
}

/// One sentence on how to read it.
pub(crate) fn explained(compared: &Compared) -> String {
    let margins = compared
        .points
        .iter()
        .flat_map(|at| &at.rows)
        .filter(|row| !FAILURES.contains(&row.metric))
        .map(|row| row.comparison.margin);
    let (low, high) = margins.fold((f64::INFINITY, 0.0_f64), |(low, high), it| {
        (low.min(it), high.max(it))
    });
    let margin = match low < high {
        true => format!("{:.1} to {:.1} %", low * 100.0, high * 100.0),
        false => format!("{:.1} %", high * 100.0),
    };
    let means = if compared.single().is_some() {
        "p: Welch's test on effective samples, corrected for all figures of this comparison (Holm)."
    } else if compared.points.iter().any(At::in_pairs) {
        "p: Student's test of the pairs, corrected for all figures of this comparison (Holm); delta: from −1 (new is \
         below base in all pairs) to +1."
    } else {
        "p: exact permutation of runs, corrected for all figures of this comparison (Holm); delta: Cliff's, \
         from −1 (all new runs below all of base) to +1."
    };
    format!(
        "Better or worse needs an interval beyond ±{margin} and p below 0.05; the same one within. {means}"
    )
}

/// Which direction is better, in a word.
pub(crate) const fn wanted(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "more is better",
        Direction::Lower => "less is better",
    }
}
