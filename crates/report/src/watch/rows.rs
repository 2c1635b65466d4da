//! A row for each target and for each core of the generator.

use plan::unit::{Rate, duration};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::scene::Scene;
use super::screen_colours::ScreenColours;
use super::window::Window;
use crate::page::{clean, cut_inside, grouped};

/// From this width on, targets and cores stand side by side.
const BESIDE: u16 = 130;

/// So many lines at least are left for the charts.
const CHARTS: u16 = 6;

/// How many lines the rows take, heads included, beside all others but the charts.
pub(super) fn height(scene: &Scene, area: Rect, others: u16) -> u16 {
    let targets = scene.targets.len().max(scene.senders.len());
    let (targets, cores) = (tall(targets), tall(scene.cores.len().max(1)));
    let wanted = match area.width >= BESIDE {
        true => targets.max(cores),
        false => targets + cores,
    };
    let room = area.height.saturating_sub(others);
    wanted.min(room.saturating_sub(CHARTS).min(room / 2 + 1).max(2))
}

fn tall(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(1)
}

pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    scene: &Scene,
    until: u64,
    colours: ScreenColours,
) {
    let [left, right] = match area.width >= BESIDE {
        true => Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)])
            .spacing(2)
            .areas(area),
        false => {
            // Cores are few; targets may be many, and have what is left.
            let cores = tall(scene.cores.len().max(1)).min(area.height / 2);
            Layout::vertical([Constraint::Fill(1), Constraint::Length(cores)]).areas(area)
        }
    };
    let lines = match scene.senders.is_empty() {
        true => targets(scene, left, until, colours),
        false => senders(scene, left, colours),
    };
    frame.render_widget(Paragraph::new(lines), left);
    frame.render_widget(Paragraph::new(cores(scene, right, until, colours)), right);
}

/// So many rows fit below a head; if not all do, the last one says how many are missing.
fn fitting(rows: usize, area: Rect) -> (usize, usize) {
    let room = usize::from(area.height.saturating_sub(1));
    match rows <= room {
        true => (rows, 0),
        false => (room.saturating_sub(1), rows - room.saturating_sub(1)),
    }
}

fn row(window: &Window, scene: &Scene, until: u64) -> String {
    let (now, covered) = window.now(until);
    let all = window.all();
    let (recent, whole) = match scene.about.sends {
        true => (&now.response, &all.response),
        false => (&now.delay, &all.delay),
    };
    let count = match scene.about.sends {
        true => now.succeeded(),
        // Listeners of PubSub count values whose delay nobody knows, too.
        false => now.delay.count().max(now.counters.values),
    };
    let per_second = count as f64 * 1e9 / covered.max(1) as f64;
    let at = |ns: Option<u64>| match ns {
        Some(ns) => duration::show_ns(ns),
        None => "–".to_owned(),
    };
    format!(
        "{:>10}{:>10}{:>10}{:>8}",
        Rate::show(per_second),
        at(recent.quantile(0.99)),
        at(whole.quantile(0.99)),
        all.errors
    )
}

const HEAD: &str = "       now   p99 now   p99 all  errors";

fn targets(scene: &Scene, area: Rect, until: u64, colours: ScreenColours) -> Vec<Line<'static>> {
    let name = usize::from(area.width)
        .saturating_sub(HEAD.len() + 11)
        .max(8);
    let mut lines = vec![Line::styled(
        format!("{:name$}{HEAD} in flight", "target"),
        colours.faint(),
    )];
    let known = scene.about.targets.len();
    let (shown, missing) = fitting(known, area);
    let shown = shown.min(scene.targets.len());
    for (n, window) in scene.targets.iter().enumerate().take(shown) {
        let url = scene.about.targets.get(n).map_or("", String::as_str);
        let url = cut_inside(&clean(url), name - 1);
        let level = scene.in_flight_of(n);
        lines.push(Line::from(format!(
            "{url:name$}{}{level:>10}",
            row(window, scene, until)
        )));
    }
    if missing > 0 {
        lines.push(Line::from(format!("and {missing} more")));
    }
    lines
}

fn senders(scene: &Scene, area: Rect, colours: ScreenColours) -> Vec<Line<'static>> {
    const FIGURES: usize = 10 + 11 + 8;
    let room = usize::from(area.width).saturating_sub(FIGURES).max(16);
    // How messages are made is longer than who makes them.
    let (name, how) = (room * 2 / 5, room - room * 2 / 5);
    let mut lines = vec![Line::styled(
        format!(
            "{:name$}{:how$}{:>10}{:>11}{:>8}",
            "publisher", "messages", "now", "all", "lost"
        ),
        colours.faint(),
    )];
    let (shown, missing) = fitting(scene.senders.len(), area);
    for sender in scene.senders.iter().take(shown) {
        lines.push(Line::from(format!(
            "{:name$}{:how$}{:>10}{:>11}{:>8}",
            cut_inside(&clean(&sender.name), name - 1),
            cut_inside(&clean(&sender.how), how - 1),
            Rate::show(scene.sent_per_s(sender)),
            grouped(sender.messages),
            grouped(sender.lost),
        )));
    }
    if missing > 0 {
        lines.push(Line::from(format!("and {missing} more")));
    }
    lines
}

fn cores(scene: &Scene, area: Rect, until: u64, colours: ScreenColours) -> Vec<Line<'static>> {
    let name = 10;
    let mut lines = vec![Line::styled(
        format!("{:name$}{HEAD}   busy", "core"),
        colours.faint(),
    )];
    let (shown, missing) = fitting(scene.cores.len(), area);
    for (n, hands) in scene.cores.iter().take(shown) {
        let busy = hands
            .busy()
            .map_or_else(|| "–".to_owned(), |busy| format!("{:.0} %", busy * 100.0));
        lines.push(Line::from(format!(
            "{n:<name$}{}{busy:>7}",
            row(&hands.window, scene, until)
        )));
    }
    if missing > 0 {
        lines.push(Line::from(format!("and {missing} more")));
    }
    lines
}
