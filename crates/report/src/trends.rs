//! How all that lies in a folder went over occasions, and where it changed.

use judge::change::{Change, Changes};
use judge::compare::{is_closed, usual};
use record::run::Phase;
use serde::Serialize;

use crate::compared::Options;
use crate::page::{Page, WIDTH, clean, counted, cut};
use crate::points::{Named, Points, families, names, phases};
use crate::style::{Ink, Style};
use crate::trend::{Course, Occasion, Trend, occasion, says_nothing};

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

/// A point and a phase, with the runs of each occasion that has it.
struct Place<'a> {
    label: String,
    measured: Vec<(&'a str, Vec<&'a Phase>)>,
    closed: bool,
}

/// How all that was measured on these occasions went. Occasions of which most runs were limited by the generator, not steady,
/// failed or incomplete, are left out.
pub fn trends(folder: &str, occasions: &[(String, Vec<Named>)], options: &Options) -> Trends {
    let mut places: Vec<Place<'_>> = Vec::new();
    let mut left_out = Vec::new();
    for (name, runs) in occasions {
        for family in families(runs) {
            let points = Points::of(family.runs.iter().copied());
            for point in &points.points {
                let words = [family.name.clone(), point.label(&points.axes)];
                let point_label = joined(&words);
                if says_nothing(&point.runs) {
                    left_out.push(format!("{name}: {point_label}"));
                    continue;
                }
                let phase_names = names(&point.runs);
                for phase in &phase_names {
                    if !options.wants(phase) {
                        continue;
                    }
                    let label = match phase_names.len() {
                        1 => point_label.clone(),
                        _ => joined(&[point_label.clone(), (*phase).to_owned()]),
                    };
                    let at = places.iter().position(|it| it.label == label);
                    let at = at.unwrap_or_else(|| {
                        places.push(Place {
                            label,
                            measured: Vec::new(),
                            closed: true,
                        });
                        places.len() - 1
                    });
                    if let Some(place) = places.get_mut(at) {
                        place.closed &= point.runs.iter().all(|it| is_closed(&it.run));
                        place.measured.push((name, phases(&point.runs, phase)));
                    }
                }
            }
        }
    }
    let changes = Changes::default();
    let margin = options.rules.margin;
    let mut trends = Vec::new();
    for place in &places {
        // What is asked of it today: early occasions may have had less.
        let latest = place.measured.last().map_or(&[][..], |it| &it.1);
        let metrics = match options.metrics.as_slice() {
            [] => usual(latest, place.closed),
            named => named.to_vec(),
        };
        for metric in metrics {
            let each = place.measured.iter();
            let each: Vec<Occasion> = each
                .filter_map(|(name, phases)| occasion(name, metric, phases))
                .collect();
            if !each.is_empty() {
                trends.push(Trend::new(&place.label, metric, each, &changes, margin));
            }
        }
    }
    let name = |it: &(String, Vec<Named>)| it.0.clone();
    Trends {
        folder: folder.to_owned(),
        occasions: occasions.len(),
        ends: occasions.first().map(name).zip(occasions.last().map(name)),
        left_out,
        margin,
        trends,
    }
}

fn joined(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = words.into_iter().filter(|it| !it.is_empty());
    words.collect::<Vec<_>>().join(", ")
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
    page.line(&style.ink(Ink::Bold, trends.headline()));
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
            Ink::Warning,
            &format!("{}: nothing to be believed", clean(it)),
        );
    }
    let mut label = None;
    for trend in &trends.trends {
        if label != Some(&trend.label) {
            page.gap();
            page.line(&style.ink(Ink::Bold, cut(&clean(&trend.label), WIDTH)));
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
    trends: Vec<Course<'a>>,
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
            trends: trends.trends.iter().map(Course::of).collect(),
        }
    }
}
