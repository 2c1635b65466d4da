//! The pictures, by the names of their files.

use std::time::Duration;

use record::Measure;

use super::bench::{SECOND, caught_up, one_in_flight, planned, tally};
use super::svg::{Axis, BLUE, Chart, GREY, ORANGE};

/// All of them.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("arrivals.svg", arrivals()),
        ("catch-up.svg", catch_up()),
        ("stall-course.svg", stall_course()),
        ("stall-percentiles.svg", stall_percentiles()),
    ]
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn every(from: f64, to: f64, step: f64, unit: &str) -> Vec<(f64, String)> {
    let steps = ((to - from) / step).round() as u32;
    (0..=steps)
        .map(|i| from + f64::from(i) * step)
        .map(|value| (value, format!("{value:.1}{unit}").replace(".0", "")))
        .collect()
}

/// Each planned time a stroke.
fn arrivals() -> String {
    let kinds: [(&str, &str, Option<&str>); 5] = [
        ("constant", "constant", Some("20/s")),
        ("poisson", "poisson", Some("20/s")),
        ("ramp", "ramp:5/s..35/s", None),
        ("steps", "steps:10/s@1s,30/s@1s,20/s@1s", None),
        ("burst", "burst:10/500ms", None),
    ];
    let levels = kinds.iter().enumerate();
    let levels = levels.map(|(i, kind)| (5.0 - i as f64, kind.0.to_owned()));
    let x = Axis {
        from: 0.0,
        to: 3.0,
        log: false,
        marks: every(0.0, 3.0, 0.5, " s"),
        title: "planned time",
    };
    let y = Axis {
        from: 0.4,
        to: 5.6,
        log: false,
        marks: levels.collect(),
        title: "arrivals",
    };
    let mut chart = Chart::new(
        "Sixty requests in three seconds, by kind of arrivals",
        290.0,
        x,
        y,
    );
    for (i, (_, shape, rate)) in kinds.into_iter().enumerate() {
        let times = planned(shape, rate, Duration::from_secs(3));
        chart.strokes(BLUE, 5.0 - i as f64, times.into_iter().map(seconds));
    }
    chart.finish()
}

/// How many were sent, over time.
fn catch_up() -> String {
    let times = planned("constant", Some("100/s"), Duration::from_secs(1));
    let pause = SECOND * 3 / 10..SECOND * 6 / 10;
    let x = Axis {
        from: 0.0,
        to: 1.0,
        log: false,
        marks: every(0.0, 1.0, 0.1, " s"),
        title: "time",
    };
    let y = Axis {
        from: 0.0,
        to: 100.0,
        log: false,
        marks: every(0.0, 100.0, 20.0, ""),
        title: "sent",
    };
    let mut chart = Chart::new(
        "Requests sent by a generator that was stopped from 0.3 s to 0.6 s",
        260.0,
        x,
        y,
    );
    let steps = |times: Vec<u64>| {
        let before = times.into_iter().enumerate();
        let corners =
            before.flat_map(|(n, at)| [(seconds(at), n as f64), (seconds(at), n as f64 + 1.0)]);
        corners.collect::<Vec<_>>()
    };
    chart.line("planned", GREY, steps(times.clone()).into_iter());
    chart.line(
        "--catch-up skip",
        ORANGE,
        steps(caught_up(&times, pause.clone(), true)).into_iter(),
    );
    chart.line(
        "--catch-up burst",
        BLUE,
        steps(caught_up(&times, pause, false)).into_iter(),
    );
    chart.finish()
}

/// A thousand requests a second for ten seconds, and a server that stops from 4 s to 5 s.
fn stall() -> Vec<record::Times> {
    let times = planned("constant", Some("1k/s"), Duration::from_secs(10));
    one_in_flight(&times, 4 * SECOND..5 * SECOND)
}

fn stall_course() -> String {
    let x = Axis {
        from: 3.5,
        to: 6.0,
        log: false,
        marks: every(3.5, 6.0, 0.5, " s"),
        title: "planned time",
    };
    let y = Axis {
        from: 0.0,
        to: 1.0,
        log: false,
        marks: every(0.0, 1.0, 0.25, ""),
        title: "seconds",
    };
    let mut chart = Chart::new(
        "Response and service of each request around a stop of one second",
        260.0,
        x,
        y,
    );
    let times: Vec<_> = stall()
        .into_iter()
        .filter(|times| (3.5..6.0).contains(&seconds(times.planned)))
        .collect();
    // Only where the line bends or has gone a while.
    let thinned = |of: fn(&record::Times) -> u64| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (i, request) in times.iter().enumerate() {
            let bends = i == 0
                || i + 1 == times.len()
                || times
                    .get(i - 1)
                    .is_some_and(|last| of(last).abs_diff(of(request)) > 50_000_000)
                || times
                    .get(i + 1)
                    .is_some_and(|next| of(next).abs_diff(of(request)) > 50_000_000);
            if bends || i % 25 == 0 {
                points.push((seconds(request.planned), seconds(of(request))));
            }
        }
        points
    };
    chart.line(
        "response",
        BLUE,
        thinned(|t| t.completed - t.planned).into_iter(),
    );
    chart.line(
        "service",
        ORANGE,
        thinned(|t| t.completed - t.sent).into_iter(),
    );
    chart.finish()
}

fn stall_percentiles() -> String {
    let nines: [(f64, &str); 6] = [
        (1.0, "0"),
        (0.5, "50"),
        (0.1, "90"),
        (0.01, "99"),
        (0.001, "99.9"),
        (0.0001, "99.99"),
    ];
    // By what lies beyond: each nine takes as much room as the one before it.
    let beyond = |share: f64| 1.0 / share;
    let marks = nines
        .iter()
        .map(|&(share, name)| (beyond(share), name.to_owned()));
    let x = Axis {
        from: 1.0,
        to: 10_000.0,
        log: true,
        marks: marks.collect(),
        title: "percentile",
    };
    let marks = [
        (1e-4, "100 µs"),
        (1e-3, "1 ms"),
        (1e-2, "10 ms"),
        (0.1, "100 ms"),
        (1.0, "1 s"),
    ];
    let marks = marks.map(|(value, name)| (value, name.to_owned())).to_vec();
    let y = Axis {
        from: 1e-4,
        to: 2.0,
        log: true,
        marks,
        title: "time",
    };
    let mut chart = Chart::new("Percentiles of the same run", 260.0, x, y);
    let window = tally(&stall(), 10 * SECOND).whole();
    for (name, colour, measure) in [
        ("response", BLUE, Measure::Response),
        ("service", ORANGE, Measure::Service),
    ] {
        let histogram = window.histogram(measure);
        let shares = (0..=160).map(|i| 10f64.powf(-f64::from(i) / 40.0));
        let points = shares.filter_map(|share| {
            let value = histogram.quantile(1.0 - share)?;
            Some((beyond(share), seconds(value)))
        });
        chart.line(name, colour, points);
    }
    chart.finish()
}
