//! How all that lies in a folder went over occasions, and where it changed.

use judge::change::{Change, Changes};
use judge::compare::{is_closed, usual};
use record::run::Phase;
use serde::Serialize;

use crate::compared::Options;
use crate::page::{Page, WIDTH, clean, counted, cut};
use crate::points::{Named, Point, Points, families, labelled, names, phases};
use crate::style::{Style, TextStyle};
use crate::trend::{Occasion, Trend, TrendOutput, occasion, says_nothing};

/// What was measured on many occasions, and where it changed.
#[derive(Debug)]
pub struct Trends {
    /// Where they lie.
    pub folder: String,
    /// How many occasions.
    pub occasions: usize,
    /// The first and the last.
    pub ends: Option<(String, String)>,
    /// Runs of occasions that say nothing about the server: they are left out.
    pub left_out: Vec<String>,
    /// Differences of less are noise.
    pub margin: f64,
    /// Each metric of each point and phase.
    pub trends: Vec<Trend>,
}

/// How all that was measured on these occasions went. Occasions of which most runs were limited by the generator, not steady,
/// failed or incomplete, are left out.
pub fn trends(folder: &str, occasions: &[(String, Vec<Named>)], options: &Options) -> Trends {
    let mut found = FoundRuns::default();
    for (name, runs) in occasions {
        for family in families(runs) {
            let points = Points::of(family.runs.iter().copied());
            for point in &points.points {
                let label = labelled(&[&family.name, &point.label(&points.axes)]);
                found.add(name, label, point, options);
            }
        }
    }
    let changes = Changes::default();
    let each = found.places.iter();
    let name = |it: &(String, Vec<Named>)| it.0.clone();
    Trends {
        folder: folder.to_owned(),
        occasions: occasions.len(),
        ends: occasions.first().map(name).zip(occasions.last().map(name)),
        margin: options.rules.margin,
        trends: each.flat_map(|it| it.trends(options, &changes)).collect(),
        left_out: found.left_out,
    }
}

/// What was found on all occasions.
#[derive(Default)]
struct FoundRuns<'a> {
    places: Vec<Place<'a>>,
    left_out: Vec<String>,
}

/// A point and a phase, with the runs of each occasion that has it.
struct Place<'a> {
    label: String,
    measured: Vec<(&'a str, Vec<&'a Phase>)>,
    closed: bool,
}

impl<'a> FoundRuns<'a> {
    /// A point of an occasion, by its phases.
    fn add(&mut self, name: &'a str, label: String, point: &Point<'a>, options: &Options) {
        if says_nothing(&point.runs) {
            self.left_out.push(format!("{name}: {label}"));
            return;
        }
        let closed = point.runs.iter().all(|it| is_closed(&it.run));
        let all = names(&point.runs);
        let several = all.len() > 1;
        for phase in all.into_iter().filter(|it| options.wants(it)) {
            let label = labelled(&[&label, if several { phase } else { "" }]);
            let measured = (name, phases(&point.runs, phase));
            match self.places.iter_mut().find(|it| it.label == label) {
                Some(place) => {
                    place.closed &= closed;
                    place.measured.push(measured);
                }
                None => self.places.push(Place {
                    label,
                    measured: vec![measured],
                    closed,
                }),
            }
        }
    }
}

impl Place<'_> {
    /// How each metric went in it.
    fn trends(&self, options: &Options, changes: &Changes) -> Vec<Trend> {
        // What is asked of it today: early occasions may have had less.
        let latest = self.measured.last().map_or(&[][..], |it| &it.1);
        let metrics = match options.metrics.as_slice() {
            [] => usual(latest, self.closed),
            named => named.to_vec(),
        };
        let trend = |metric| {
            let each = self.measured.iter();
            let each = each.filter_map(|(name, phases)| occasion(name, metric, phases));
            let each: Vec<Occasion> = each.collect();
            let margin = options.rules.margin;
            (!each.is_empty()).then(|| Trend::new(&self.label, metric, each, changes, margin))
        };
        metrics.into_iter().filter_map(trend).collect()
    }
}

impl Trends {
    /// The changes, each with its trend.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&Trend, &Change)> {
        let each = self.trends.iter();
        each.flat_map(|trend| trend.changes.iter().map(move |change| (trend, change)))
    }

    /// How it is to be read.
    pub(crate) fn explained(&self) -> String {
        format!(
            "A change is a level that differs by more than {:.1} %, is held for {} occasions or more, and would come of chance \
             in one series of a hundred.",
            self.margin * 100.0,
            judge::change::LEAST
        )
    }

    /// How many changes there are, in words.
    pub(crate) fn headline(&self) -> String {
        let worse = self.changes().filter(|(trend, it)| trend.is_worse(it));
        let worse = worse.count();
        let all = self.changes().count();
        match all {
            0 => "no change of level".to_owned(),
            _ => format!(
                "{}: {worse} for the worse, {} for the better",
                counted(all as u64, "change of level", "changes of level"),
                all - worse
            ),
        }
    }
}

const METRIC: usize = 18;

/// The trends of a folder on a screen.
pub fn screen(trends: &Trends, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(&style.ink(TextStyle::Bold, trends.headline()));
    page.gap();
    page.row("folder", &trends.folder);
    let ends = trends.ends.as_ref();
    let ends = ends.map_or_else(String::new, |(first, last)| {
        format!(", {} to {}", clean(first), clean(last))
    });
    let occasions = counted(trends.occasions as u64, "occasion", "occasions");
    page.row("measured", &format!("{occasions}{ends}"));
    for it in &trends.left_out {
        page.inked_row(
            "left out",
            TextStyle::Warning,
            &format!("{}: nothing to be believed", clean(it)),
        );
    }
    let mut label = None;
    for trend in &trends.trends {
        if label != Some(&trend.label) {
            page.gap();
            page.line(&style.ink(TextStyle::Bold, cut(&clean(&trend.label), WIDTH)));
            label = Some(&trend.label);
        }
        let metric = cut(&trend.metric.to_string(), METRIC - 1);
        page.line(&format!("{metric:METRIC$}{}", trend.line()));
        trend.put_changes(&mut page);
    }
    page.gap();
    page.sentence(0, &trends.explained());
    page.finish()
}

/// Trends for machines.
#[derive(Debug, Serialize)]
pub struct Object<'a> {
    format: &'static str,
    version: u32,
    folder: &'a str,
    margin: f64,
    left_out: &'a [String],
    trends: Vec<TrendOutput<'a>>,
}

impl<'a> Object<'a> {
    /// What the screen says.
    pub fn of(trends: &'a Trends) -> Self {
        Self {
            format: "uaperf-trend",
            version: 1,
            folder: &trends.folder,
            margin: trends.margin,
            left_out: &trends.left_out,
            trends: trends.trends.iter().map(TrendOutput::of).collect(),
        }
    }
}
