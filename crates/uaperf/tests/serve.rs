//! `uaperf serve` as a user runs it: what it says, how it ends, what it leaves.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use load::access::{Access, Security, Session, TrustRule};
use load::transport::Steps;
use pki::Store;
use pki::make::Request;
use tempfile::TempDir;
use wire::channel::Protection;
use wire::types::{
    CreateMonitoredItemsRequest, CreateSubscriptionRequest, MonitoredItemCreateRequest,
    MonitoringMode, MonitoringParameters, NodeId, PublishRequest, ReadValueId, RepublishRequest,
    SubscriptionAcknowledgement, TimestampsToReturn, Variant,
};

use crate::support;
use crate::support::{Said, Server, json, program, ready};

struct Serving {
    server: Server,
    folder: TempDir,
}

fn command(folder: &Path, options: &[&str]) -> Command {
    let mut command = program();
    command
        .args(["serve", "--port", "0", "--security", "none"])
        .args(options)
        .env("UAPERF_PKI", folder);
    command
}

fn fails(options: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let said = Said::by(&mut command(folder.path(), options));
    (said.code, said.err)
}

impl Serving {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::of(command(folder.path(), options).stderr(Stdio::piped()));
        Self { server, folder }
    }

    fn probe(&self) {
        let status = program()
            .args(["probe", &self.server.url, "--repeat", "5"])
            .env("UAPERF_PKI", self.folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    }

    /// Exit code, what else it wrote to standard output, and what to standard error.
    fn ended(mut self) -> (i32, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.server.out.read_to_string(&mut out).unwrap();
        let stderr = self.server.child.stderr.take();
        stderr.unwrap().read_to_string(&mut err).unwrap();
        let code = self.server.child.wait().unwrap().code().unwrap();
        (code, out, err)
    }
}

fn open(serving: &Serving) -> Session {
    let access = Access {
        security: Security::Exactly(Protection::NONE),
        trust: TrustRule::Everyone,
        timeout: Duration::from_secs(60),
        ..Access::new(
            serving.server.url.parse().unwrap(),
            Store::new(serving.folder.path()),
            Request::application("urn:test"),
        )
    };
    let opening = access.discover().unwrap();
    access.open(&opening, &mut Steps::new()).unwrap()
}

/// ServerStatus/State.
fn state(session: &mut Session) -> Variant {
    let response = session.read_state().unwrap();
    response.results.unwrap().remove(0).value.unwrap()
}

#[test]
fn a_signal_ends_it_and_it_says_what_it_did() {
    for signal in ["TERM", "INT"] {
        let serving =
            Serving::start(&["--memory", "64MiB", "--fault", "delay=1ms,on=read,every=2"]);
        serving.probe();
        serving.server.signal(signal);
        let (code, out, err) = serving.ended();
        assert_eq!(code, 0, "{err}");
        assert!(out.starts_with("sessions 5, "), "{out}");
        assert!(out.contains("fault delay=1ms,on=read,every=2: "), "{out}");
        assert!(err.starts_with("bench at opc.tcp://127.0.0.1:"), "{err}");
        assert!(err.contains("  security  None\n"), "{err}");
        assert!(err.contains("  memory    64 MiB for clients\n"), "{err}");
        assert!(
            err.contains("  users     anonymous, bench (password)\n"),
            "{err}"
        );
    }
}

#[test]
fn what_listens_on_all_addresses_says_one_where_it_can_be_reached() {
    let serving = Serving::start(&["--listen", "0.0.0.0"]);
    serving.probe();
    serving.server.signal("TERM");
    let (code, _, err) = serving.ended();
    assert_eq!(code, 0, "{err}");
    assert!(err.starts_with("bench at opc.tcp://127.0.0.1:"), "{err}");
    assert!(
        err.contains(" and at every other address of this machine\n"),
        "{err}"
    );
}

#[test]
fn a_url_that_is_asked_for_is_in_what_it_says_and_its_host_in_the_certificate_made_for_it() {
    let url = "opc.tcp://gateway.example:14840";
    let options = ["--advertise", url, "--security", "Basic256Sha256:Sign"];
    let serving = Serving::start(&options);
    assert_eq!(serving.server.url, url);
    let store = Store::new(serving.folder.path());
    let now = std::time::SystemTime::now().into();
    let own = store.find_own(now).unwrap().unwrap().certificate;
    assert!(own.names_host("gateway.example"), "{:?}", own.dns_names());
    serving.server.signal("TERM");
    let (code, _, err) = serving.ended();
    assert_eq!(code, 0, "{err}");
    assert!(!err.contains("warning"), "{err}");

    // One that is there already is not made anew.
    let folder = tempfile::tempdir().unwrap();
    let first = command(folder.path(), &["--security", "Basic256Sha256:Sign"])
        .stderr(Stdio::null())
        .stdin(Stdio::piped())
        .arg("--with-parent")
        .output();
    assert!(first.unwrap().status.success());
    let mut second = command(folder.path(), &options);
    let mut server = Server::of(second.stderr(Stdio::piped()));
    server.signal("TERM");
    let mut err = String::new();
    let stderr = server.child.stderr.take();
    stderr.unwrap().read_to_string(&mut err).unwrap();
    assert!(
        err.contains("warning: the server's certificate is not for gateway.example"),
        "{err}"
    );
}

#[test]
fn the_ledger_is_written_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.json");
    let serving = Serving::start(&["--ledger", path.to_str().unwrap(), "--quiet"]);
    serving.probe();
    serving.server.signal("TERM");
    let (code, out, err) = serving.ended();
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    let ledger = json(&path);
    assert_eq!(ledger["counted"]["cumulated_sessions"], 5);
    assert!(ledger["updates"]["computed"].is_u64());
    assert_eq!(ledger["subscriptions"]["total"]["messages"]["made"], 0);
}

/// A client that is slow on purpose: it lets subscriptions wait, acknowledges late or never.
#[test]
fn what_a_slow_client_did_not_take_in_time_is_told_for_each_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.json");
    let ledger = path.to_str().unwrap();
    let options = ["--profile", "devices", "--count", "2", "--ledger", ledger];
    let mut serving = Serving::start(&options);
    let mut second = String::new();
    serving.server.out.read_line(&mut second).unwrap();
    let mut session = open(&serving);
    let header = |session: &mut Session| session.header();
    let request = CreateSubscriptionRequest {
        request_header: header(&mut session),
        requested_publishing_interval: 50.0,
        requested_lifetime_count: 1000,
        requested_max_keep_alive_count: 10,
        publishing_enabled: true,
        ..Default::default()
    };
    let created = session.call(request).unwrap();
    let counter = MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId {
            node_id: NodeId::new(2, 3000),
            attribute_id: 13,
            ..Default::default()
        },
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle: 1,
            sampling_interval: 50.0,
            queue_size: 2,
            discard_oldest: true,
            ..Default::default()
        },
    };
    let request = CreateMonitoredItemsRequest {
        request_header: header(&mut session),
        subscription_id: created.subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(vec![counter]),
    };
    let items = session.call(request).unwrap().results.unwrap();
    assert!(items[0].status_code.is_good());
    // Values come each 100 ms, and two of them fit into the queue.
    std::thread::sleep(Duration::from_millis(700));
    let mut sequence = None;
    for _ in 0..2 {
        let acknowledgement = |sequence_number| SubscriptionAcknowledgement {
            subscription_id: created.subscription_id,
            sequence_number,
        };
        let request = PublishRequest {
            request_header: header(&mut session),
            subscription_acknowledgements: sequence.map(|n| vec![acknowledgement(n)]),
        };
        let response = session.call(request).unwrap();
        sequence = Some(response.notification_message.sequence_number);
        std::thread::sleep(Duration::from_millis(200));
    }
    let request = RepublishRequest {
        request_header: header(&mut session),
        subscription_id: created.subscription_id,
        retransmit_sequence_number: 77,
    };
    assert!(session.call(request).is_err());
    drop(session);
    serving.server.signal("TERM");
    let url = serving.server.url.clone();
    let (code, out, err) = serving.ended();
    assert_eq!(code, 0, "{err}");
    let truths = json(&path);
    let slow = &truths[0]["clients"];
    let number = |name: &str| slow[name].as_u64().unwrap();
    assert!(number("publish_gaps") >= 1, "{slow:#}");
    assert!(number("longest_publish_gap_ns") > 300_000_000, "{slow:#}");
    assert!(
        number("longest_acknowledged_after_ns") >= 200_000_000,
        "{slow:#}"
    );
    assert_eq!(number("acknowledged"), 1);
    assert_eq!(
        (number("republish_asked"), number("republish_missing")),
        (1, 1)
    );
    let overflowed = &truths[0]["subscriptions"]["total"]["computed"]["overflowed"];
    assert!(overflowed.as_u64().unwrap() >= 3, "{overflowed}");
    // Nobody came to the other one.
    assert_eq!(truths[1]["clients"]["publish_gaps"], 0);
    let line = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(out.contains("publish gaps"), "{out}");
    assert_ne!(line(&url).split_whitespace().nth(1).unwrap(), "0", "{out}");
    let other = ready(&second);
    assert_eq!(line(other).split_whitespace().nth(1).unwrap(), "0", "{out}");
    assert_ne!(
        line("all ").split_whitespace().nth(1).unwrap(),
        "0",
        "{out}"
    );
}

#[test]
fn nobody_is_waited_for_when_nobody_is_there() {
    // An hour, if it were waited for.
    let serving = Serving::start(&["--grace", "1h", "--count", "2"]);
    // Whoever is told where it serves may end it at once.
    #[cfg(target_os = "linux")]
    assert!(support::listens_to_signals(serving.server.child.id()));
    serving.server.signal("INT");
    let (code, out, err) = serving.ended();
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("READY opc.tcp://"), "{out}");
    assert!(err.contains(" and 1 more alike\n"), "{err}");
}

#[test]
fn a_second_signal_does_not_wait() {
    let mut serving = Serving::start(&["--grace", "1h"]);
    // A session that stays: only then is there somebody to wait for.
    let mut session = open(&serving);
    assert_eq!(state(&mut session), Variant::Int32(0));
    serving.server.signal("INT");
    // The first one has arrived when the server says that it ends.
    while state(&mut session) != Variant::Int32(4) {
        assert!(serving.server.child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    serving.server.signal("INT");
    let (code, _, err) = serving.ended();
    assert_eq!(code, 130, "{err}");
}

#[test]
fn a_value_of_a_node_set_that_cannot_be_read_is_told_of_and_the_server_serves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.xml");
    let set = r#"<UANodeSet><NamespaceUris><Uri>urn:set</Uri></NamespaceUris>
<UAVariable NodeId="ns=1;i=1" BrowseName="1:V"><Value><ExtensionObject><TypeId><Identifier>ns=1;i=9</Identifier></TypeId>
<Body><Odd><A>1</A></Odd></Body></ExtensionObject></Value></UAVariable></UANodeSet>"#;
    std::fs::write(&file, set).unwrap();
    let serving = Serving::start(&["--nodeset", &file.display().to_string()]);
    serving.probe();
    support::signal(serving.server.child.id(), "TERM");
    let (code, _, err) = serving.ended();
    assert_eq!(code, 0, "{err}");
    let told = "set.xml line 3: the value of ns=1;i=1 is null: \"ns=1;i=9\", the TypeId of Odd, is neither";
    assert!(err.contains(told), "{err}");
    assert!(err.contains("  nodes     1 of "), "{err}");
}

#[test]
fn what_is_wrong_is_told_in_a_line() {
    for (options, code, part) in [
        (
            &["--fault", "dely=2ms"][..],
            2,
            "no such key in a fault: \"dely\"",
        ),
        (
            &["--fault", "bad=Bad,node=ns=2;i=99"],
            2,
            "no node ns=2;i=99",
        ),
        (
            &["--ledger", "/nowhere/x"],
            1,
            "cannot write the ledger to /nowhere/x",
        ),
        (&["--grace", "5"], 2, "a number and a unit"),
    ] {
        let (got, text) = fails(options);
        assert_eq!(got, code, "{text}");
        assert!(text.contains(part), "{text}");
    }
}
