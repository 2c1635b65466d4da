//! Percentiles now and since the start, what was counted, errors by their code.

use plan::unit::{Rate, duration};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use record::Histogram;

use super::scene::Scene;
use super::screen_colours::ScreenColours;
use crate::page::{counted, cut, grouped};

/// Room for how many there are of codes that find none.
const MORE: usize = 30;

/// All of them, a line each.
pub(super) fn lines(
    scene: &Scene,
    until: u64,
    colours: ScreenColours,
    width: u16,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let heads = ["p50", "p90", "p99", "p99.9", "max", "mean"];
    let heads: String = heads.iter().map(|head| format!("{head:>10}")).collect();
    lines.push(Line::styled(format!("{:16}{heads}", ""), colours.faint()));
    let (now, covered) = scene.all.now(until);
    let all = scene.all.all();
    if scene.about.notified {
        let name = match scene.about.publishes {
            true => "lateness, now",
            false => "delay, now",
        };
        lines.push(percentiles(name, &now.delay));
        lines.push(percentiles("since start", &all.delay));
    }
    if scene.about.sends {
        lines.push(percentiles("response, now", &now.response));
        lines.push(percentiles("since start", &all.response));
    }
    lines.push(counts(scene, (now.succeeded(), covered), until, colours));
    lines.extend(errors(scene, colours, usize::from(width)));
    lines
}

fn percentiles(name: &str, times: &Histogram) -> Line<'static> {
    let at = |ns: Option<u64>| match ns {
        Some(ns) => duration::show_ns(ns),
        None => "–".to_owned(),
    };
    let mut text = format!("{name:16}");
    for q in [0.5, 0.9, 0.99, 0.999] {
        text += &format!("{:>10}", at(times.quantile(q)));
    }
    text += &format!("{:>10}", at(times.max()));
    text += &format!("{:>10}", at(times.mean().map(|mean| mean as u64)));
    Line::from(text)
}

fn counts(
    scene: &Scene,
    (completed, covered): (u64, u64),
    until: u64,
    colours: ScreenColours,
) -> Line<'static> {
    let mut parts = Vec::new();
    let all = scene.so_far.all();
    if scene.about.notified {
        let heard = scene.so_far.notified();
        // Before two looks there is no rate.
        let rates = scene.heard_per_s(until);
        let show = |rate: Option<f64>| rate.map_or_else(|| "n/a".to_owned(), Rate::show);
        parts.push(Span::raw(format!(
            "{} values, {} messages, {} values in all   ",
            show(rates.map(|it| it.0)),
            show(rates.map(|it| it.1)),
            grouped(heard.values)
        )));
        let what = match scene.about.publishes {
            true => "refused",
            false => "lost",
        };
        let lost = format!("{} {what}   ", grouped(heard.lost));
        parts.push(match heard.lost {
            0 => Span::raw(lost),
            _ => Span::styled(lost, colours.of(Color::Red)),
        });
    }
    if scene.about.sends {
        let per_second = completed as f64 * 1e9 / covered.max(1) as f64;
        parts.push(Span::raw(format!(
            "{} now   {} completed   {} in flight   ",
            Rate::show(per_second),
            grouped(all.counters.completed),
            grouped(scene.so_far.in_flight().unsigned_abs())
        )));
    }
    let n = all.statuses.bad();
    let errors = counted(n, "error", "errors");
    parts.push(match n {
        0 => Span::raw(errors),
        _ => Span::styled(errors, colours.of(Color::Red)),
    });
    Line::from(parts)
}

/// By their code, those that came most often first, as far as they fit.
fn errors(scene: &Scene, colours: ScreenColours, width: usize) -> Option<Line<'static>> {
    let mut errors: Vec<(u32, u64)> = scene.so_far.all().statuses.bad_codes().collect();
    errors.sort_by_key(|&(code, n)| (std::cmp::Reverse(n), code));
    let mut parts = Vec::new();
    let mut used = 0;
    let mut rest = errors.as_slice();
    while let Some((&(code, n), others)) = rest.split_first() {
        let name = (scene.about.status_name)(code);
        let part = format!("{} {name}", grouped(n));
        let more = part.chars().count() + 2;
        if !parts.is_empty() && used + more + MORE > width {
            break;
        }
        used += more;
        parts.push(part);
        rest = others;
    }
    if !rest.is_empty() {
        let n: u64 = rest.iter().map(|&(_, n)| n).sum();
        parts.push(format!("{} of {} other codes", grouped(n), rest.len()));
    }
    let text = cut(&parts.join(", "), width);
    (!parts.is_empty()).then(|| Line::styled(text, colours.of(Color::Red)))
}
