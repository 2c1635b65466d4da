//! Laws of TCP over a link, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use link::{Spec, Way};
use simulate::tcp::{End, Line, Segment};

const MS: u64 = 1_000_000;
const SEGMENT: u64 = link::SEGMENT as u64;

/// Two ends and a link between them.
struct Pair {
    now: u64,
    client: End,
    server: End,
    line: Line,
    under_way: BTreeMap<(u64, u64), (Way, Segment)>,
    count: u64,
    /// When each segment of the client was sent, with its bytes.
    sent: Vec<(u64, usize)>,
    /// How many of the client's segments with bytes are lost: those by these numbers.
    drops: Vec<usize>,
    data: usize,
}

impl Pair {
    fn new(link: &str) -> Self {
        let spec: Spec = link.parse().unwrap();
        Self {
            now: 0,
            client: End::connecting(),
            server: End::listening(),
            line: Line::new(spec, 1, 0),
            under_way: BTreeMap::new(),
            count: 0,
            sent: Vec::new(),
            drops: Vec::new(),
            data: 0,
        }
    }

    fn send(&mut self) {
        for way in [Way::Up, Way::Down] {
            let mut all = Vec::new();
            let end = match way {
                Way::Up => &mut self.client,
                Way::Down => &mut self.server,
            };
            all.extend(std::iter::from_fn(|| end.poll(self.now)));
            for segment in all {
                if way == Way::Up {
                    self.sent.push((self.now, segment.bytes.len()));
                    if !segment.bytes.is_empty() {
                        self.data += 1;
                        if self.drops.contains(&self.data) {
                            continue;
                        }
                    }
                }
                for at in self.line.carry(self.now, way, &segment) {
                    self.count += 1;
                    let key = (at, self.count);
                    self.under_way.insert(key, (way, segment.clone()));
                }
            }
        }
    }

    /// Until something is so, or nothing happens any more; when that was.
    fn until(&mut self, done: impl Fn(&Self) -> bool) -> u64 {
        self.send();
        while !done(self) {
            let arrives = self.under_way.first_key_value().map(|(key, _)| key.0);
            let due = [self.client.deadline(), self.server.deadline(), arrives];
            let Some(next) = due.into_iter().flatten().min() else {
                panic!("nothing happens after {} ns", self.now);
            };
            self.now = self.now.max(next);
            if arrives == Some(next) {
                let (_, (way, segment)) = self.under_way.pop_first().unwrap();
                match way {
                    Way::Up => self.server.receive(self.now, segment),
                    Way::Down => self.client.receive(self.now, segment),
                }
            }
            self.send();
        }
        self.now
    }

    fn opened(link: &str) -> (Self, u64) {
        let mut pair = Self::new(link);
        let at = pair.until(|it| it.client.is_open());
        (pair, at)
    }

    /// When so many bytes have arrived at the server.
    fn transfer(&mut self, bytes: usize) -> u64 {
        let from = self.now;
        let text: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
        self.client.write(&text);
        self.client.finish();
        let end = self.until(|it| it.server.has_ended());
        let got: Vec<u8> = std::iter::from_fn(|| self.server.read())
            .flat_map(|it| it.to_vec())
            .collect();
        assert!(got == text, "other bytes arrived than were written");
        end - from
    }
}

#[test]
fn a_connection_begins_in_one_round_trip() {
    for (link, expected) in [
        ("delay=10ms", 20 * MS),
        // 74 bytes each way at 1 Mbit/s are 0.592 ms.
        ("1Mbit/s,delay=5ms", 10 * MS + 2 * 592_000),
    ] {
        assert_eq!(Pair::opened(link).1, expected, "{link}");
    }
}

#[test]
fn a_lost_beginning_is_sent_again_after_one_second_and_then_after_two() {
    let mut pair = Pair::new("delay=10ms,loss=100%");
    pair.send();
    let mut at = Vec::new();
    while at.len() < 4 {
        pair.now = pair.client.deadline().unwrap();
        at.push(pair.now / MS);
        pair.send();
    }
    assert_eq!(at, [1000, 3000, 7000, 15000]);
}

#[test]
fn the_window_is_ten_segments_at_first_and_doubles_with_each_round_trip() {
    // No rate: a round trip is nothing but delay.
    for (segments, round_trips) in [
        (10, 0),
        (11, 1),
        (30, 1),
        (31, 2),
        (70, 2),
        (71, 3),
        (150, 3),
    ] {
        let (mut pair, _) = Pair::opened("delay=50ms");
        let took = pair.transfer((segments * SEGMENT) as usize - 1);
        // The client is open at one end before the other; then half a round trip for the last one.
        assert_eq!(
            took,
            50 * MS + round_trips * 100 * MS,
            "{segments} segments"
        );
    }
}

#[test]
fn a_line_that_is_full_carries_what_its_rate_says() {
    let (mut pair, _) = Pair::opened("10Mbit/s,delay=1ms");
    let took = pair.transfer(1_448_000);
    // The acknowledgement of the beginning goes first.
    let line = (1000 * (SEGMENT + 66) + 66) * 800;
    assert!((line..line + 4 * MS).contains(&took), "{took} of {line}");
}

#[test]
fn one_lost_segment_of_many_costs_a_round_trip() {
    let (mut pair, _) = Pair::opened("delay=20ms");
    pair.drops = vec![2];
    let took = pair.transfer(8 * SEGMENT as usize);
    // It arrives, is missed by three later ones, and is sent again.
    assert_eq!(took, 20 * MS + 40 * MS);
    assert_eq!(pair.client.sent_again(), 1);
}

#[test]
fn a_lost_last_segment_costs_two_tenths_of_a_second_and_a_round_trip() {
    let (mut pair, _) = Pair::opened("delay=20ms");
    pair.drops = vec![1];
    // Its end goes with it.
    let took = pair.transfer(100);
    assert_eq!(took, 200 * MS + 40 * MS + 20 * MS);
    let (mut pair, _) = Pair::opened("delay=20ms");
    pair.drops = vec![1, 2, 3];
    let took = pair.transfer(100);
    // 240, 480 and 960 ms later.
    assert_eq!(took, (240 + 480 + 960 + 20) * MS);
}

#[test]
fn a_line_that_is_slower_than_a_timeout_has_a_segment_sent_again_but_not_all() {
    // A segment takes 378 ms on the line, the first timeout 220.
    let (mut pair, _) = Pair::opened("32kbit/s,delay=5ms");
    let took = pair.transfer(10 * SEGMENT as usize);
    let again = pair.client.sent_again();
    assert!((1..=2).contains(&again), "{again}");
    assert!(took / MS < 12 * 379, "{took}");
}

#[test]
fn bytes_arrive_in_order_whatever_the_link_does() {
    for seed in 0..20 {
        let spec =
            "5Mbit/s,delay=10ms,jitter=3ms,loss=5%,burst=2,reorder=5%:4ms,duplicate=2%,queue=32KiB";
        let mut pair = Pair::new(spec);
        pair.line = Line::new(spec.parse().unwrap(), seed, 0);
        pair.until(|it| it.client.is_open());
        pair.transfer(300_000);
        assert!(pair.line.carried(Way::Up).lost > 0);
    }
}

#[test]
fn what_is_answered_once_is_acknowledged_with_an_answer_or_after_40_ms() {
    let (mut pair, _) = Pair::opened("delay=1ms");
    let write = |pair: &mut Pair| {
        pair.client.write(&[1; 100]);
        let from = pair.now;
        pair.until(|it| it.client.deadline().is_none());
        pair.now - from
    };
    // Nothing was answered yet: at once.
    assert_eq!(write(&mut pair), 2 * MS);
    pair.server.write(&[2; 10]);
    pair.until(|it| it.server.deadline().is_none());
    assert_eq!(write(&mut pair), 42 * MS);
    // An answer carries it.
    pair.client.write(&[1; 100]);
    let from = pair.now;
    pair.until(|it| it.now > from);
    pair.server.write(&[2; 10]);
    pair.until(|it| it.now >= from + 2 * MS);
    // All that is left is what the client owes for the answer.
    assert_eq!(pair.client.deadline(), Some(from + 42 * MS));
}
