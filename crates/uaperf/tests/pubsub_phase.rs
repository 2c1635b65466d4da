//! Phases with PubSub in scenarios, over unicast on the loopback: ordinary runs with exact accounts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::UdpSocket;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use pubsub::layout::Layout;
use pubsub::template::Template;
use pubsub::{Content, Fields, PublisherId};
use record::Run;
use record::run::{Kind, PubSub};
use record::sweep::Sweep;
use wire::types::Variant;

use crate::support::network;
use crate::support::{Said, Telling, command, signal};

/// Carries a scenario out, and gives what was said and measured.
fn run(folder: &Path, scenario: &str) -> (Said, Vec<Run>) {
    std::fs::write(folder.join("x.toml"), scenario).unwrap();
    let said = Said::by(&mut command(
        folder,
        &["run", "x.toml", "--out", "out", "--quiet"],
    ));
    (said, measured(folder))
}

fn measured(folder: &Path) -> Vec<Run> {
    let out = folder.join("out");
    let index = Sweep::read(&out).unwrap();
    let files = index.measurements.iter().filter_map(|it| it.file.clone());
    files
        .map(|file| Run::read(&out.join(file)).unwrap())
        .collect()
}

fn told(run: &Run) -> &PubSub {
    run.phases[0].pubsub.as_ref().unwrap()
}

/// On time or not: a machine that does other things is no fault of what was sent.
fn is_sound(run: &Run) -> bool {
    matches!(run.verdict.kind, Kind::Valid | Kind::GeneratorLimited)
}

#[test]
fn every_value_that_is_published_is_heard_in_every_encoding_and_security() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "\
        [[phase]]\nservice = 'publish'\nsignals = 20\ninterval = '20ms'\nduration = '400ms'\n\
        encoding = { sweep = ['variant', 'raw', 'value'] }\n\
        security = { sweep = ['none', 'sign', 'sign-and-encrypt'] }\n\
        expect = ['loss=0', 'errors=0']\n";
    let (said, runs) = run(folder.path(), scenario);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    assert_eq!(runs.len(), 9);
    let mut sizes = Vec::new();
    for run in &runs {
        let (phase, told) = (&run.phases[0], told(run));
        let sent = told.published.as_ref().unwrap();
        let [heard] = told.listeners.as_slice() else {
            panic!("{told:?}")
        };
        let context = format!("{told:?}");
        assert!(is_sound(run), "{context}");
        assert_eq!(
            (sent.cycles, sent.datagrams, sent.values),
            (20, 20, 400),
            "{context}"
        );
        assert_eq!((heard.datagrams, heard.values), (20, 400), "{context}");
        assert_eq!(
            (heard.lost, heard.never_came),
            (Some(0), Some(0)),
            "{context}"
        );
        assert_eq!(heard.bytes, 20 * sent.datagram_bytes, "{context}");
        assert_eq!(phase.total.values, 400);
        assert_eq!(phase.total.histogram("delay").count(), 400);
        assert_eq!(phase.total.histogram("lateness").count(), 20);
        assert_eq!(phase.total.histogram("arrival").count(), 19);
        assert!(phase.total.histogram("response").is_empty());
        assert!(phase.expectations.iter().all(|it| it.met));
        let secured = run.targets[0]
            .security
            .rsplit(':')
            .next()
            .unwrap()
            .to_lowercase();
        assert_eq!(heard.security, [secured]);
        sizes.push(sent.datagram_bytes);
    }
    // A header of 14 bytes and a signature of 32, whatever is in the message.
    for each in sizes.chunks(3) {
        assert_eq!((each[1] - each[0], each[2] - each[0]), (46, 46));
    }
    // Floats as RawData take 4 bytes, as Variants 5.
    assert_eq!(sizes[0] - sizes[3], 20 + 2);
    let shown = Said::by(&mut command(folder.path(), &["show", "out"]));
    assert_eq!(shown.code, 0, "{}{}", shown.out, shown.err);
    let file = folder.path().join("out/001-point1-1.json");
    let shown = Said::by(&mut command(
        folder.path(),
        &["show", &file.display().to_string()],
    ));
    for words in [
        "publish 20 values (float) each 20 ms as Variants",
        "20 cycles",
        "lost        0",
    ] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
}

#[test]
fn several_listeners_of_a_group_hear_the_same_or_it_is_said_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let name = "several_listeners_of_a_group_hear_the_same_or_it_is_said_why_not";
    let reach = network::group(name, "239.255.7.1", 3);
    let scenario = |to: &str, listeners: u32| {
        format!(
            "[[phase]]\nservice = 'publish'\n{to}listeners = {listeners}\nsignals = 10\ninterval = '20ms'\n\
             duration = '300ms'\n"
        )
    };
    let group = format!("to = '{}'\ninterface = '127.0.0.1'\n", reach.to);
    let scenario_of_it = scenario(&group, reach.listeners);
    let (said, runs) = run(folder.path(), &scenario_of_it);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let told = told(&runs[0]);
    let heard: Vec<u64> = told.listeners.iter().map(|it| it.values).collect();
    let each = vec![150; reach.listeners as usize];
    assert_eq!((heard, told.lost()), (each, Some(0)));
    // A second is one for each of them, however many listen; what comes late on a busy machine is in no second of the window.
    let phase = &runs[0].phases[0];
    let each = phase.values_per_s().unwrap();
    let seconds = (phase.to_ns - phase.from_ns) as f64 / 1e9;
    let all = each * seconds * f64::from(reach.listeners);
    assert!((all - phase.total.values as f64).abs() < 1.0, "{each}");
    assert!(each < 501.0, "{each}");

    std::fs::write(folder.path().join("y.toml"), scenario("", 3)).unwrap();
    let said = Said::by(&mut command(folder.path(), &["check", "y.toml"]));
    assert_eq!(said.code, 2, "{}", said.out);
    assert!(said.err.contains("want a group"), "{}", said.err);
}

#[test]
fn a_phase_that_asks_a_server_needs_one_whatever_stands_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Said::by(&mut command(folder.path(), &["check", "x.toml"]))
    };
    let publish = "[[phase]]\nservice = 'publish'\n";
    assert_eq!(check(publish).code, 0);
    let said = check(&format!("{publish}[[phase]]\nservice = 'read'\n"));
    assert_eq!(said.code, 2, "{}", said.out);
    assert!(said.err.contains("target"), "{}", said.err);
    for (wrong, told) in [
        ("interval = '0s'", "interval"),
        ("security = 'signed'", "security"),
        ("layout = 'periodic-fixed'\nwriters = 2", "writers"),
        ("roll_over = '1s'", "roll_over"),
        ("keys = 'group.keys'", "keys"),
        ("nodes = ['i=1']", "nodes"),
    ] {
        let said = check(&format!("{publish}{wrong}\n"));
        let context = format!("{wrong}: {}{}", said.out, said.err);
        assert_eq!(said.code, 2, "{context}");
        assert!(said.err.contains(told), "{context}");
    }
}

/// A message of two DataSetWriters, with sequence numbers.
fn template() -> Template {
    let content = Content::Key(Fields::Variant(vec![Variant::UInt32(0); 5]));
    let sets = [(1, content.clone()), (2, content)];
    let message = Layout::Dynamic.message(PublisherId::UInt16(9), 1, 1, sets);
    Template::new(&message, &[&[], &[]], None).unwrap()
}

#[test]
fn a_listener_says_exactly_what_never_came_came_again_and_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let scenario = format!(
        "[[phase]]\nservice = 'listen'\nfrom = 'opc.udp://{at}'\nduration = '3s'\nexpect = ['loss<1%', 'errors=0']\n"
    );
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let mut child = command(folder.path(), &["run", "x.toml", "--out", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It listens when its port is taken; who tried by binding would be in its way.
    let port = format!(":{:04X}", at.port());
    let is_taken = || {
        let Ok(all) = std::fs::read_to_string("/proc/net/udp") else {
            return UdpSocket::bind(at).is_err();
        };
        let mut locals = all.lines().filter_map(|it| it.split_whitespace().nth(1));
        locals.any(|it| it.ends_with(&port))
    };
    while !is_taken() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(at).unwrap();
    let (mut template, mut out) = (template(), Vec::new());
    for n in 0..100 {
        template.write(wire::types::DateTime::now().ticks(), &mut out);
        // Three in a row and two alone never come, five come twice, and four are cut.
        if matches!(n, 10..=12 | 30 | 50) {
            continue;
        }
        socket.send(&out).unwrap();
        if n % 20 == 5 {
            socket.send(&out).unwrap();
        }
        if n % 25 == 1 {
            socket.send(&out[..out.len() - 3]).unwrap();
        }
    }
    let output = child.wait_with_output().unwrap();
    let runs = measured(folder.path());
    let (phase, told) = (&runs[0].phases[0], told(&runs[0]));
    let heard = &told.listeners[0];
    let context = format!("{heard:?} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(heard.datagrams, 95 + 5 + 4, "{context}");
    // Of two writers.
    assert_eq!(
        (heard.lost, heard.gaps, heard.longest_gap),
        (Some(10), 6, 3),
        "{context}"
    );
    assert_eq!(
        (heard.unreadable(), phase.total.errors),
        (4, 4),
        "{context}"
    );
    assert_eq!(heard.never_came, None, "{context}");
    let met: Vec<bool> = phase.expectations.iter().map(|it| it.met).collect();
    assert_eq!(met, [false, false], "{context}");
    assert_eq!(output.status.code(), Some(3), "{context}");
}

#[test]
fn a_listener_that_hears_nothing_and_a_port_that_is_taken_are_no_results() {
    let folder = tempfile::tempdir().unwrap();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let listen =
        format!("[[phase]]\nservice = 'listen'\nfrom = 'opc.udp://{at}'\nduration = '200ms'\n");
    std::fs::write(folder.path().join("x.toml"), &listen).unwrap();
    let said = Said::by(&mut command(
        folder.path(),
        &["run", "x.toml", "--out", "taken"],
    ));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("cannot listen at"), "{}", said.err);
    drop(taken);
    let (said, runs) = run(folder.path(), &listen);
    assert_eq!((said.code, runs[0].verdict.kind), (1, Kind::Incomplete));
    assert!(said.out.contains("INCOMPLETE"), "{}", said.out);
    assert_eq!(runs[0].verdict.evidence, ["nothing came"]);
}

#[test]
fn messages_that_nobody_can_read_fail() {
    let folder = tempfile::tempdir().unwrap();
    let key = |digit: &str| format!("PubSub-Aes128-CTR 1 {}\n", digit.repeat(104));
    std::fs::write(folder.path().join("a.keys"), key("1")).unwrap();
    std::fs::write(folder.path().join("b.keys"), key("2")).unwrap();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("opc.udp://{}", free.local_addr().unwrap());
    drop(free);
    let mut sender = command(
        folder.path(),
        &["publish", &url, "--interval", "10ms", "--duration", "20s"],
    )
    .args(["--keys", "a.keys", "--security", "sign"])
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let scenario = format!(
        "[[phase]]\nservice = 'listen'\nfrom = '{url}'\nkeys = 'b.keys'\nsecurity = 'sign'\nduration = '2s'\n"
    );
    let (said, runs) = run(folder.path(), &scenario);
    sender.kill().unwrap();
    sender.wait().unwrap();
    let context = format!("{}{}", said.out, said.err);
    assert_eq!(
        (said.code, runs[0].verdict.kind),
        (1, Kind::Failed),
        "{context}"
    );
    let told = told(&runs[0]);
    assert_eq!(told.sum(|it| it.datagrams), told.sum(|it| it.unreadable()));
}

#[test]
fn keys_of_a_file_roll_over_without_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let key = |token: u32| {
        format!(
            "PubSub-Aes128-CTR {token} {}\n",
            token.to_string().repeat(104)
        )
    };
    let file = [1, 2, 3].map(key).concat();
    std::fs::write(folder.path().join("group.keys"), &file).unwrap();
    let scenario = "[[phase]]\nservice = 'publish'\nkeys = 'group.keys'\nsecurity = 'sign-and-encrypt'\n\
        roll_over = '100ms'\ninterval = '10ms'\nduration = '400ms'\n";
    let (said, runs) = run(folder.path(), scenario);
    let context = format!("{}{}", said.out, said.err);
    assert!([0, 4].contains(&said.code), "{context}");
    let told = told(&runs[0]);
    assert_eq!(
        (told.lost(), told.sum(|it| it.unreadable())),
        (Some(0), 0),
        "{context}"
    );
    assert_eq!(told.published.as_ref().unwrap().roll_overs, 2, "{context}");
    // No key is in a result.
    let result = std::fs::read_to_string(folder.path().join("out/001-point1-1.json")).unwrap();
    assert!(!result.contains(&"1".repeat(104)) && !result.contains(&"2".repeat(104)));
}

#[test]
fn an_interrupted_phase_keeps_what_came_until_then() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "[[phase]]\nservice = 'publish'\ninterval = '10ms'\nduration = '30s'\n";
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let mut child = command(folder.path(), &["run", "x.toml", "--out", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until("[1/1]");
    std::thread::sleep(Duration::from_millis(1500));
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let runs = measured(folder.path());
    let (phase, told) = (&runs[0].phases[0], told(&runs[0]));
    assert_eq!(phase.verdict.kind, Kind::Incomplete);
    assert!(told.sum(|it| it.datagrams) > 0);
    // Figures are of the time that it had.
    assert!(phase.end_ns < 20_000_000_000, "{}", phase.end_ns);
    assert_eq!(told.lost(), Some(0));
}

#[test]
fn both_models_stand_beside_each_other_on_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "\
        [parameters]\nsignals = { sweep = [10, 100] }\n\
        [start]\nplant = 'burger2019'\nsignals = '$signals'\nupdate = '50ms'\n\
        [[phase]]\nname = 'client/server'\nservice = 'subscribe'\nnodes = ['browse:/Objects/Signals/*']\n\
        publishing = '50ms'\nsampling = '50ms'\nduration = '500ms'\n\
        [[phase]]\nname = 'PubSub'\nservice = 'publish'\nsignals = '$signals'\ninterval = '50ms'\nduration = '500ms'\n";
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let words = [
        "run",
        "x.toml",
        "--out",
        "out",
        "--report",
        "page.html",
        "--csv",
        "all.csv",
        "--quiet",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let context = format!("{}{}", said.out, said.err);
    assert!(
        page.contains("<h2>Client/server beside PubSub</h2>"),
        "{context}"
    );
    for title in [
        "CPU a value at server or publisher",
        "Bytes a value",
        "Median delay",
    ] {
        assert!(page.contains(title), "{title}: {context}");
    }
    let at = |page: &str, what: &str| page.find(what).unwrap_or_else(|| panic!("{what}"));
    let heading = "<h2>Client/server beside PubSub</h2>";
    assert!(at(&page, heading) < at(&page, "What was measured</h2>"));
    // Of one load there are no curves, and what is a table only stands behind the rest.
    let first = folder.path().join("out/001-point1-1.json");
    std::fs::copy(&first, folder.path().join("again.json")).unwrap();
    let words = [
        "report",
        "out/001-point1-1.json",
        "again.json",
        "-o",
        "one.html",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 0, "{}", said.err);
    let one = std::fs::read_to_string(folder.path().join("one.html")).unwrap();
    assert!(at(&one, heading) > at(&one, "What was measured</h2>"));
    assert!(!one.contains("CPU a value at server or publisher"));
    let csv = std::fs::read_to_string(folder.path().join("all.csv")).unwrap();
    let of = |phase: &str, metric: &str| {
        let row = csv
            .lines()
            .find(|it| it.contains(&format!(",{phase},")) && it.contains(&format!(",{metric},")));
        let cells: Vec<&str> = row.unwrap().split(',').collect();
        cells[6].parse::<f64>().unwrap()
    };
    assert!(
        (of("PubSub", "values.of-a-listener") - 200.0).abs() < 1.0,
        "{context}"
    );
    assert_eq!(of("PubSub", "loss"), 0.0);
    assert!(of("PubSub", "bytes-per-value") < 10.0);
}

/// A meter whose power rises a little all the time: what is not known of idling is shared by the values.
#[test]
fn the_energy_of_a_publisher_is_told_for_each_value_that_it_sent() {
    let folder = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let rows: String = (0..1200)
        .map(|n| {
            format!(
                "{},{}\n",
                now as f64 + f64::from(n) / 10.0,
                6.0 + f64::from(n) / 1000.0
            )
        })
        .collect();
    std::fs::write(
        folder.path().join("power.csv"),
        format!("time,watts\n{rows}"),
    )
    .unwrap();
    let scenario = "\
        [[phase]]\nservice = 'publish'\nsignals = 20\ninterval = '20ms'\nduration = '1s'\n\
        meter = 'power.csv'\nidle = '200ms'\n";
    let (said, runs) = run(folder.path(), scenario);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let phase = &runs[0].phases[0];
    let [energy] = phase.energy.as_slice() else {
        panic!("{:?}", phase.energy)
    };
    assert!(
        (6.0..8.0).contains(energy.watts.known().unwrap()),
        "{energy:?}"
    );
    let (above, each) = (
        energy.above_idle_joules.known().unwrap(),
        energy.per_value_joules.known().unwrap(),
    );
    // 20 values in each of 50 cycles of a second.
    let values = above.error / each.error;
    assert!((values / 1000.0 - 1.0).abs() < 0.1, "{values}: {energy:?}");
    assert!(energy.per_operation_joules.known().is_none(), "{energy:?}");
    assert!(!energy.course.as_ref().unwrap().watts.is_empty());
    let refused = scenario.replace("idle = '200ms'", "meter_align = '1s'");
    std::fs::write(folder.path().join("y.toml"), refused).unwrap();
    let said = Said::by(&mut command(
        folder.path(),
        &["run", "y.toml", "--out", "other"],
    ));
    assert_ne!(said.code, 0, "{}", said.out);
    assert!(said.err.contains("makes no step of Reads"), "{}", said.err);
}
