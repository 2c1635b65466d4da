//! What a scenario would do: its points as a table, its load over time as a picture, and how long it
//! takes.

use std::time::Duration;

use plan::scenario::{Order, Point, Scenario, ScenarioPhase, Start};
use plan::unit::Rate;
use plan::unit::duration::{show, typed};
use plan::{Arrival, Pace, Work};
use record::sweep::Sweep;

use crate::page::{LABEL, Page, WIDTH, clean, counted, cut};
use crate::style::Style;

/// More points than these are not listed one by one.
const ROWS: usize = 40;
/// Columns of a picture.
const WIDE: usize = 56;
/// The widest column of swept values.
const CELL: usize = 28;

/// A line about a scenario: its points, its measurements, its length.
pub fn in_short(scenario: &Scenario) -> String {
    let points = counted(scenario.points.len() as u64, "point", "points");
    let all = scenario.points.len() as u64 * u64::from(scenario.repeat);
    let load = in_words(length(scenario, &ahead(scenario, None)));
    let times = match scenario.repeat {
        1 => String::new(),
        n => format!(
            ", {n} times each: {}",
            counted(all, "measurement", "measurements")
        ),
    };
    format!("{}: {points}{times}; {load}", clean(&scenario.name),)
}

/// A point that is to be measured.
struct Ahead<'a> {
    /// Its number, from 1 on.
    number: usize,
    point: &'a Point,
    /// How often.
    times: u32,
}

/// What is to be measured: all of a scenario, or what is left of one that was begun.
fn ahead<'a>(scenario: &'a Scenario, begun: Option<&Sweep>) -> Vec<Ahead<'a>> {
    let mut times = vec![scenario.repeat; scenario.points.len()];
    if let Some(sweep) = begun {
        times.fill(0);
        for it in sweep.measurements.iter().filter(|it| it.is_left()) {
            if let Some(times) = times.get_mut(it.point) {
                *times += 1;
            }
        }
    }
    let all = scenario.points.iter().zip(times).enumerate();
    let ahead = all.map(|(n, (point, times))| Ahead {
        number: n + 1,
        point,
        times,
    });
    ahead.filter(|it| it.times > 0).collect()
}

fn in_words((length, known): (Duration, bool)) -> String {
    match (known, length.is_zero()) {
        (true, _) => format!("{} of load", show(length)),
        (false, true) => "as long as its requests take".to_owned(),
        (false, false) => format!("{} of load, and as long as its requests take", show(length)),
    }
}

/// The load of these measurements, with the pauses between them; whether that is all of it.
fn length(scenario: &Scenario, ahead: &[Ahead]) -> (Duration, bool) {
    let (mut sum, mut turns, mut all) = (Duration::ZERO, 0u32, true);
    for it in ahead {
        let (length, known) = Scenario::length(it.point);
        sum = sum.saturating_add(length.saturating_mul(it.times));
        turns = turns.saturating_add(it.times);
        all &= known;
    }
    let pauses = scenario.pause.saturating_mul(turns.saturating_sub(1));
    (sum.saturating_add(pauses), all)
}

/// The whole plan, for a person; of a scenario that was begun, what is left of it.
pub fn plan(scenario: &Scenario, begun: Option<&Sweep>, style: Style) -> String {
    let ahead = ahead(scenario, begun);
    let mut page = Page::new(style);
    page.row("scenario", &in_short(scenario));
    if let Some(about) = &scenario.about {
        page.row("about", about);
    }
    for parameter in &scenario.parameters {
        let about = parameter
            .about
            .as_ref()
            .map_or(String::new(), |about| format!("   {about}"));
        page.row(
            "parameter",
            &format!("{} = {}{about}", parameter.name, parameter.value),
        );
    }
    let order = match scenario.order {
        Order::Given => "as written".to_owned(),
        Order::Random => format!("random, from seed {}", scenario.seed),
        Order::Mirrored => "there and back".to_owned(),
    };
    if scenario.points.len() as u64 * u64::from(scenario.repeat) > 1 {
        page.row("order", &order);
    }
    if let Some(sweep) = begun {
        let rest = match ahead.as_slice() {
            [] => "nothing is left",
            _ => "what is left:",
        };
        page.row(
            "so far",
            &format!("{}; {rest}", crate::sweep::so_far(sweep)),
        );
    }
    let (Some(first), Some(last)) = (ahead.first(), ahead.last()) else {
        return page.finish();
    };
    let (first, last) = (first.point, last.point);
    servers(&mut page, first);
    agents(&mut page, first);
    page.gap();
    table(&mut page, scenario, &ahead);
    page.gap();
    picture(&mut page, first, "Load over time, first point");
    if drawn(last) != drawn(first) {
        page.gap();
        picture(&mut page, last, "Load over time, last point");
    }
    page.gap();
    let starts = match first.start {
        Some(_) => ", and what starting servers takes",
        None => "",
    };
    let load = in_words(length(scenario, &ahead));
    page.row("takes", &format!("{load}{starts}"));
    page.finish()
}

fn servers(page: &mut Page, point: &Point) {
    match &point.start {
        Some(start) => page.row("servers", &started(start)),
        None if point.targets.is_empty() => {}
        None => page.row("servers", &point.targets.join(", ")),
    }
    let steps = point.groups.iter().flat_map(|group| &group.steps);
    let addresses: Vec<String> = steps.filter_map(address).collect();
    if !addresses.is_empty() {
        page.row("addresses", &addresses.join(", "));
    }
}

/// Where a step publishes to, or listens.
fn address(step: &ScenarioPhase) -> Option<String> {
    let (way, address) = match &step.phase.work {
        Work::Publish(work) => ("to", &work.to),
        Work::Listen(work) => ("from", &work.from),
        _ => return None,
    };
    Some(format!("{} {way} {address}", clean(&step.name)))
}

/// Who shares the load; where that is varied, of the first point.
fn agents(page: &mut Page, point: &Point) {
    let mut steps = point.groups.iter().flat_map(|group| &group.steps);
    if let Some(agents) = steps.find_map(|step| Some(step.agents()).filter(|it| !it.is_empty())) {
        let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
        page.row("agents", &names.join(", "));
    }
}

fn started(start: &Start) -> String {
    use plan::scenario::{Kind, Restart};
    let kind = match start.kind {
        Kind::Plant => "plant",
        Kind::Peer => "peer",
    };
    let options: Vec<String> = start
        .settings
        .iter()
        .flat_map(|it| it.words())
        .map(|word| format!(" {word}"))
        .collect();
    let restart = match start.restart {
        Restart::EachPoint => "; a new one for each measurement",
        Restart::EachRepetition => "; a new one for each repetition",
        Restart::Never => "",
    };
    let options = options.concat();
    format!("{kind} {}{}{restart}", start.name, options.trim_end())
}

fn table(page: &mut Page, scenario: &Scenario, ahead: &[Ahead]) {
    let names = scenario.axes.iter().map(|axis| axis.name.as_str());
    let names: Vec<&str> = std::iter::once("point").chain(names).collect();
    let rows: Vec<Vec<String>> = ahead
        .iter()
        .take(ROWS)
        .map(|it| {
            std::iter::once(it.number.to_string())
                .chain(it.point.values.iter().map(|it| clean(it)))
                .collect()
        })
        .collect();
    let width = |column: usize, name: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(name.chars().count()).min(CELL)
    };
    let mut widths = Vec::new();
    let mut left = WIDTH - 30;
    for (column, name) in names.iter().enumerate() {
        // What does not fit any more is left out of the table, and is in the file.
        let wide = width(column, name);
        if wide + 2 > left {
            break;
        }
        left -= wide + 2;
        widths.push(wide);
    }
    let line = |cells: &[String], load: &str| {
        let mut line = String::new();
        for (cell, wide) in cells.iter().zip(&widths) {
            line.push_str(&format!("{:>wide$}  ", cut(cell, *wide)));
        }
        let used = line.chars().count();
        line + &cut(load, WIDTH.saturating_sub(used))
    };
    let head: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    page.line(&line(&head, "what is done"));
    for (row, it) in rows.iter().zip(ahead) {
        let times = match it.times == scenario.repeat {
            true => String::new(),
            false => format!("{} of {} times: ", it.times, scenario.repeat),
        };
        page.line(&line(row, &(times + &done(it.point))));
    }
    if ahead.len() > ROWS {
        page.line(&format!("… and {} more", ahead.len() - ROWS));
    }
}

/// `read 1 session, 100/s, 90 s; then write …`
fn done(point: &Point) -> String {
    let groups = point.groups.iter().map(|group| {
        let steps: Vec<String> = group.steps.iter().map(step).collect();
        steps.join(" | ")
    });
    groups.collect::<Vec<_>>().join(", then ")
}

fn step(step: &ScenarioPhase) -> String {
    let phase = &step.phase;
    match &phase.work {
        Work::Subscribe(work) => return subscribed(step, work),
        Work::Publish(work) => return published(step, work),
        Work::Listen(work) => {
            return format!("{}, {}", clean(&step.name), heard(step, work.listeners));
        }
        _ => {}
    }
    let batch = match phase.work.batch() {
        1 => String::new(),
        n => format!(" of {n}"),
    };
    let until = match (phase.duration, phase.requests) {
        (Some(duration), None) => typed(duration),
        (Some(duration), Some(n)) => format!("{} or {n} requests", typed(duration)),
        (None, Some(n)) => counted(n, "request", "requests"),
        (None, None) => phase.measured_until().map_or(String::new(), typed),
    };
    format!(
        "{}{batch}, {}, {}, {until}",
        clean(&step.name),
        counted(phase.sessions.into(), "session", "sessions"),
        load(phase)
    )
}

/// `subscribe, 10 sessions × 2 subscriptions × 1,000 items, each 100ms, 60s`
fn subscribed(step: &ScenarioPhase, work: &plan::Subscribe) -> String {
    let items = match work.items {
        Some(n) => counted(n.into(), "item", "items"),
        None => "an item for each node".to_owned(),
    };
    format!(
        "{}, {} × {} × {items}, each {}, {}",
        clean(&step.name),
        counted(step.phase.sessions.into(), "session", "sessions"),
        counted(work.subscriptions.into(), "subscription", "subscriptions"),
        typed(work.publishing),
        step.phase.duration.map_or(String::new(), typed)
    )
}

/// `publish, 1,000 values each 10ms, 2 listeners, 10s`
fn published(step: &ScenarioPhase, work: &plan::Publish) -> String {
    let pace = match work.interval {
        Some(interval) => format!("each {}", typed(interval)),
        None => "without a pause".to_owned(),
    };
    let values = counted(work.values(), "value", "values");
    format!(
        "{}, {values} {pace}, {}",
        clean(&step.name),
        heard(step, work.listeners)
    )
}

/// `2 listeners, 10s`
fn heard(step: &ScenarioPhase, listeners: u32) -> String {
    format!(
        "{}, {}",
        counted(listeners.into(), "listener", "listeners"),
        step.phase.duration.map_or(String::new(), typed)
    )
}

/// The load of all sessions together, as far as one number says it.
fn load(phase: &plan::Phase) -> String {
    let sessions = f64::from(phase.sessions);
    match &phase.arrival {
        Arrival::Open(Pace::Constant { rate } | Pace::Poisson { rate }) => {
            Rate::show(rate.as_f64() * sessions)
        }
        arrival => arrival.to_string(),
    }
}

/// What the height of a step is a number of. Heights of the same unit are drawn to the same scale.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    InFlight,
    RequestsPerSecond,
    Subscriptions,
    ValuesPerSecond,
    /// A publisher without a pause between its cycles.
    AsFastAsPossible,
    Listeners,
}

impl Unit {
    fn of(phase: &plan::Phase) -> Self {
        match &phase.work {
            Work::Subscribe(_) => Self::Subscriptions,
            Work::Publish(work) if work.values_per_s().is_none() => Self::AsFastAsPossible,
            Work::Publish(_) => Self::ValuesPerSecond,
            Work::Listen(_) => Self::Listeners,
            _ if phase.arrival.is_open() => Self::RequestsPerSecond,
            _ => Self::InFlight,
        }
    }

    fn show(self, height: f64) -> String {
        let count = height as u64;
        match self {
            Self::InFlight => format!("{height} in flight"),
            Self::RequestsPerSecond => Rate::show(height),
            Self::Subscriptions => counted(count, "subscription", "subscriptions"),
            Self::ValuesPerSecond => Rate::show(height).replacen('/', " values/", 1),
            Self::AsFastAsPossible => "as fast as possible".to_owned(),
            Self::Listeners => counted(count, "listener", "listeners"),
        }
    }
}

/// What a picture shows of a step: when it begins and ends, its heights, and its peak in words.
#[derive(Debug, PartialEq)]
struct Drawn {
    name: String,
    from: f64,
    to: f64,
    unit: Unit,
    heights: Vec<f64>,
    peak: String,
}

/// Steps of a point over its time, in columns.
fn drawn(point: &Point) -> (Vec<Drawn>, f64) {
    let mut at = 0.0;
    let mut spans = Vec::new();
    for group in &point.groups {
        let length = |step: &ScenarioPhase| step.length(1).map(|length| length.as_secs_f64());
        let longest = group.steps.iter().filter_map(length).fold(0.0, f64::max);
        // Nobody knows how long requests take: as wide as anything.
        let longest = if longest > 0.0 { longest } else { 1.0 };
        for step in &group.steps {
            spans.push((step, at, at + length(step).unwrap_or(longest)));
        }
        at += longest;
    }
    let drawn = spans.into_iter().map(|(step, from, to)| {
        let heights = (0..WIDE).map(|column| {
            let t = (column as f64 + 0.5) / WIDE as f64 * at;
            if t < from || t >= to {
                return 0.0;
            }
            height(&step.phase, t - from, to - from)
        });
        let heights: Vec<f64> = heights.collect();
        let peak = heights.iter().copied().fold(0.0, f64::max);
        Drawn {
            name: step.name.clone(),
            from,
            to,
            unit: Unit::of(&step.phase),
            peak: Unit::of(&step.phase).show(peak),
            heights,
        }
    });
    (drawn.collect(), at)
}

/// How much a step is, in its unit: of requests, those of all sessions of a server.
fn height(phase: &plan::Phase, t: f64, length: f64) -> f64 {
    let sessions = f64::from(phase.sessions);
    match &phase.work {
        Work::Subscribe(work) => return sessions * f64::from(work.subscriptions),
        Work::Publish(work) => return work.values_per_s().unwrap_or(1.0),
        Work::Listen(work) => return f64::from(work.listeners),
        _ => {}
    }
    let of_one = match &phase.arrival {
        Arrival::Open(Pace::Ramp { from, to }) => {
            from.as_f64() + (to.as_f64() - from.as_f64()) * t / length
        }
        Arrival::Open(Pace::Steps { steps }) => {
            let mut until = 0.0;
            let now = steps.iter().find(|step| {
                until += step.duration.as_secs_f64();
                t < until
            });
            now.map_or(0.0, |step| step.rate.as_f64())
        }
        Arrival::Open(pace) => pace.mean_rate(),
        _ => f64::from(phase.in_flight()),
    };
    of_one * sessions
}

fn picture(page: &mut Page, point: &Point, title: &str) {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (drawn, length) = drawn(point);
    page.line(title);
    for it in &drawn {
        let alike = drawn.iter().filter(|other| other.unit == it.unit);
        let most = alike
            .flat_map(|it| it.heights.iter().copied())
            .fold(0.0, f64::max);
        let bar: String = it
            .heights
            .iter()
            .map(|height| match *height > 0.0 {
                true => {
                    let eighths = (height / most * 8.0).round().clamp(1.0, 8.0) as usize;
                    BLOCKS.get(eighths).copied().unwrap_or('█')
                }
                false => ' ',
            })
            .collect();
        let name = cut(&clean(&it.name), LABEL - 1);
        page.line(&format!("{name:LABEL$}{bar}  {}", it.peak));
    }
    let known = point
        .groups
        .iter()
        .flat_map(|group| &group.steps)
        .all(|step| step.length(1).is_some());
    let end = match known {
        true => show(Duration::from_secs_f64(length)),
        false => "when the requests are done".to_owned(),
    };
    let pad = WIDE.saturating_sub(3 + end.chars().count());
    page.line(&format!("{:LABEL$}0 s{:pad$}{end}", "", ""));
}
