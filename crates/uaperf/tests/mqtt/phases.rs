//! Phases of scenarios with a broker between publisher and listeners, and plants that publish to one.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use record::Run;
use record::run::{EvidenceTopic, Kind, PubSub};
use record::sweep::Sweep;

use crate::support::broker::{Broker, OPEN};
use crate::support::{Said, Server, command};

fn measured(folder: &Path) -> Vec<Run> {
    let out = folder.join("out");
    let index = Sweep::read(&out).unwrap();
    let files = index.measurements.iter().filter_map(|it| it.file.clone());
    files
        .map(|file| Run::read(&out.join(file)).unwrap())
        .collect()
}

/// Carries a scenario out, and gives what was said and measured.
fn run(folder: &Path, scenario: &str) -> (Said, Vec<Run>) {
    let _ = std::fs::remove_dir_all(folder.join("out"));
    std::fs::write(folder.join("x.toml"), scenario).unwrap();
    let words = ["run", "x.toml", "--out", "out", "--quiet"];
    let said = Said::by(&mut command(folder, &words));
    let runs = match [0, 3, 4].contains(&said.code) {
        true => measured(folder),
        false => Vec::new(),
    };
    (said, runs)
}

fn told(run: &Run) -> &PubSub {
    run.phases[0].pubsub.as_ref().unwrap()
}

#[test]
fn phases_with_a_broker_have_the_figures_that_they_have_over_udp() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(folder.path(), OPEN) else {
        return;
    };
    let to = broker.url("/line");
    let scenario = format!(
        "[parameters]\nto = {{ sweep = ['opc.udp://127.0.0.1:0', '{to}'] }}\n\
         [[phase]]\nname = 'uadp'\nservice = 'publish'\nto = '$to'\nsignals = 20\ninterval = '20ms'\n\
         duration = '400ms'\nqos = 1\nencoding = 'raw'\nsecurity = 'sign-and-encrypt'\nexpect = ['loss=0', 'errors=0']\n"
    );
    let (said, runs) = run(folder.path(), &scenario);
    let context = format!("{}{}", said.out, said.err);
    assert!([0, 4].contains(&said.code), "{context}");
    assert_eq!(runs.len(), 2, "{context}");
    for it in &runs {
        let (phase, told) = (&it.phases[0], told(it));
        let context = format!("{told:?}");
        assert!(it.verdict.kind < Kind::Incomplete, "{context}");
        let sent = told.published.as_ref().unwrap();
        assert_eq!((sent.cycles, sent.datagrams, sent.values), (20, 20, 400));
        let heard = &told.listeners[0];
        assert_eq!((heard.datagrams, heard.values), (20, 400), "{context}");
        let lost = (heard.lost, heard.never_came);
        assert_eq!(lost, (Some(0), Some(0)), "{context}");
        assert_eq!(heard.bytes, 20 * sent.datagram_bytes, "{context}");
        assert_eq!(phase.total.values, 400);
        for (name, count) in [("delay", 400), ("lateness", 20), ("arrival", 19)] {
            assert_eq!(phase.total.histogram(name).count(), count, "{name}");
        }
        assert!(phase.resources.iter().any(|it| it.who == "server"));
    }
    // What a broker is asked for is told, what it cannot be is named.
    let (udp, mqtt) = (told(&runs[0]), told(&runs[1]));
    assert!(!udp.is_brokered() && mqtt.is_brokered());
    assert!(udp.socket_drops().is_some() && mqtt.socket_drops().is_none());
    let sent = mqtt.published.as_ref().unwrap().broker.as_ref().unwrap();
    assert_eq!(
        (sent.qos, sent.acknowledged, sent.unacknowledged),
        (1, 20, 0)
    );
    assert_eq!(sent.acknowledgement.count(), 20);
    let granted = mqtt.listeners[0].broker.as_ref().unwrap();
    assert_eq!((granted.qos, granted.connections), (1, 1));
    let file = folder.path().join("out/002-point2-1.json");
    let file = file.display().to_string();
    let shown = Said::by(&mut command(folder.path(), &["show", &file]));
    for words in [
        "20 messages",
        "MQTT 3.1.1, QoS 1: 20 acknowledged",
        "what the broker dropped",
    ] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
    assert!(!shown.out.contains("datagram"), "{}", shown.out);
    let csv = ["show", &file, "--csv", "rows.csv"];
    let csv = Said::by(&mut command(folder.path(), &csv));
    assert_eq!(csv.code, 0, "{}", csv.err);
    let rows = std::fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert!(rows.contains("broker.acknowledged"), "{rows}");
}

#[test]
fn several_listeners_and_texts_go_by_a_broker_and_a_listen_phase_hears_a_plant() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(folder.path(), OPEN) else {
        return;
    };
    let scenario = format!(
        "[[phase]]\nservice = 'publish'\nto = '{}'\nmapping = 'json'\nmqtt = '5'\nqos = 2\nlisteners = 3\nsignals = 10\n\
         writers = 2\ngroups = 2\ninterval = '20ms'\nduration = '300ms'\nexpect = ['loss=0']\n",
        broker.url("")
    );
    let (said, runs) = run(folder.path(), &scenario);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let texts = told(&runs[0]);
    let heard: Vec<u64> = texts.listeners.iter().map(|it| it.values).collect();
    assert_eq!((heard, texts.lost()), (vec![600; 3], Some(0)), "{texts:?}");
    // Texts differ in length.
    let each = texts.published.as_ref().unwrap().datagram_bytes;
    assert!((300..3000).contains(&each), "{each}");

    // A plant file says it, and the options of the command.
    let plant = "\
        [[namespace]]\nuri = 'urn:line'\n\
        [[namespace.signals]]\ncount = 30\nname = 'A{n}'\ntype = 'UInt32'\npattern = 'counter'\nupdate = '20ms'\n";
    let to = broker.url("/plant");
    let by_file = format!(
        "{plant}[[publish]]\nto = '{to}'\nmapping = 'json'\nqos = 1\ninterval = '20ms'\npublisher = 7\n"
    );
    std::fs::write(folder.path().join("line.toml"), by_file).unwrap();
    let file = folder.path().join("line.toml").display().to_string();
    let server = Server::start(&folder.path().join("server"), &[&file]);
    let scenario = format!(
        "[[phase]]\nservice = 'listen'\nfrom = '{to}/json/data/7/#'\nqos = 1\nsame_clock = true\nduration = '500ms'\n\
         expect = ['loss=0']\n"
    );
    let (said, runs) = run(folder.path(), &scenario);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let heard = &told(&runs[0]).listeners[0];
    assert!(heard.datagrams >= 10, "{heard:?}");
    assert_eq!(heard.values, 30 * heard.datagrams, "{heard:?}");
    assert!(runs[0].phases[0].total.histogram("delay").count() > 0);
    drop(server);

    std::fs::write(folder.path().join("line.toml"), plant).unwrap();
    let scenario = format!(
        "[start]\nplant = 'line.toml'\npublish = '{to}'\npublish_interval = '20ms'\npublish_encoding = 'raw'\n\
         [[phase]]\nservice = 'listen'\nfrom = '{to}/uadp/data/#'\nduration = '400ms'\n"
    );
    let (said, runs) = run(folder.path(), &scenario);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let heard = &told(&runs[0]).listeners[0];
    assert!(heard.datagrams >= 8, "{heard:?}");
    // Whose clock a publisher at a broker has is not known, and that is said.
    let why = heard.no_delay.as_ref().unwrap();
    assert!(why.contains("same_clock"), "{why}");
}

/// A broker that takes what comes, and acknowledges and forwards nothing.
fn mute(connections: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mqtt://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().take(connections).flatten() {
            std::thread::spawn(move || {
                let mut some = [0; 1000];
                while let Ok(n) = stream.read(&mut some) {
                    let answer: &[u8] = match some.first() {
                        _ if n == 0 => return,
                        Some(0x10) => &[0x20, 2, 0, 0],
                        Some(0x82) => &[0x90, 3, 0, 1, 1],
                        _ => &[],
                    };
                    if stream.write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

#[test]
fn brokers_that_stop_are_slow_refuse_or_are_not_there_make_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let phase = |to: &str| {
        format!(
            "[[phase]]\nservice = 'publish'\nto = '{to}'\nqos = 1\nin_flight = 5\nsignals = 5\ninterval = '20ms'\n\
             duration = '600ms'\n"
        )
    };
    // Nobody is there.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("mqtt://{}", free.local_addr().unwrap());
    drop(free);
    let (said, _) = run(folder.path(), &phase(&nobody));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let context = format!("{}{}", said.out, said.err);
    assert!(context.contains("Connection refused"), "{context}");

    // It says nothing of what it is sent.
    let (said, _) = run(folder.path(), &phase(&mute(2)));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let runs = measured(folder.path());
    let verdict = &runs[0].verdict;
    assert_eq!(verdict.kind, Kind::Incomplete);
    for about in [
        EvidenceTopic::Behind,
        EvidenceTopic::Unanswered,
        EvidenceTopic::NothingCame,
    ] {
        assert!(verdict.about.contains(&about), "{verdict:?}");
    }
    let sent = told(&runs[0]).published.as_ref().unwrap();
    let broker = sent.broker.as_ref().unwrap();
    assert_eq!(broker.unacknowledged, 5, "{broker:?}");
    assert_eq!(broker.window_full + broker.unacknowledged, sent.cycles);

    let Some(mut stopped) = Broker::start(folder.path(), OPEN) else {
        return;
    };
    // It does not let them in.
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    let refusing = Broker::start(&closed, "allow_anonymous false").unwrap();
    let (said, _) = run(folder.path(), &phase(&refusing.url("")));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let context = format!("{}{}", said.out, said.err);
    assert!(context.contains("the broker refuses"), "{context}");

    // It ends while both ends are there.
    let scenario = phase(&stopped.url("")).replace("600ms", "3s");
    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let words = ["run", "x.toml", "--out", "out", "--quiet"];
    let mut running = command(folder.path(), &words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    super::one_comes(folder.path(), &stopped);
    stopped.stop();
    let ended = running.wait().unwrap();
    assert_eq!(ended.code(), Some(1));
    let runs = measured(folder.path());
    let verdict = &runs[0].verdict;
    assert_eq!(verdict.kind, Kind::Incomplete, "{verdict:?}");
    for about in [EvidenceTopic::Outage, EvidenceTopic::LostSessions] {
        assert!(verdict.about.contains(&about), "{verdict:?}");
    }
    let told = told(&runs[0]);
    let sent = told.published.as_ref().unwrap();
    let broker = sent.broker.as_ref().unwrap();
    assert_eq!(
        broker.acknowledged + broker.unacknowledged,
        sent.datagrams,
        "{broker:?}"
    );
    assert_eq!(broker.not_connected, sent.refused, "{broker:?}");
    assert!(told.listeners[0].broker.as_ref().unwrap().away_ns > 0);
}

#[test]
fn what_does_not_go_together_is_said_before_anything_begins() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        std::fs::write(folder.path().join("x.toml"), text).unwrap();
        Said::by(&mut command(folder.path(), &["check", "x.toml"]))
    };
    let publish = "[[phase]]\nservice = 'publish'\n";
    for (wrong, told) in [
        ("mapping = 'json'", "JSON goes to brokers"),
        (
            "to = 'mqtt://x'\nmapping = 'json'\nsecurity = 'sign'",
            "no message security",
        ),
        ("to = 'mqtt://me:word@x'", "--user"),
        ("to = 'mqtt://x'\nqos = 3", "0 to 2"),
    ] {
        let said = check(&format!("{publish}{wrong}\n"));
        assert_eq!(said.code, 2, "{wrong}: {}{}", said.out, said.err);
        assert!(said.err.contains(told), "{wrong}: {}", said.err);
    }
    let plant = "[[namespace]]\nuri = 'urn:line'\n\
        [[namespace.signals]]\ncount = 3\nname = 'A{n}'\ntype = 'UInt32'\npattern = 'counter'\nupdate = '20ms'\n";
    let to = "[[publish]]\nto = 'mqtt://127.0.0.1:1'\n";
    for (text, told) in [
        (format!("{to}qos = 3\n"), "want 0, 1 or 2"),
        (format!("{to}mapping = 'xml'\n"), "want uadp, json"),
        (format!("{to}password_file = 'secret'\n"), "want a user"),
        (
            to.replace("mqtt", "opc.udp") + "mapping = 'json'\n",
            "JSON goes to brokers",
        ),
        (to.to_owned(), "does a broker run there"),
    ] {
        std::fs::write(folder.path().join("line.toml"), format!("{plant}{text}")).unwrap();
        let words = ["serve", "line.toml", "--port", "0", "--security", "none"];
        let said = Said::by(&mut command(folder.path(), &words));
        assert!(
            [1, 2].contains(&said.code),
            "{text}: {}{}",
            said.out,
            said.err
        );
        assert!(!said.out.contains("READY"), "{text}: {}", said.out);
        assert!(said.err.contains(told), "{text}: {}", said.err);
    }
}
