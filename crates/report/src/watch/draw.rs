//! The screen, from its first line to the keys.

use std::time::Duration;

use plan::unit::duration::{self, clock};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Gauge, Paragraph};

use super::scene::{PhaseSetup, Scene};
use super::screen_colours::ScreenColours;
use super::{charts, figures, rows};
use crate::page::{clean, cut, cut_inside, grouped};

/// Where a phase stands in what was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Of several measurements: which, of how many, and its name.
    pub point: Option<(usize, usize, String)>,
    /// Of several phases: which, and of how many.
    pub phase: (usize, usize),
    /// How long all that comes behind this phase takes, as far as it is known.
    pub behind: Option<Duration>,
}

/// What a phase is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Sessions are being opened and subscriptions set up.
    #[default]
    Opening,
    /// Its time runs.
    Running,
    /// Nothing is sent any more; answers are awaited.
    Ending,
}

/// What is shown of a scene at some moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'a> {
    /// Since the phase began.
    pub elapsed: Duration,
    /// What it is at.
    pub stage: Stage,
    /// Where it stands.
    pub plan: Option<&'a Plan>,
    /// Of several that run side by side: which this is, and of how many.
    pub beside: Option<(usize, usize)>,
    /// A person has paused it.
    pub paused: bool,
    /// How long it was paused so far: it ends later by so much.
    pub later: Duration,
    /// What a person had it offer instead of 100 percent.
    pub percent: Option<u32>,
    /// How often a person changed what it offers.
    pub changes: usize,
    /// What the last key did.
    pub said: Option<&'a str>,
    /// The keys are explained.
    pub help: bool,
    /// Words may be coloured.
    pub colour: bool,
}

/// The least that a screen has to have; below that, a line has to do.
const LEAST: (u16, u16) = (50, 12);

/// Draws a phase.
pub fn draw(frame: &mut Frame<'_>, scene: &mut Scene, shown: &Shown<'_>) {
    let colours = ScreenColours {
        colour: shown.colour,
    };
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let (columns, lines) = LEAST;
        let told = format!(
            "{}\nThis takes {columns} columns and {lines} lines.",
            state(scene, shown)
        );
        frame.render_widget(Paragraph::new(told), area);
        return;
    }
    let until = duration::nanos(shown.elapsed);
    // Intervals come a moment after they are over; nothing comes of one in which nothing happened.
    let until = scene.so_far.news_ns().max(until.saturating_sub(LAG_NS));
    let figures = figures::lines(scene, until, colours, area.width);
    let tables = rows::height(scene, area, figures.len() as u16 + 5);
    let [head, bar, charts, middle, below, said, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Min(4),
        Constraint::Length(figures.len() as u16),
        Constraint::Length(tables),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    header(frame, head, scene, shown, colours);
    progress(frame, bar, scene, shown, colours);
    charts::draw(frame, charts, scene, until, colours);
    frame.render_widget(Paragraph::new(figures), middle);
    rows::draw(frame, below, scene, until, colours);
    message(frame, said, shown, colours);
    keyboard(frame, keys, scene, shown, colours);
    if shown.help {
        help(frame, area, scene, shown, colours);
    }
}

/// As late as an interval may be told.
const LAG_NS: u64 = 300_000_000;

/// How long it takes, with its pauses.
fn length(about: &PhaseSetup, shown: &Shown<'_>) -> Option<Duration> {
    let length = about.length?;
    Some(length.saturating_add(shown.later))
}

/// What it is doing, in a word.
fn state(scene: &Scene, shown: &Shown<'_>) -> String {
    let about = &scene.about;
    let measured = length(about, shown).map(|length| length.saturating_sub(about.cooldown));
    match shown.stage {
        Stage::Opening if about.notified => "setting up".to_owned(),
        Stage::Opening => "opening sessions".to_owned(),
        Stage::Ending => match scene.so_far.in_flight() {
            0 => "ending".to_owned(),
            n => format!("ending, {} answers awaited", grouped(n.unsigned_abs())),
        },
        Stage::Running if shown.paused => "PAUSED".to_owned(),
        Stage::Running if shown.elapsed < about.warmup => "warming up".to_owned(),
        Stage::Running if measured.is_some_and(|end| shown.elapsed >= end) => {
            "cooling down".to_owned()
        }
        Stage::Running => "measuring".to_owned(),
    }
}

fn header(
    frame: &mut Frame<'_>,
    area: Rect,
    scene: &Scene,
    shown: &Shown<'_>,
    colours: ScreenColours,
) {
    let about = &scene.about;
    let targets = match about.targets.as_slice() {
        [] => String::new(),
        [one] => clean(one),
        [first, ..] => format!("{} and {} more", clean(first), about.targets.len() - 1),
    };
    let mut right = state(scene, shown);
    if let Some(percent) = shown.percent {
        right = format!("{percent} % of the plan, {right}");
    }
    let width = usize::from(area.width);
    let name = cut(&clean(&about.name), width / 3);
    let room = width.saturating_sub(name.chars().count() + right.chars().count() + 4);
    let left = Line::from(vec![
        Span::styled(name, colours.bold()),
        Span::raw("  "),
        Span::raw(cut_inside(&targets, room)),
    ]);
    let ink = match shown.paused || shown.percent.is_some() {
        true => colours.of(Color::Yellow).add_modifier(Modifier::BOLD),
        false => colours.of(Color::Green),
    };
    let [first, second] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    frame.render_widget(Paragraph::new(left), first);
    let right = Paragraph::new(Span::styled(right, ink)).alignment(Alignment::Right);
    frame.render_widget(right, first);
    let place = place(shown);
    let room = width.saturating_sub(place.chars().count() + 2);
    let load = Span::styled(cut(&clean(&about.load), room), colours.faint());
    frame.render_widget(Paragraph::new(load), second);
    let place = Paragraph::new(place).alignment(Alignment::Right);
    frame.render_widget(place, second);
}

/// Where it stands in all that was asked for.
fn place(shown: &Shown<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(plan) = shown.plan {
        if let Some((n, of, name)) = &plan.point {
            let name = cut(&clean(name), 30);
            parts.push(format!("[{n}/{of}] {name}"));
        }
        let (n, of) = plan.phase;
        if of > 1 {
            parts.push(format!("phase {n} of {of}"));
        }
        if let Some(behind) = plan.behind.filter(|it| !it.is_zero()) {
            parts.push(format!("{} behind it", clock(duration::nanos(behind))));
        }
    }
    if let Some((n, of)) = shown.beside {
        parts.push(format!("{n} of {of} side by side"));
    }
    parts.join(", ")
}

fn progress(
    frame: &mut Frame<'_>,
    area: Rect,
    scene: &Scene,
    shown: &Shown<'_>,
    colours: ScreenColours,
) {
    let about = &scene.about;
    let elapsed = duration::nanos(shown.elapsed);
    let length = length(about, shown);
    let by_time = length.map(|length| {
        let length = duration::nanos(length);
        (
            elapsed as f64 / length as f64,
            length.saturating_sub(elapsed),
        )
    });
    let completed = scene.so_far.all().counters.completed;
    let by_requests = about.requests.map(|all| {
        let share = completed as f64 / all.max(1) as f64;
        let whole = elapsed as f64 / share.max(f64::MIN_POSITIVE);
        (share, (whole - elapsed as f64).clamp(0.0, 1e18) as u64)
    });
    // Whatever ends it first.
    let least = by_time.into_iter().chain(by_requests);
    let least = least.reduce(|a, b| if a.0 >= b.0 { a } else { b });
    let mut label = clock(elapsed);
    if let Some(length) = length {
        label = format!("{label} of {}", clock(duration::nanos(length)));
    }
    if let Some(all) = about.requests {
        let done = grouped(completed);
        label = format!("{label}, {done} of {} requests", grouped(all));
    }
    let share = match (shown.stage, least) {
        (Stage::Opening, _) | (_, None) => 0.0,
        (Stage::Ending, _) => 1.0,
        (Stage::Running, Some((share, left))) => {
            if completed > 0 || by_time.is_some() {
                label = format!("{label}, {} left", clock(left));
            }
            share.clamp(0.0, 1.0)
        }
    };
    let bar = Gauge::default()
        .gauge_style(colours.of(Color::Blue))
        .use_unicode(true)
        .label(label)
        .ratio(share);
    frame.render_widget(bar, area);
}

/// What the last key did, and what is to be known of a run that a person changed.
fn message(frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>, colours: ScreenColours) {
    let text = match (shown.said, shown.changes) {
        (Some(said), _) => said.to_owned(),
        (None, 0) => return,
        (None, 1) => "the load was changed by hand: the result is marked".to_owned(),
        (None, n) => format!("the load was changed by hand {n} times: the result is marked"),
    };
    let text = cut(&text, usize::from(area.width));
    frame.render_widget(
        Paragraph::new(Span::styled(text, colours.of(Color::Yellow))),
        area,
    );
}

/// Whether a key does something here.
fn works(key: &Key, scene: &Scene, shown: &Shown<'_>) -> bool {
    match key.only {
        Only::Always => true,
        Only::Pausable => scene.about.pausable,
        Only::Scalable => scene.about.scalable,
        Only::Beside => shown.beside.is_some(),
        Only::Several => shown
            .plan
            .is_some_and(|plan| plan.phase.1 > 1 || plan.point.is_some()),
    }
}

/// Keys and what they do, in a word, as far as they do something here.
fn keys(scene: &Scene, shown: &Shown<'_>) -> Vec<(&'static str, &'static str)> {
    let here = KEYS.iter().filter(|key| works(key, scene, shown));
    here.filter(|key| !key.brief.is_empty())
        .map(|key| match key.only {
            Only::Pausable if shown.paused => (key.name, "go on"),
            _ => (key.name, key.brief),
        })
        .collect()
}

fn keyboard(
    frame: &mut Frame<'_>,
    area: Rect,
    scene: &Scene,
    shown: &Shown<'_>,
    colours: ScreenColours,
) {
    let mut spans = Vec::new();
    for (key, does) in keys(scene, shown) {
        let ink = colours.bold().add_modifier(Modifier::REVERSED);
        spans.push(Span::styled(format!(" {key} "), ink));
        spans.push(Span::raw(format!(" {does}  ")));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

/// A key, and what it does.
struct Key {
    name: &'static str,
    /// In the last line of the screen; nothing of what people know anyway.
    brief: &'static str,
    /// On the page of keys.
    does: &'static str,
    only: Only,
}

/// Where a key does something.
#[derive(Clone, Copy)]
enum Only {
    Always,
    /// Where what is sent can be held back.
    Pausable,
    /// Where more can be sent, or less.
    Scalable,
    /// Where phases run side by side.
    Beside,
    /// Where another phase or point follows.
    Several,
}

const KEYS: &[Key] = &[
    Key {
        name: "p",
        brief: "pause",
        does: "pause: nothing is sent until p again; the end moves by as much",
        only: Only::Pausable,
    },
    Key {
        name: "+/-",
        brief: "load",
        does: "offer a tenth of the plan more or less: rates, or requests in flight",
        only: Only::Scalable,
    },
    Key {
        name: "tab",
        brief: "next",
        does: "the next of several phases that run side by side",
        only: Only::Beside,
    },
    Key {
        name: "n",
        brief: "end phase",
        does: "end this phase; what comes behind it follows",
        only: Only::Several,
    },
    Key {
        name: "q",
        brief: "end run",
        does: "end the run; what was measured is kept, and marked",
        only: Only::Always,
    },
    Key {
        name: "Ctrl-C",
        brief: "",
        does: "as q; a second time quits without a result",
        only: Only::Always,
    },
    Key {
        name: "?",
        brief: "help",
        does: "this page",
        only: Only::Always,
    },
];

const MARKED: &str = "A run whose load was changed by hand says so in its result and in its verdict: its figures are \
                      not for comparison.";

const NO_REQUESTS: &str = "This load cannot be paused or added to: a server or publisher sends by itself, or clients act in rounds of steps.";

const ONE_EACH: &str =
    "There is nothing to add to this load: each session has one request at a time.";

fn help(
    frame: &mut Frame<'_>,
    area: Rect,
    scene: &Scene,
    shown: &Shown<'_>,
    colours: ScreenColours,
) {
    let width = area.width.min(78);
    let room = usize::from(width).saturating_sub(14);
    let mut lines = Vec::new();
    for key in KEYS.iter().filter(|key| works(key, scene, shown)) {
        for (n, part) in crate::page::wrapped(key.does, room).into_iter().enumerate() {
            let name = if n == 0 { key.name } else { "" };
            lines.push(Line::from(vec![
                Span::styled(format!(" {name:<8} "), colours.bold()),
                Span::raw(part),
            ]));
        }
    }
    lines.push(Line::default());
    let about = &scene.about;
    let notes = [
        (about.pausable, MARKED),
        (about.pausable && !about.scalable, ONE_EACH),
        (!about.pausable, NO_REQUESTS),
    ];
    for (_, note) in notes.into_iter().filter(|(holds, _)| *holds) {
        for part in crate::page::wrapped(note, usize::from(width).saturating_sub(4)) {
            lines.push(Line::from(format!(" {part}")));
        }
    }
    let height = (lines.len() as u16 + 2).min(area.height);
    let page = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, page);
    let block = Block::bordered().title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), page);
}
