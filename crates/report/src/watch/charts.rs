//! Rate and latency over time.

use plan::unit::{Rate, duration};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Borders, Chart, Dataset, GraphType};

use super::scene::Scene;
use super::screen_colours::ScreenColours;

/// Narrower than this, and the charts stand below each other.
const BESIDE: u16 = 64;

pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    scene: &mut Scene,
    until: u64,
    colours: ScreenColours,
) {
    let halves = [Constraint::Fill(1); 2];
    let [left, right] = match area.width >= BESIDE || area.height < 10 {
        true => Layout::horizontal(halves).spacing(1).areas(area),
        false => Layout::vertical(halves).areas(area),
    };
    let lines = scene.course.lines(until);
    let last = lines.rate.last().map_or(0.0, |(at, _)| *at);
    let end = last.max(1.0);
    let notified = scene.about.notified;
    let highest = lines.rate.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let top = nice(highest);
    let title = match notified {
        true => "values per second",
        false => "requests per second",
    };
    let rates = Lined {
        title: Line::from(Span::raw(title)),
        lines: vec![(&lines.rate, colours.of(Color::Green))],
        bounds: [0.0, top],
        labels: ticks(left).map(|share| Rate::show(top * share)).collect(),
    };
    rates.draw(frame, left, end, colours);

    let times = lines.p50.iter().chain(&lines.p99).map(|(_, ns)| *ns);
    let (low, high) = times.fold((f64::MAX, 0.0), |(low, high), ns| {
        (ns.min(low), ns.max(high))
    });
    let (low, high) = decades(low, high);
    // Percentiles differ by factors: equal factors are equal heights.
    let log = |line: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let points = line.iter();
        points.map(|(at, ns)| (*at, ns.max(1.0).log10())).collect()
    };
    let (p50, p99) = (log(&lines.p50), log(&lines.p99));
    let what = match notified {
        true if scene.about.publishes => "lateness of cycles: ",
        true => "delay of values: ",
        false => "response time: ",
    };
    let (slow, usual) = (colours.of(Color::Yellow), colours.of(Color::Cyan));
    let latency = Lined {
        title: Line::from(vec![
            Span::raw(what),
            Span::styled("median", usual),
            Span::raw(" and "),
            Span::styled("p99", slow),
        ]),
        lines: vec![(&p99, slow), (&p50, usual)],
        bounds: [f64::from(low), f64::from(high)],
        labels: (low..=high)
            .map(|power| duration::show_nanos(10f64.powi(power)))
            .collect(),
    };
    latency.draw(frame, right, end, colours);
}

/// How high the labels stand, as shares of the height.
fn ticks(area: Rect) -> impl Iterator<Item = f64> {
    let many = if area.height >= 12 { 4 } else { 2 };
    (0..=many).map(move |n| f64::from(n) / f64::from(many))
}

/// A chart.
struct Lined<'a> {
    title: Line<'a>,
    lines: Vec<(&'a [(f64, f64)], Style)>,
    bounds: [f64; 2],
    labels: Vec<String>,
}

impl Lined<'_> {
    fn draw(self, frame: &mut Frame<'_>, area: Rect, end: f64, colours: ScreenColours) {
        let sets = self.lines.iter().map(|(points, ink)| {
            Dataset::default()
                .marker(Marker::Braille)
                .graph_type(GraphType::Line)
                .style(*ink)
                .data(points)
        });
        let seconds = |s: f64| duration::clock((s * 1e9) as u64);
        let x = Axis::default()
            .bounds([0.0, end])
            .style(colours.faint())
            .labels([seconds(0.0), seconds(end)]);
        let y = Axis::default()
            .bounds(self.bounds)
            .style(colours.faint())
            .labels(self.labels);
        let chart = Chart::new(sets.collect())
            .legend_position(None)
            .x_axis(x)
            .y_axis(y)
            .block(Block::new().borders(Borders::NONE).title(self.title));
        frame.render_widget(chart, area);
    }
}

/// The next of 1, 2, 5 times a power of ten.
fn nice(highest: f64) -> f64 {
    if highest <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(highest.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let above = steps.into_iter().find(|step| *step >= highest);
    above.unwrap_or(highest)
}

/// Powers of ten around times, in nanoseconds.
fn decades(low: f64, high: f64) -> (i32, i32) {
    if high <= 0.0 || low > high {
        // 1 µs to 1 ms, until something is known.
        return (3, 6);
    }
    let low = low.max(1.0).log10().floor() as i32;
    let high = high.max(1.0).log10().ceil() as i32;
    (low, high.max(low + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number_above_all_that_it_shows() {
        for (highest, top) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (1.1, 2.0),
            (4999.0, 5000.0),
            (51.0, 100.0),
        ] {
            assert_eq!(nice(highest), top);
        }
    }

    #[test]
    fn times_lie_between_two_powers_of_ten() {
        assert_eq!(decades(210_000.0, 1_200_000.0), (5, 7));
        assert_eq!(decades(1_000_000.0, 1_000_000.0), (6, 7));
        assert_eq!(decades(f64::MAX, 0.0), (3, 6));
    }
}
