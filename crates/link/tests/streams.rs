//! Streams over a link, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic)]

use link::{Event, HEADERS, Relay, SEGMENT, Spec, Way};

const MS: u64 = 1_000_000;

fn relay(text: &str, seed: u64) -> Relay {
    Relay::new(text.parse::<Spec>().unwrap(), seed)
}

/// Goes on until nothing is under way, and answers wishes to connect at once. Each event with its time.
fn run(relay: &mut Relay) -> Vec<(u64, Event)> {
    let mut all = Vec::new();
    let mut now = 0;
    while let Some(at) = relay.deadline() {
        now = now.max(at);
        while let Some(event) = relay.poll(now) {
            if let Event::Connect(id) = event {
                relay.connected(now, id);
            }
            if let Event::Bytes(id, way, bytes) = &event {
                relay.taken(*id, *way, bytes.len());
            }
            all.push((now, event));
        }
    }
    all
}

fn bytes_of(events: &[(u64, Event)], which: Way) -> Vec<u8> {
    let parts = events.iter().filter_map(|(_, event)| match event {
        Event::Bytes(_, way, bytes) if *way == which => Some(bytes.to_vec()),
        _ => None,
    });
    parts.flatten().collect()
}

#[test]
fn a_connection_takes_a_round_trip_and_bytes_the_time_of_their_segments() {
    let mut relay = relay("8Mbit/s,delay=20ms", 1);
    relay.connect(0, 1);
    // A SYN of 74 bytes at 1 byte/µs each way.
    let opening = run(&mut relay);
    assert_eq!(
        opening,
        [
            (20 * MS + 74_000, Event::Connect(1)),
            (40 * MS + 148_000, Event::Open(1))
        ]
    );
    let start = 100 * MS;
    let sent: Vec<u8> = (0..4000_u32).map(|n| n as u8).collect();
    assert_eq!(relay.send(start, 1, Way::Up, &sent), 4000);
    relay.end(start, 1, Way::Up);
    let events = run(&mut relay);
    assert_eq!(bytes_of(&events, Way::Up), sent);
    // Three segments and the end of the stream, each with its headers.
    let on_line = (4000 + 4 * HEADERS) * 1000;
    assert_eq!(
        events.last(),
        Some(&(start + on_line + 20 * MS, Event::End(1, Way::Up)))
    );
    assert_eq!(relay.tally(Way::Up).bytes, 4000);
}

#[test]
fn all_bytes_arrive_in_order_whatever_the_line_does() {
    let mut relay = relay(
        "5Mbit/s,delay=10ms,jitter=5ms,loss=10%,burst=2,reorder=5%:30ms,duplicate=5%",
        3,
    );
    relay.connect(0, 1);
    relay.connect(0, 2);
    run(&mut relay);
    let sent: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    assert_eq!(relay.send(9_000 * MS, 1, Way::Up, &sent), sent.len());
    assert_eq!(relay.send(9_000 * MS, 1, Way::Down, &sent), sent.len());
    let events = run(&mut relay);
    assert_eq!(bytes_of(&events, Way::Up), sent);
    assert_eq!(bytes_of(&events, Way::Down), sent);
    let up = relay.tally(Way::Up);
    assert!(up.lost > 5 && up.again >= up.lost, "{up:?}");
}

#[test]
fn a_lost_segment_comes_after_the_timeout_or_a_round_trip_when_later_ones_tell_of_it() {
    // One small message at a time: nothing follows that could tell, so that each loss costs 200 ms and a round trip.
    let mut one = relay("delay=20ms,loss=20%", 11);
    one.connect(0, 1);
    let opening = run(&mut one);
    let opened = opening.last().unwrap().0;
    let opening_losses = (one.tally(Way::Up).lost, one.tally(Way::Down).lost);
    // Each lost SYN is a second, then two, and so on.
    let steps = |n: u64| ((1 << n) - 1) * 1000;
    let mut waited = (steps(opening_losses.0) + steps(opening_losses.1)) * MS;
    waited += 40 * MS;
    assert_eq!(opened, waited);
    let mut seen = Vec::new();
    for n in 0..200_u64 {
        let start = (100_000 + n * 100_000) * MS;
        one.send(start, 1, Way::Up, b"hello");
        let events = run(&mut one);
        seen.push((events[0].0 - start) / MS);
    }
    seen.sort_unstable();
    seen.dedup();
    // 20 ms; 240 more for the first loss, 440 for the second, 840 for the third, and so on.
    assert!(seen.len() >= 3, "{seen:?}");
    let expected = [20, 260, 700, 1540, 3180, 6420];
    assert!(seen.iter().all(|it| expected.contains(it)), "{seen:?}");
    // In a stream later segments tell of it after a round trip.
    let mut many = relay("80Mbit/s,down.delay=20ms,up.delay=20ms,up.loss=2%", 6);
    many.connect(0, 1);
    run(&mut many);
    let start = 100_000 * MS;
    many.send(start, 1, Way::Up, &vec![1; 300 * SEGMENT]);
    let events = run(&mut many);
    assert!(many.tally(Way::Up).lost > 0);
    let last = events.last().unwrap().0 - start;
    assert!(last > 65 * MS && last < 200 * MS, "{last}");
}

#[test]
fn what_does_not_fit_in_the_queue_stays_with_the_sender() {
    let mut relay = relay("8Mbit/s,queue=20kB", 1);
    relay.connect(0, 1);
    run(&mut relay);
    let start = 1000 * MS;
    let bytes = vec![7; 100_000];
    let mut sent = relay.send(start, 1, Way::Up, &bytes);
    assert!((15_000..=20_000).contains(&sent), "{sent}");
    assert_eq!(relay.room(start, 1, Way::Up), 0);
    let mut arrived = 0;
    while sent < bytes.len() {
        let at = relay.room_at(Way::Up);
        while let Some(event) = relay.poll(at) {
            if let Event::Bytes(_, _, part) = event {
                arrived += part.len();
            }
        }
        let more = relay.send(at, 1, Way::Up, &bytes[sent..]);
        assert!(more > 0, "room was promised at {at}");
        sent += more;
    }
    arrived += bytes_of(&run(&mut relay), Way::Up).len();
    assert_eq!(arrived, bytes.len());
    assert_eq!(relay.tally(Way::Up).full, 0);
}

#[test]
fn a_receiver_that_takes_nothing_stops_its_sender() {
    let mut relay = relay("", 1);
    relay.connect(0, 1);
    run(&mut relay);
    let bytes = vec![0; 1 << 20];
    let mut sent = 0;
    while relay.room(0, 1, Way::Down) > SEGMENT {
        sent += relay.send(0, 1, Way::Down, &bytes);
        while relay.poll(0).is_some() {}
        assert!(sent < 100 << 20, "nothing stops it");
    }
    relay.taken(1, Way::Down, 1 << 20);
    assert!(relay.room(0, 1, Way::Down) >= 1 << 20);
}

#[test]
fn one_direction_ends_and_the_other_goes_on() {
    let mut relay = relay("delay=5ms", 1);
    relay.connect(0, 1);
    run(&mut relay);
    let start = 1000 * MS;
    relay.end(start, 1, Way::Up);
    assert_eq!(relay.send(start, 1, Way::Up, b"late"), 0);
    assert_eq!(relay.send(start, 1, Way::Down, b"answer"), 6);
    relay.reset(start, 1, Way::Down);
    let events = run(&mut relay);
    let without_time: Vec<_> = events.into_iter().map(|(_, event)| event).collect();
    assert_eq!(
        without_time,
        [
            Event::End(1, Way::Up),
            Event::Bytes(1, Way::Down, b"answer".as_slice().into()),
            Event::Reset(1, Way::Down),
        ]
    );
    relay.forget(1);
    assert_eq!(relay.connections(), 0);
}

#[test]
fn connections_share_one_line() {
    let mut relay = relay("8Mbit/s", 1);
    for id in 1..=2 {
        relay.connect(0, id);
    }
    run(&mut relay);
    let start = 1000 * MS;
    for id in 1..=2 {
        relay.send(start, id, Way::Up, &[0; SEGMENT]);
    }
    let events = run(&mut relay);
    let times: Vec<_> = events.iter().map(|(at, _)| (at - start) / 1000).collect();
    assert_eq!(times, [1514, 3028]);
}

#[test]
fn nobody_takes_the_connection() {
    let mut relay = relay("delay=5ms", 1);
    relay.connect(0, 9);
    assert_eq!(relay.poll(5 * MS), Some(Event::Connect(9)));
    relay.refused(5 * MS, 9);
    assert_eq!(relay.deadline(), Some(10 * MS));
    assert_eq!(relay.poll(10 * MS), Some(Event::Refused(9)));
}
