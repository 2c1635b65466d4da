//! The screen of phases that run, in a terminal of the usual size and in a large one, against golden
//! files: `UPDATE_GOLDEN=1` writes them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use plan::{Arrival, NodeSpec, Nodes, Pace, Phase, Read, Subscribe, Work};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use record::ledger::Statuses;
use record::notification_ledger::Stretch;
use record::{Closed, Histogram, Lateness, Ledger, Times};
use report::watch::{PhaseSetup, Plan, Scene, Sender, Shown, Stage, draw};

const MS: u64 = 1_000_000;
const SIZES: [(u16, u16); 2] = [(80, 24), (200, 60)];

fn named(code: u32) -> String {
    match code {
        0x800A_0000 => "BadTimeout".to_owned(),
        0x8034_0000 => "BadNodeIdUnknown".to_owned(),
        other => format!("Bad{:04X}", other >> 16),
    }
}

fn nodes(typed: &str) -> Nodes {
    let spec = NodeSpec::from_str(typed).unwrap();
    Nodes::listed(&[spec], |_| unreachable!("no file is named")).unwrap()
}

fn reading(targets: usize, sessions: u32) -> PhaseSetup {
    let nodes = nodes("nsu=urn:bench;i=1000..1099");
    let mut phase = Phase::new(Work::Read(Read::new(nodes)));
    phase.sessions = sessions;
    phase.arrival = Arrival::Open(Pace::Constant {
        rate: "500/s".parse().unwrap(),
    });
    phase.duration = Some(Duration::from_secs(20));
    let urls = (0..targets).map(|n| format!("opc.tcp://line{n}.example:4840"));
    PhaseSetup::of(
        "read",
        &phase,
        urls.collect(),
        vec!["read".to_owned()],
        named,
    )
}

/// What a ledger tells of a tenth of a second in which so many requests took so long.
fn tenth(n: u64, requests: u32, service: u64, status: u32) -> Closed {
    let at = n * 100 * MS;
    let mut ledger = Ledger::new();
    for k in 0..u64::from(requests) {
        let planned = at + k * 50_000;
        // Not all alike: one in a hundred takes ten times as long.
        let took = match k % 100 {
            99 => service * 10,
            k => service + k * 1000,
        };
        let times = Times {
            planned,
            sent: planned,
            completed: (planned + took).min(at + 99 * MS),
        };
        ledger.late(planned, Lateness::default(), 1);
        ledger.done(times, status, 10, 1);
    }
    ledger.take_closed(at + 100 * MS).next().unwrap()
}

/// Five seconds of three servers on two cores; the third one refuses a part, and from the third
/// second on everything takes longer.
fn busy() -> Scene {
    let mut scene = Scene::new(reading(3, 8));
    for n in 0..50 {
        let service = if n < 30 { 200_000 } else { 2 * MS };
        for target in 0..3 {
            let core = target % 2;
            scene.add(core, target, &tenth(n, 400, service, 0));
        }
        scene.add(0, 2, &tenth(n, 3, MS, 0x8034_0000));
        scene.add(0, 2, &tenth(n, 1, MS, 0x800A_0000));
        scene.add(0, 2, &tenth(n, 1, MS, 0x8001_0000 + ((n as u32 % 3) << 16)));
        for core in 0..2 {
            let ran = (n + 1) * 100 * MS;
            scene.spend(core, ran, ran / (core as u64 + 2));
        }
    }
    scene
}

fn screen(scene: &mut Scene, shown: &Shown<'_>, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, scene, shown)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn golden(name: &str, scene: &mut Scene, shown: &Shown<'_>) {
    for size in SIZES {
        let screen = screen(scene, shown, size);
        let name = format!("{name}-{}x{}.txt", size.0, size.1);
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/watch/golden")
            .join(&name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &screen).unwrap();
        }
        let good = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(good == screen, "{name} has changed:\n{screen}");
    }
}

fn running(seconds: u64) -> Shown<'static> {
    Shown {
        elapsed: Duration::from_secs(seconds),
        stage: Stage::Running,
        ..Shown::default()
    }
}

#[test]
fn a_phase_of_several_servers_shows_rates_times_errors_targets_and_cores() {
    let mut scene = busy();
    golden("busy", &mut scene, &running(5));
    let text = screen(&mut scene, &running(5), (80, 24));
    // What the busiest of the codes is, and how many of it there were.
    assert!(text.contains("150 BadNodeIdUnknown"), "{text}");
    assert!(text.contains("line2.example"), "{text}");
    assert!(text.contains("5 s of 20 s, 15 s left"), "{text}");
}

#[test]
fn a_point_of_a_scenario_says_where_it_stands_and_what_a_person_changed() {
    let plan = Plan {
        point: Some((3, 12, "batch=100, repetition 1 of 5".to_owned())),
        phase: (2, 3),
        behind: Some(Duration::from_secs(754)),
    };
    let shown = Shown {
        plan: Some(&plan),
        percent: Some(120),
        changes: 2,
        ..running(5)
    };
    golden("changed", &mut busy(), &shown);
    let text = screen(&mut busy(), &shown, (80, 24));
    assert!(text.contains("the result is marked"), "{text}");
    assert!(text.contains("phase 2 of 3, 12:34 behind it"), "{text}");
}

#[test]
fn subscriptions_show_values_messages_delays_and_what_was_lost() {
    let nodes = nodes("nsu=urn:bench;i=3030");
    let subscribe = Subscribe::new(nodes);
    let mut phase = Phase::new(Work::Subscribe(Box::new(subscribe)));
    phase.duration = Some(Duration::from_secs(60));
    let target = vec!["opc.tcp://plant:4840".to_owned()];
    let works = vec!["subscribe".to_owned()];
    let mut scene = Scene::new(PhaseSetup::of("subscribe", &phase, target, works, named));
    let mut heard = Stretch::default();
    for n in 0..40 {
        let closed = Closed {
            start_ns: n * 100 * MS,
            width_ns: 100 * MS,
            delay: Histogram::of((20 + n) * MS, 100),
            statuses: Statuses::default(),
            ..Closed::default()
        };
        scene.add(0, 0, &closed);
        heard.values.received += 100;
        heard.messages.notifications += 10;
        heard.places.missing = n / 20;
        scene.hear(0, &heard);
        scene.spend(0, (n + 1) * 100 * MS, (n + 1) * 97 * MS);
    }
    golden("notified", &mut scene, &running(4));
    let text = screen(&mut scene, &running(4), (80, 24));
    assert!(text.contains("1000/s values, 100/s messages"), "{text}");
    assert!(text.contains("1 lost"), "{text}");
    // The server sends by itself: there is nothing to pause.
    assert!(!text.contains("pause"), "{text}");
}

#[test]
fn a_listener_has_a_row_for_each_publisher_and_group() {
    let listen = plan::Listen {
        from: "opc.udp://239.0.0.1:4840".to_owned(),
        broker: None,
        interface: None,
        publishers: Vec::new(),
        groups: Vec::new(),
        security: "none".to_owned(),
        key_service: None,
        discovery: None,
        listeners: 1,
        receive_buffer: 0,
        strict: false,
        constant_nonce: false,
    };
    let mut phase = Phase::new(Work::Listen(Box::new(listen)));
    phase.duration = Some(Duration::from_secs(60));
    let target = vec!["opc.udp://239.0.0.1:4840".to_owned()];
    let about = PhaseSetup::of("listen", &phase, target, vec!["listen".to_owned()], named);
    let mut scene = Scene::new(about);
    for n in 0..40 {
        let closed = Closed {
            start_ns: n * 100 * MS,
            width_ns: 100 * MS,
            ..Closed::default()
        };
        scene.add(0, 0, &closed);
        let sender = |name: &str, each: u64, lost: u64| Sender {
            name: name.to_owned(),
            how: "UADP, Variant, sign".to_owned(),
            messages: (n + 1) * each,
            lost,
        };
        scene.send(vec![sender("7, group 1", 10, 0), sender("line 4", 1, 3)]);
    }
    let text = screen(&mut scene, &running(4), (100, 30));
    let row = |name: &str| {
        let line = text.lines().find(|it| it.starts_with(name));
        let words = line.unwrap_or_else(|| panic!("{text}")).split_whitespace();
        words.rev().take(3).map(str::to_owned).collect::<Vec<_>>()
    };
    // What is lost, all messages, and those of the last second.
    assert_eq!(row("7, group 1"), ["0", "400", "100/s"], "{text}");
    assert_eq!(row("line 4"), ["3", "40", "10/s"], "{text}");
    assert!(text.contains("UADP, Variant, sign"), "{text}");
}

#[test]
fn before_it_begins_and_at_its_end_it_says_what_it_waits_for() {
    let mut scene = Scene::new(reading(1, 1000));
    let opening = Shown::default();
    let text = screen(&mut scene, &opening, (80, 24));
    assert!(text.contains("opening sessions"), "{text}");
    let mut scene = busy();
    let mut waiting = tenth(50, 1, MS, 0);
    waiting.in_flight = 7;
    scene.add(0, 0, &waiting);
    let ending = Shown {
        stage: Stage::Ending,
        ..running(20)
    };
    let text = screen(&mut scene, &ending, (80, 24));
    assert!(text.contains("ending, 7 answers awaited"), "{text}");
}

#[test]
fn a_pause_shows_no_figures_of_a_second_in_which_nothing_was_asked() {
    let paused = Shown {
        paused: true,
        ..running(9)
    };
    let text = screen(&mut busy(), &paused, (80, 24));
    assert!(text.contains("PAUSED"), "{text}");
    let now = text.lines().find(|it| it.starts_with("response, now"));
    assert_eq!(now.unwrap().matches('–').count(), 6, "{text}");
    assert!(text.contains("0/s now"), "{text}");
}

#[test]
fn the_help_names_every_key() {
    let plan = Plan {
        point: Some((3, 12, "batch=100".to_owned())),
        phase: (2, 3),
        behind: None,
    };
    let help = Shown {
        help: true,
        plan: Some(&plan),
        beside: Some((1, 2)),
        ..running(5)
    };
    golden("help", &mut busy(), &help);
    let text = screen(&mut busy(), &help, (80, 24));
    for key in ["p  ", "+/-", "n  ", "q  ", "tab", "Ctrl-C"] {
        assert!(text.contains(key), "{key}: {text}");
    }
}

#[test]
fn the_help_leaves_out_keys_that_do_nothing_here() {
    let help = Shown {
        help: true,
        ..running(5)
    };
    let with = |change: &dyn Fn(&mut PhaseSetup)| {
        let mut about = reading(1, 1);
        change(&mut about);
        screen(&mut Scene::new(about), &help, (80, 24))
    };
    let alone = with(&|_| ());
    assert!(!alone.contains("behind it follows"), "{alone}");
    assert!(!alone.contains("side by side"), "{alone}");
    // One request of each session at a time: it can wait, and there cannot be two.
    let one_each = with(&|it| it.scalable = false);
    assert!(one_each.contains("until p again"), "{one_each}");
    assert!(!one_each.contains("+/-"), "{one_each}");
    assert!(one_each.contains("nothing to add"), "{one_each}");
    let rounds = with(&|it| (it.pausable, it.scalable) = (false, false));
    assert!(!rounds.contains("until p again"), "{rounds}");
    assert!(!rounds.contains("+/-"), "{rounds}");
    assert!(rounds.contains("cannot be paused"), "{rounds}");
}

#[test]
fn any_terminal_is_drawn_on_however_small_or_large() {
    let mut scene = busy();
    for width in [1, 10, 49, 50, 63, 64, 80, 129, 130, 300] {
        for height in [1, 2, 11, 12, 15, 24, 60, 200] {
            for help in [false, true] {
                let shown = Shown { help, ..running(5) };
                let text = screen(&mut scene, &shown, (width, height));
                assert_eq!(text.lines().count(), usize::from(height));
            }
        }
    }
    let small = screen(&mut scene, &running(5), (40, 10));
    assert!(small.contains("50 columns and 12 lines"), "{small}");
}

#[test]
fn what_a_server_is_called_cannot_steer_the_terminal() {
    let mut about = reading(1, 1);
    about.targets = vec!["opc.tcp://a\x1b[2Jb:4840".to_owned()];
    let text = screen(&mut Scene::new(about), &running(1), (80, 24));
    assert!(!text.contains('\x1b'), "{text:?}");
}
