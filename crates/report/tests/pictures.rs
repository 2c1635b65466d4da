//! The pictures of the documentation are those that the example draws.

#![allow(clippy::unwrap_used)]

#[path = "../examples/pictures/bench.rs"]
mod bench;
#[path = "../examples/pictures/draw.rs"]
mod draw;
#[path = "../examples/pictures/svg.rs"]
mod svg;

use std::path::Path;

#[test]
fn pictures_are_drawn_from_data_and_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let page = std::fs::read_to_string(folder.join("../measuring.md")).unwrap();
    for (name, picture) in draw::all() {
        let kept = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(
            kept == picture,
            "docs/pictures/{name} is not what the data say: cargo run -p report --example pictures -- docs/pictures"
        );
        assert!(
            page.contains(&format!("pictures/{name}")),
            "docs/measuring.md does not show {name}"
        );
        assert!(picture.len() < 20_000, "{name} is large: {}", picture.len());
    }
}

#[test]
fn the_stall_has_the_percentiles_that_arithmetic_says() {
    use record::Measure;
    let times = bench::planned("constant", Some("1k/s"), std::time::Duration::from_secs(10));
    let stalled = bench::one_in_flight(&times, 4 * bench::SECOND..5 * bench::SECOND);
    let window = bench::tally(&stalled, 10 * bench::SECOND).whole();
    // Behind the stop, 5,000 a second are answered while 1,000 fall due: the last that waits is due 1.25 s
    // after its beginning. So the share x of slowest requests waited 1 s − 0.8 · 10 s · x.
    for x in [0.1, 0.05, 0.01, 0.001] {
        let found = window
            .histogram(Measure::Response)
            .quantile(1.0 - x)
            .unwrap() as f64
            / 1e9;
        let expected = 1.0 - 8.0 * x;
        assert!(
            (found - expected).abs() < 0.002,
            "{x}: {found} instead of {expected}"
        );
    }
    // One request saw the stop from the sending on.
    let service = window.histogram(Measure::Service);
    assert!(service.quantile(0.999).unwrap() < 201_000);
    assert!(service.max().unwrap() > 999_000_000);
}
