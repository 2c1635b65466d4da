//! What a plant does to its messages on purpose, where they go to a broker.

use std::time::Duration;

use super::{end, listen, number};
use crate::support::broker::{Broker, OPEN};
use crate::support::{self, Server};

/// Signals that count each 20 ms.
const PLANT: &str = "\
    [[namespace]]\nuri = 'urn:line'\n\
    [[namespace.signals]]\ncount = 10\nname = 'A{n}'\ntype = 'UInt32'\npattern = 'counter'\nupdate = '20ms'\n";

#[test]
fn what_a_plant_does_to_its_messages_is_what_a_listener_finds_behind_a_broker() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(folder.path(), OPEN) else {
        return;
    };
    let file = folder.path().join("line.toml");
    std::fs::write(&file, PLANT).unwrap();
    for mapping in ["uadp", "json"] {
        let url = broker.url(&format!("/{mapping}"));
        let listener = listen(folder.path(), &format!("{url}/#"), &["--duration", "8s"]);
        // One after the other, so that each message has one of them at most.
        let windows = [
            ("drop", "1s"),
            ("corrupt", "1500ms"),
            ("repeat", "2s"),
            ("reorder", "2500ms"),
            ("delay=100ms", "3s"),
        ];
        let faults = windows.map(|(effect, after)| {
            format!("--fault={effect},on=datagram,every=4,after={after},for=400ms")
        });
        let ledger = folder.path().join(format!("{mapping}.json"));
        let (file, kept) = (file.display().to_string(), ledger.display().to_string());
        let mut words = vec![
            file.as_str(),
            "--publish",
            &url,
            "--publish-interval",
            "10ms",
        ];
        words.extend([
            "--publish-mapping",
            mapping,
            "--publish-qos",
            "1",
            "--ledger",
            &kept,
        ]);
        words.extend(faults.iter().map(String::as_str));
        let mut server = Server::start(&folder.path().join("server"), &words);
        std::thread::sleep(Duration::from_secs(4));
        server.signal("TERM");
        server.child.wait().unwrap();
        let truth = support::json(&ledger);
        let hits = |n: usize| number(&truth, &format!("/faults/{n}/hits"));
        let (told, _) = end(listener);
        let streams = told["result"]["streams"].as_array().unwrap();
        let of_data = streams
            .iter()
            .find(|it| it["datagrams"].as_u64() > Some(20));
        let counted = &of_data.unwrap_or_else(|| panic!("{told:#}"))["writers"][0]["sequence"];
        let unread = told["result"]["unread"].as_array().unwrap();
        let unread: u64 = unread.iter().map(|it| number(it, "/datagrams")).sum();
        let context = format!("{mapping}: {} {told:#}", truth["faults"]);
        assert!((0..5).map(hits).sum::<u64>() > 10, "{context}");
        assert_eq!(unread, hits(1), "{context}");
        assert_eq!(counted["lost"], hits(0) + hits(1), "{context}");
        assert_eq!(counted["duplicates"], hits(2), "{context}");
        assert_eq!(counted["late"], hits(3) + hits(4), "{context}");
        // The ledger says the same of what was sent.
        let sent = |name: &str| number(&truth, &format!("/publishing/0/{name}"));
        assert_eq!(
            (sent("dropped"), sent("copies")),
            (hits(0), hits(2)),
            "{context}"
        );
        assert_eq!(
            sent("messages"),
            number(&told, "/result/datagrams"),
            "{context}"
        );
    }
}
