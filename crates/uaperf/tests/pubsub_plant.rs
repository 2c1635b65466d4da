//! A plant that publishes: the same counters over PubSub as for clients.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use pubsub::reader::{Part, Reader};
use pubsub::view::Known;
use pubsub::{Tolerance, View};
use record::Run;
use record::run::Kind;
use support::{Said, Server, command};

/// Signals that count each 20 ms: 30 UInt32 and 10 Doubles.
const PLANT: &str = "\
    [[namespace]]\nuri = 'urn:line'\n\
    [[namespace.signals]]\ncount = 30\nname = 'A{n}'\ntype = 'UInt32'\npattern = 'counter'\nupdate = '20ms'\n\
    [[namespace.signals]]\ncount = 10\nname = 'B{n}'\ntype = 'Double'\npattern = 'counter'\nupdate = '20ms'\nstored = true\n";

fn socket() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let url = format!("opc.udp://{}", socket.local_addr().unwrap());
    (socket, url)
}

/// A server of a plant file, its certificates beside it.
fn serve(folder: &Path, plant: &str, words: &[&str]) -> Server {
    let file = folder.join("line.toml");
    std::fs::write(&file, plant).unwrap();
    let file = file.display().to_string();
    let words: Vec<&str> = [file.as_str()]
        .into_iter()
        .chain(words.iter().copied())
        .collect();
    Server::start(&folder.join("server"), &words)
}

/// All numbers of the next message: the UInt32 ones, then the Doubles.
fn numbers(socket: &UdpSocket) -> (Vec<u32>, Vec<f64>) {
    let mut buffer = [0; 4096];
    let len = socket.recv(&mut buffer).unwrap();
    let view = View::parse(&buffer[..len], Tolerance::NONE).unwrap();
    let mut reader = Reader::default();
    let (mut whole, mut real) = (Vec::new(), Vec::new());
    for set in view.messages(Known::default()).unwrap() {
        let set = set.unwrap();
        // The first visit learns what the fields look like.
        reader.visit(&set, |_| ()).unwrap();
        let each = |part: Part<'_>| {
            if let Part::Run(run) = part
                && !run.each(|it: [u8; 4]| whole.push(u32::from_le_bytes(it)))
            {
                assert!(run.each(|it: [u8; 8]| real.push(f64::from_le_bytes(it))));
            }
        };
        reader.visit(&set, each).unwrap();
    }
    (whole, real)
}

#[test]
fn a_plant_publishes_its_counters_as_they_are_at_each_moment() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, url) = socket();
    let plant = format!("{PLANT}[[publish]]\nto = '{url}'\ninterval = '100ms'\npublisher = 7\n");
    let server = serve(folder.path(), &plant, &[]);
    let first = numbers(&socket);
    let mut last = first.clone();
    for _ in 0..5 {
        let next = numbers(&socket);
        assert_eq!((next.0.len(), next.1.len()), (30, 10));
        // One moment for all of them.
        assert!(next.0.iter().all(|it| *it == next.0[0]), "{next:?}");
        assert!(next.0[0] >= last.0[0] && next.1[0] >= last.1[0]);
        last = next;
    }
    // Five updates between two messages; a message that was late makes up for it.
    let steps = last.0[0] - first.0[0];
    assert!((20..=100).contains(&steps), "{steps}");
    // What is stored is written by a loop, and there a moment later.
    assert!((f64::from(last.0[0]) - last.1[0]).abs() <= 20.0, "{last:?}");
    // Clients are served the same meanwhile.
    let node = "nsu=urn:line;s=A1";
    let words = [
        "read",
        &server.url,
        "-n",
        node,
        "--requests",
        "1",
        "--out",
        "read.json",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    // One request is over before a busy machine gives its client a turn.
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
}

#[test]
fn a_scenario_listens_to_the_plant_that_it_starts_and_watches_its_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, url) = socket();
    drop(socket);
    std::fs::write(folder.path().join("line.toml"), PLANT).unwrap();
    let scenario = format!(
        "[start]\nplant = 'line.toml'\npublish = '{url}'\npublish_interval = '20ms'\n\
         [[phase]]\nservice = 'listen'\nfrom = '{url}'\nduration = '600ms'\nexpect = ['loss=0']\n"
    );
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let words = ["run", "x.toml", "--out", "out", "--quiet"];
    let said = Said::by(&mut command(folder.path(), &words));
    let context = format!("{}{}", said.out, said.err);
    assert!([0, 4].contains(&said.code), "{context}");
    let run = Run::read(&folder.path().join("out/001-point1-1.json")).unwrap();
    // A busy machine may keep the listener from its socket.
    let kinds = [Kind::Valid, Kind::GeneratorLimited];
    assert!(kinds.contains(&run.verdict.kind), "{context}");
    let phase = &run.phases[0];
    let heard = &phase.pubsub.as_ref().unwrap().listeners[0];
    assert_eq!(heard.values, 40 * heard.datagrams, "{heard:?}");
    assert!(heard.datagrams >= 15, "{heard:?}");
    assert!(phase.resources.iter().any(|it| it.who == "server"));
}

#[test]
fn what_cannot_be_published_is_said_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("line.toml");
    for (text, told) in [
        ("[[publish]]\nto = 'udp://127.0.0.1:4840'\n", "line 17"),
        (
            "[[publish]]\nto = 'opc.udp://127.0.0.1:4840'\nencoding = 'json'\n",
            "want variant or raw",
        ),
        (
            "[[publish]]\nto = 'opc.udp://127.0.0.1:4840'\ninterval = '0s'\n",
            "want more than nothing",
        ),
        (
            "[[publish]]\nto = 'opc.udp://nowhere.invalid:4840'\n",
            "is no host or port",
        ),
    ] {
        std::fs::write(&file, format!("{PLANT}{text}")).unwrap();
        let words = ["serve", "line.toml", "--port", "0"];
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
    // Nothing that changes.
    let still = "[[namespace]]\nuri = 'urn:line'\n\
        [[namespace.signals]]\ncount = 3\nname = 'A{n}'\ntype = 'UInt32'\npattern = { constant = 1 }\n";
    std::fs::write(&file, still).unwrap();
    let words = [
        "serve",
        "line.toml",
        "--port",
        "0",
        "--publish",
        "opc.udp://127.0.0.1:4840",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("no signals that move"), "{}", said.err);
}
