//! What the way to a server carried before a load: lines for screens.

use plan::unit::{BitRate, Bytes, duration};
use record::run::{Figure, LinkTest, Throughput, Trip};

use crate::page::{Page, clean};
use crate::style::Style;

/// From here on the network is what held up the test.
const MOST: f64 = 0.5;

/// Sentences, one a line.
pub(crate) fn lines(test: &LinkTest) -> Vec<String> {
    let mut lines = vec![format!(
        "up {}; down {}",
        through(&test.up),
        through(&test.down)
    )];
    let trips: Vec<String> = test.trips.iter().map(trip).collect();
    lines.push(format!("round trips: {}", trips.join(", ")));
    lines.push(match &test.tcp_round_trip_ns {
        Figure::Known(ns) => format!(
            "the network's own round trip {}, by TCP; the test took {}",
            duration::show_ns(*ns),
            duration::show_ns(test.took_ns)
        ),
        Figure::Missing { not_available } => {
            format!("the network's own round trip n/a: {}", clean(not_available))
        }
    });
    lines
}

fn through(it: &Throughput) -> String {
    let per_s = match &it.bits_per_s {
        Figure::Known(per_s) => BitRate::show(*per_s),
        Figure::Missing { not_available } => return format!("n/a ({})", clean(not_available)),
    };
    match it.held.known() {
        Some(held) if *held >= MOST => format!("{per_s}, held up by the network"),
        // A server or this machine may have had no more to send.
        _ => format!("{per_s} or more"),
    }
}

fn trip(it: &Trip) -> String {
    let size = |bytes: u64| Bytes::show(bytes as f64);
    format!(
        "{} for {} and {} back",
        duration::show_ns(it.median_ns),
        size(it.request_bytes),
        size(it.response_bytes)
    )
}

/// A test by itself, on a screen.
pub fn link_test(test: &LinkTest) -> String {
    let mut page = Page::new(Style::PLAIN);
    rows(&mut page, test);
    page.finish()
}

pub(crate) fn rows(page: &mut Page, test: &LinkTest) {
    for (n, line) in lines(test).iter().enumerate() {
        page.row(if n == 0 { "link test" } else { "" }, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_through_is_a_bound_unless_the_network_held_it_up() {
        let way = |per_s, held| Throughput {
            bits_per_s: Figure::Known(per_s),
            held,
        };
        let test = LinkTest {
            trips: vec![Trip {
                request_bytes: 120,
                response_bytes: 96,
                count: 100,
                min_ns: 80_000,
                median_ns: 100_000,
            }],
            tcp_round_trip_ns: Figure::Known(30_000),
            up: way(3.94e6, Figure::Known(0.9)),
            down: way(1.25e9, Figure::missing("far away")),
            took_ns: 2_000_000_000,
        };
        let said = lines(&test);
        assert_eq!(
            said[0],
            "up 3.94 Mbit/s, held up by the network; down 1.25 Gbit/s or more"
        );
        assert_eq!(said[1], "round trips: 100 µs for 120 B and 96 B back");
        assert!(said[2].contains("30 µs"), "{}", said[2]);
    }
}
