//! What becomes of sessions and values when links and servers stop.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use simulate::{
    Act, BackOff, Connect, ConnectCost, Engine, Files, Happening, Kind, Link, On, Outcome, Phases,
    Publishing, Totals, World,
};

use support::{MS, S, US, kind, publishing, requests, world};

fn link(text: &str) -> Link {
    Link {
        name: "cell".to_owned(),
        spec: text.parse().unwrap(),
        each: None,
    }
}

/// Twenty clients at a server behind a link, a message each second.
fn cell(length: u64, happenings: Vec<Happening>) -> World {
    let it = Kind {
        sessions: 20,
        link: Some(0),
        publishing: Some(publishing(S, MS)),
        ..kind("controller")
    };
    World {
        links: vec![link("10Mbit/s,delay=1ms")],
        happenings,
        ..world(length, vec![it])
    }
}

fn of(world: &World) -> (Outcome, Totals) {
    let outcome = Engine::new(world).unwrap().finish();
    let totals = outcome.groups[0].totals;
    (outcome, totals)
}

fn happening(on: On, act: Act, lasts: u64) -> Happening {
    Happening {
        at: 60 * S,
        on,
        act,
        lasts,
    }
}

/// What should have come: 100 values a second for each of 20 clients, but for what is under way.
fn all_values(totals: &Totals, seconds: u64) {
    let found = totals.values + totals.missed + totals.overwritten;
    let expected = 20 * 100 * seconds;
    assert!(
        found.abs_diff(expected) <= expected / 100,
        "{found} of {expected}: {totals:?}"
    );
}

#[test]
fn without_trouble_every_message_comes() {
    let (outcome, totals) = of(&cell(120 * S, Vec::new()));
    assert_eq!((totals.cut, totals.missed, totals.overwritten), (0, 0, 0));
    all_values(&totals, 120);
    // 1 ms of CPU for each of 20 messages a second; 20 x (160 + 2600 bytes, two segments) down.
    assert!((outcome.busy[0].mean_cores - 0.02).abs() < 1e-3);
    let share = outcome.links[0].share[1].unwrap();
    let expected = 20.0 * (2760.0 + 2.0 * 66.0) * 8.0 / 10e6;
    assert!((share - expected).abs() < 0.01 * expected, "{share}");
}

#[test]
fn the_same_seed_is_the_same_run_and_another_is_another() {
    let of = |seed| {
        let mut world = cell(
            90 * S,
            vec![happening(On::Link(0, None), Act::Down, 20 * S)],
        );
        world.seed = seed;
        world.kinds[0].client.back_off.jitter = 0.5;
        world.links = vec![link("10Mbit/s,delay=1ms,jitter=3ms,loss=1%")];
        format!("{:?}", Engine::new(&world).unwrap().finish())
    };
    let first = of(1);
    assert_eq!(first, of(1));
    assert_ne!(first, of(2));
}

#[test]
fn a_short_outage_is_bridged_by_tcp_and_a_long_one_costs_the_connection() {
    let (_, short) = of(&cell(
        180 * S,
        vec![happening(On::Link(0, None), Act::Down, 2 * S)],
    ));
    assert_eq!(short.cut, 0, "{short:?}");
    assert!(short.sent_again > 0);
    all_values(&short, 180);
    // Clients wait for 5 s, try to connect for 10 s, and find their sessions again.
    let (outcome, long) = of(&cell(
        180 * S,
        vec![happening(On::Link(0, None), Act::Down, 30 * S)],
    ));
    assert_eq!(
        (long.cut, long.resumed, long.renewed),
        (20, 20, 0),
        "{long:?}"
    );
    assert_eq!(long.left_away, 0);
    assert!(long.given_up >= 20 && long.recovered > 0, "{long:?}");
    assert!(
        long.missed > 20 * 100 * 20 && long.missed < 20 * 100 * 50,
        "{long:?}"
    );
    all_values(&long, 180);
    let away = &outcome.groups[0].outages;
    assert_eq!(away.count(), 20);
    assert!(away.min().unwrap() >= 29 * S && away.max().unwrap() < 60 * S);
    let connected = &outcome.busy[0].connected;
    assert_eq!(
        (connected.iter().min(), connected.last()),
        (Some(&0), Some(&20))
    );
}

#[test]
fn an_outage_beyond_the_lifetime_ends_subscriptions() {
    let (_, totals) = of(&cell(
        240 * S,
        vec![happening(On::Link(0, None), Act::Down, 90 * S)],
    ));
    assert_eq!((totals.resumed, totals.renewed), (0, 20), "{totals:?}");
    all_values(&totals, 240);
}

#[test]
fn a_restart_is_known_at_once_and_a_lost_power_only_after_a_while() {
    let of_act = |act| {
        of(&cell(
            180 * S,
            vec![happening(On::Node(0, None), act, 2 * S)],
        ))
    };
    let (restart, totals) = of_act(Act::Restart);
    assert_eq!((totals.cut, totals.renewed), (20, 20), "{totals:?}");
    all_values(&totals, 180);
    let (power, totals) = of_act(Act::PowerOff);
    assert_eq!((totals.cut, totals.renewed), (20, 20), "{totals:?}");
    let away = |it: &Outcome| it.groups[0].outages.max().unwrap();
    assert!(away(&restart) < 5 * S, "{}", away(&restart));
    assert!(away(&power) > 5 * S, "{}", away(&power));
}

#[test]
fn what_a_server_had_taken_on_is_not_done_when_it_stops() {
    // A job of 10 s is taken on at 1 s at the latest, and the server stops in the middle of it.
    let mut it = kind("slow");
    it.publishing = Some(publishing(S, 10 * S));
    let mut world = world(20 * S, vec![it]);
    world.happenings = vec![Happening {
        at: 4 * S,
        on: On::Node(0, Some(0)),
        act: Act::Restart,
        lasts: 100 * S,
    }];
    let (outcome, totals) = of(&world);
    assert_eq!(totals.messages, 0);
    let spent = outcome.busy[0].mean_cores * 20.0;
    assert!((3.0..=4.0).contains(&spent), "{spent}");
}

#[test]
fn a_storm_of_clients_that_give_up_too_early_keeps_a_server_busy_for_nothing() {
    // 200 clients whose connecting takes 100 ms of CPU each: 20 s for all of them.
    let of_jitter = |most, jitter| {
        let step = ConnectCost {
            cost: 20 * MS,
            up_bytes: 500,
            down_bytes: 500,
        };
        let mut it = Kind {
            sessions: 200,
            publishing: Some(publishing(S, 100 * US)),
            connect: Connect {
                full: vec![step; 5],
                resume: vec![step; 5],
            },
            ..kind("controller")
        };
        it.client.timeout = 5 * S;
        it.client.back_off = BackOff {
            first: S,
            most,
            jitter,
        };
        let mut world = world(240 * S, vec![it]);
        world.happenings = vec![happening(On::Node(0, None), Act::Restart, S)];
        of(&world).1
    };
    let (all_at_once, spread) = (of_jitter(S, 0.0), of_jitter(120 * S, 0.9));
    assert!(
        all_at_once.given_up > 2 * spread.given_up,
        "{all_at_once:?} {spread:?}"
    );
    assert!(
        all_at_once.left_away > spread.left_away,
        "{all_at_once:?} {spread:?}"
    );
}

#[test]
fn who_is_asked_for_too_much_skips_publishings_and_is_busy_all_the_time() {
    let it = Kind {
        sessions: 20,
        publishing: Some(publishing(S, 100 * MS)),
        ..kind("small")
    };
    let (outcome, totals) = of(&world(100 * S, vec![it]));
    assert!((outcome.busy[0].mean_cores - 1.0).abs() < 0.01);
    assert!(totals.skipped > 900 && totals.overwritten > 0, "{totals:?}");
    all_values(&totals, 100);
}

#[test]
fn a_client_with_too_few_publish_requests_waits_for_round_trips() {
    let of_window = |window| {
        let mut world = cell(60 * S, Vec::new());
        world.links = vec![link("delay=400ms")];
        let it = Publishing {
            window,
            ..publishing(500 * MS, MS)
        };
        world.kinds[0].publishing = Some(it);
        of(&world).1
    };
    let (one, three) = (of_window(1), of_window(3));
    assert!(one.waited > 1_000 && three.waited == 0, "{one:?} {three:?}");
    assert!(one.messages < three.messages * 3 / 4);
}

#[test]
fn there_is_a_book_for_each_that_one_was_asked_for() {
    let mut world = cell(30 * S, Vec::new());
    world.kinds[0].count = 3;
    let all = of(&world).1;
    for (files, recorders) in [(Files::Node, 3), (Files::Client, 60)] {
        world.files = files;
        let outcome = Engine::new(&world).unwrap().finish();
        assert_eq!(outcome.groups.len(), recorders);
        let messages: u64 = outcome.groups.iter().map(|it| it.totals.messages).sum();
        assert_eq!(messages, all.messages);
        assert!(
            outcome
                .groups
                .iter()
                .all(|it| it.cpu_cores.iter().any(|it| *it > 0.0))
        );
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let refused = |change: &dyn Fn(&mut World), reason: &str| {
        let mut world = cell(S, Vec::new());
        change(&mut world);
        let error = Engine::new(&world).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    refused(&|it| it.length = 0, "a duration of 0");
    refused(&|it| it.kinds[0].background = 1.2, "120 % of its cores");
    refused(&|it| it.kinds[0].link = Some(7), "a link that is not there");
    refused(
        &|it| it.kinds[0].publishing.as_mut().unwrap().window = 9,
        "want 1 to 7",
    );
    let third = happening(On::Node(0, Some(2)), Act::Restart, S);
    refused(
        &|it| it.happenings = vec![third],
        "no number 3 of it, but 1",
    );
}

#[test]
fn requests_over_a_bad_link_are_answered_late_and_fail_while_it_is_down() {
    let it = Kind {
        link: Some(0),
        requests: Some(requests(100 * MS, MS)),
        ..kind("read")
    };
    let mut world = world(120 * S, vec![it]);
    world.links = vec![link("delay=5ms,loss=2%")];
    world.happenings = vec![happening(On::Link(0, None), Act::Down, 20 * S)];
    let (outcome, totals) = of(&world);
    let whole = outcome.groups[0].tally.whole();
    let response = whole.histogram(record::Measure::Response);
    let (half, slow) = (
        response.quantile(0.5).unwrap(),
        response.quantile(0.99).unwrap(),
    );
    assert!(
        half.abs_diff(11 * MS) < MS && slow > 200 * MS,
        "{half} {slow}"
    );
    assert!(
        totals.cut >= 1 && whole.sum.statuses.bad() > 50,
        "{totals:?}"
    );
}

#[test]
fn phases_that_are_aligned_make_the_last_one_wait() {
    let last = |phases| {
        let mut world = cell(20 * S, Vec::new());
        let it = world.kinds[0].publishing.as_mut().unwrap();
        (it.phases, it.cost) = (phases, 10 * MS);
        let outcome = Engine::new(&world).unwrap().finish();
        let whole = outcome.groups[0].tally.whole();
        whole.histogram(record::Measure::Queueing).max().unwrap()
    };
    assert!(last(Phases::Aligned) >= 200 * MS && last(Phases::Staggered) < 20 * MS);
}
