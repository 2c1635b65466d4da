//! Floods of those who are not to be let in, while others work: what they are told, what the others lose,
//! what stands in the log and what is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Server, program};
use load::access::{Access, Credentials, Security, Session, TrustRule};
use load::transport::Steps;
use pki::make::Request;
use pki::store::Place;
use pki::{Identity, Key, Store};
use rustix::fs::inotify;
use wire::channel::Protection;
use wire::types::{
    AttributeId, CreateMonitoredItemsRequest, CreateSubscriptionRequest, DataChangeNotification,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, PublishRequest,
    ReadRequest, ReadValueId, StatusCode, SubscriptionAcknowledgement, TimestampsToReturn, Variant,
};
use zeroize::Zeroizing;

/// For what comes at once unless the machine has more to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// Attempts of a flood, by so many at once.
const ATTEMPTS: usize = 320;
const AT_ONCE: usize = 8;
/// Bytes that loops and helpers write to wake each other for an attempt, and to the log.
const BETWEEN_LOOPS: u64 = 192;

const PLANT: &str = r#"
# Less than a flood leaves behind of sessions that nobody activates.
[limits]
sessions = 40

[[user]]
name = "operator"
password_hash = "pbkdf2-sha256$1$00000000000000000000000000000000$64ebbda79bd81dd528c116a7639c3b827c85677cc9e5d6c62a68f5b0c3b5b951"

[[namespace]]
uri = "urn:test:floods"

[[namespace.signals]]
name = "Count"
type = "UInt32"
pattern = "counter"
update = "50ms"
"#;

/// A server whose log is a file, and whose store trusts nobody.
struct Flooded {
    server: Server,
    folder: tempfile::TempDir,
}

impl Flooded {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plant.toml"), PLANT).unwrap();
        let mut command = program();
        command.args(["serve", "plant.toml", "--port", "0", "--threads", "1"]);
        command.env("UAPERF_PKI", folder.path().join("pki"));
        command.current_dir(folder.path());
        command.stderr(File::create(folder.path().join("log")).unwrap());
        Self {
            server: Server::of(&mut command),
            folder,
        }
    }

    fn way(&self, name: &str, security: Security, user: Credentials) -> Access {
        Access {
            security,
            trust: TrustRule::Everyone,
            user,
            timeout: PATIENCE,
            ..Access::new(
                self.server.url.parse().unwrap(),
                Store::new(self.folder.path().join(name)),
                Request::application(format!("urn:test:{name}")).common_name(name),
            )
        }
    }

    fn plainly(&self, user: Credentials) -> Session {
        let way = self.way("good", Security::Exactly(Protection::NONE), user);
        let opening = way.discover().unwrap();
        way.open(&opening, &mut Steps::new()).unwrap()
    }

    fn descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.server.child.id());
        std::fs::read_dir(folder).unwrap().count()
    }

    fn memory(&self) -> u64 {
        let process = observe::Process::of(self.server.child.id());
        process.ok().unwrap().sample().rss_bytes.unwrap()
    }

    /// Bytes that it has written so far, but for those to sockets.
    fn written(&self) -> u64 {
        let io = format!("/proc/{}/io", self.server.child.id());
        let io = std::fs::read_to_string(io).unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
        line.unwrap().parse().unwrap()
    }

    /// Waits until connections of a flood are gone.
    fn is_back_to(&self, descriptors: usize) {
        let end = Instant::now() + PATIENCE;
        while self.descriptors() > descriptors {
            assert!(Instant::now() < end, "{} open", self.descriptors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it; gives what it said at the end and what stands in its log.
    fn ended(mut self) -> (String, String) {
        self.server.signal("TERM");
        let mut out = String::new();
        self.server.out.read_to_string(&mut out).unwrap();
        self.server.child.wait().unwrap();
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        (out, log)
    }
}

/// Comes again and again by all of these ways; gives what each attempt was told.
fn flood(ways: &[Access]) -> Vec<StatusCode> {
    let openings: Vec<_> = ways.iter().map(|way| way.discover().unwrap()).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|n| {
                let (way, opening) = (&ways[n % ways.len()], &openings[n % ways.len()]);
                let attempt = move || match way.open(opening, &mut Steps::new()) {
                    Ok(_) => StatusCode::Good,
                    Err(error) => error.status(),
                };
                scope.spawn(move || {
                    (0..ATTEMPTS / AT_ONCE)
                        .map(|_| attempt())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let told = threads.into_iter().map(|thread| thread.join().unwrap());
        told.flatten().collect()
    })
}

/// Reads until it is told to stop; gives how often. Whatever is not good is a failure.
fn reads_on(mut session: Session, stop: &AtomicBool) -> u64 {
    let mut reads = 0;
    let mut before = 0;
    while !stop.load(Ordering::Relaxed) {
        let response = session.call(ReadRequest {
            request_header: Default::default(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(vec![count()]),
        });
        let value = response.unwrap().results.unwrap().remove(0).value;
        let Some(Variant::UInt32(now)) = value else {
            panic!("{value:?}");
        };
        assert!(now >= before, "{now} after {before}");
        before = now;
        reads += 1;
        std::thread::sleep(Duration::from_millis(2));
    }
    reads
}

fn count() -> ReadValueId {
    ReadValueId {
        node_id: NodeId::new(2, "Count"),
        attribute_id: AttributeId::Value as u32,
        ..Default::default()
    }
}

/// Takes each value of the counter until it is told to stop; gives how many there were. One that is missing,
/// and a message that is, is a failure.
fn counts_on(mut session: Session, stop: &AtomicBool) -> u64 {
    let created = session
        .call(CreateSubscriptionRequest {
            requested_publishing_interval: 100.0,
            requested_lifetime_count: 6_000,
            requested_max_keep_alive_count: 10,
            publishing_enabled: true,
            ..Default::default()
        })
        .unwrap();
    let item = MonitoredItemCreateRequest {
        item_to_monitor: count(),
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle: 1,
            sampling_interval: 50.0,
            queue_size: 10_000,
            discard_oldest: true,
            ..Default::default()
        },
    };
    session
        .call(CreateMonitoredItemsRequest {
            request_header: Default::default(),
            subscription_id: created.subscription_id,
            timestamps_to_return: TimestampsToReturn::Neither,
            items_to_create: Some(vec![item]),
        })
        .unwrap();
    let (mut values, mut last, mut sequence) = (0, None, 0);
    let mut acknowledgements = None;
    while !stop.load(Ordering::Relaxed) {
        let published = session
            .call(PublishRequest {
                request_header: Default::default(),
                subscription_acknowledgements: acknowledgements.take(),
            })
            .unwrap();
        let message = published.notification_message;
        let Some(data) = message.notification_data.filter(|data| !data.is_empty()) else {
            continue;
        };
        assert_eq!(message.sequence_number, sequence + 1);
        sequence = message.sequence_number;
        acknowledgements = Some(vec![SubscriptionAcknowledgement {
            subscription_id: created.subscription_id,
            sequence_number: sequence,
        }]);
        for change in data {
            let change = change.inner_as::<DataChangeNotification>().unwrap();
            for item in change.monitored_items.iter().flatten() {
                let Some(Variant::UInt32(now)) = item.value.value else {
                    panic!("{item:?}");
                };
                assert!(last.is_none_or(|last| last + 1 == now), "{now} {last:?}");
                last = Some(now);
                values += 1;
            }
        }
    }
    values
}

/// Two floods alike while two good sessions work, each of whose attempts is to be told the same. What the
/// first leaves behind may be memory that is kept to be used again; the second may leave no more.
fn stands(flooded: &Flooded, ways: &[Access], told: StatusCode) {
    let reader = flooded.plainly(Credentials::Anonymous);
    let subscriber = flooded.plainly(Credentials::Anonymous);
    let before = flooded.descriptors();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let good = [
            scope.spawn(|| reads_on(reader, &stop)),
            scope.spawn(|| counts_on(subscriber, &stop)),
        ];
        let mut memory = Vec::new();
        for _ in 0..2 {
            let all = flood(ways);
            assert_eq!(all.len(), ATTEMPTS);
            assert!(all.iter().all(|status| *status == told), "{all:?}");
            flooded.is_back_to(before);
            memory.push(flooded.memory());
        }
        stop.store(true, Ordering::Relaxed);
        for one in good {
            assert!(one.join().unwrap() > 0);
        }
        // 320 sessions, or as many channels, would be more.
        assert!(memory[1] < memory[0] + (4 << 20), "{memory:?}");
    });
}

/// What the log says of those who were refused, without who else came.
fn refusals(log: &str) -> Vec<&str> {
    log.lines()
        .filter(|line| line.contains(" refused "))
        .collect()
}

#[test]
fn strangers_by_the_hundred_are_refused_and_nobody_else_notices() {
    let flooded = Flooded::start();
    let secured: Security = "Basic256Sha256:SignAndEncrypt".parse().unwrap();
    let names = ["eve", "mallory"];
    let ways = names.map(|name| flooded.way(name, secured, Credentials::Anonymous));
    stands(&flooded, &ways, StatusCode::BadSecurityChecksFailed);
    let rejected = flooded.folder.path().join("pki");
    let rejected = Store::new(rejected).certificates(Place::Rejected);
    assert_eq!(std::fs::read_dir(rejected).unwrap().count(), 2);
    let (out, log) = flooded.ended();
    let total = format!("not let in: channels {}, sessions 0", ATTEMPTS * 2);
    assert!(out.contains(&total), "{out}");
    let lines = refusals(&log);
    // Who reads it learns more than those who were refused.
    let name = ": BadCertificateUntrusted, certificate of \"eve\"";
    let told = |line: &&str| line.contains(" refused 127.0.0.1:") && line.contains(name);
    assert!(lines.iter().any(told), "{log}");
    is_short(&lines, &log);
}

/// What is done to the files of some folders, as the system counts it.
struct Watched(OwnedFd);

/// How often files were opened and written.
#[derive(Debug, Default)]
struct Done {
    opened: usize,
    written: usize,
}

impl Watched {
    fn of(folders: &[PathBuf]) -> Self {
        let watched = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        for folder in folders {
            std::fs::create_dir_all(folder).unwrap();
            let what = inotify::WatchFlags::OPEN | inotify::WatchFlags::CLOSE_WRITE;
            inotify::add_watch(&watched, folder, what).unwrap();
        }
        Self(watched)
    }

    fn done(self) -> Done {
        let mut done = Done::default();
        let mut buffer = [MaybeUninit::uninit(); 1 << 16];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        while let Ok(event) = events.next() {
            // Whoever lists a folder opens that, too, and without a name.
            assert!(!event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW));
            if event.file_name().is_none() {
                continue;
            }
            let what = event.events();
            done.opened += usize::from(what.contains(inotify::ReadFlags::OPEN));
            done.written += usize::from(what.contains(inotify::ReadFlags::CLOSE_WRITE));
        }
        done
    }
}

#[test]
fn a_flood_of_as_many_unknown_clients_reads_no_trust_list_and_writes_twenty_files() {
    const STRANGERS: u32 = 40;
    let flooded = Flooded::start();
    let secured: Security = "Basic256Sha256:SignAndEncrypt".parse().unwrap();
    let theirs = Store::new(flooded.folder.path().join("pki"));
    let now = std::time::SystemTime::now().into();
    let key = Key::generate(2048).unwrap();
    let make = |name: &str| {
        let request = Request::application(format!("urn:test:{name}")).common_name(name);
        Identity::new(request.self_signed(&key, now).unwrap(), key.clone())
    };
    let trusted = make("somebody").certificate;
    theirs.trust_certificate(&trusted).unwrap();
    let ways: Vec<_> = (0..STRANGERS)
        .map(|n| {
            let name = format!("eve{n}");
            let way = flooded.way(&name, secured, Credentials::Anonymous);
            way.store.put_own(make(&name)).unwrap();
            way
        })
        .collect();
    let openings: Vec<_> = ways.iter().map(|way| way.discover().unwrap()).collect();
    // The lists are read once, before anybody is watched.
    let first = ways[0].open(&openings[0], &mut Steps::new());
    assert_eq!(
        first.err().unwrap().status(),
        StatusCode::BadSecurityChecksFailed
    );
    let lists = [Place::Trusted, Place::Issuers, Place::Distrusted];
    let mut folders: Vec<_> = lists
        .iter()
        .map(|place| theirs.certificates(*place))
        .collect();
    folders.extend([Place::Trusted, Place::Issuers].map(|place| theirs.revocations(place)));
    folders
        .iter()
        .for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    let second = ways[0].open(&openings[0], &mut Steps::new());
    assert!(second.is_err());
    let (lists, notes) = (
        Watched::of(&folders),
        Watched::of(&[theirs.certificates(Place::Rejected)]),
    );
    let (began, before) = (Instant::now(), flooded.written());
    std::thread::scope(|scope| {
        for n in 0..AT_ONCE {
            let (ways, openings) = (&ways, &openings);
            scope.spawn(move || {
                for round in 0..ATTEMPTS / AT_ONCE {
                    let who = (round * AT_ONCE + n) % ways.len();
                    let told = ways[who].open(&openings[who], &mut Steps::new());
                    let told = told.err().unwrap().status();
                    assert_eq!(told, StatusCode::BadSecurityChecksFailed);
                }
            });
        }
    });
    // Twenty at once and one in ten seconds, and one was there before.
    let most = 20 + began.elapsed().as_secs() as usize / 10 + 1;
    let (lists, notes) = (lists.done(), notes.done());
    assert_eq!((lists.opened, lists.written), (0, 0));
    // Nothing is written or synced that is not opened; who opens one of these files writes it.
    assert!(notes.written <= most, "{notes:?}");
    assert!(notes.opened <= notes.written, "{notes:?}");
    let longest = ways.iter().map(|way| {
        let own = way.store.certificates(Place::Own);
        let files = std::fs::read_dir(own).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .max()
    });
    let longest = longest.max().unwrap().unwrap();
    // Beside the notes: the log, and some words between the loops for each attempt. A file for each would be more.
    let written = flooded.written() - before;
    let bound = most as u64 * longest + ATTEMPTS as u64 * BETWEEN_LOOPS;
    assert!(bound < ATTEMPTS as u64 * longest / 2);
    assert!(written <= bound, "{written} bytes, {notes:?}");
    let kept = std::fs::read_dir(theirs.certificates(Place::Rejected)).unwrap();
    let kept = kept.count();
    assert!((2..=most).contains(&kept), "{kept}");
    assert!(kept <= notes.written + 1, "{kept}, {notes:?}");
}

#[test]
fn wrong_passwords_by_the_hundred_are_refused_and_keep_nobody_out() {
    let flooded = Flooded::start();
    let user = |password: &str| Credentials::UserName {
        name: "operator".into(),
        password: Zeroizing::new(password.into()),
    };
    let way = flooded.way("eve", Security::Exactly(Protection::NONE), user("guess"));
    stands(&flooded, &[way], StatusCode::BadUserAccessDenied);
    // Who knows it comes in, also when sessions that were never activated fill all there is.
    flooded.plainly(user("bench"));
    let (out, log) = flooded.ended();
    let total = format!("not let in: channels 0, sessions {}", ATTEMPTS * 2);
    assert!(out.contains(&total), "{out}");
    let lines = refusals(&log);
    let name = ": BadUserAccessDenied, user \"operator\"";
    let told = |line: &&str| line.contains(" refused 127.0.0.1:") && line.contains(name);
    assert!(lines.iter().any(told), "{log}");
    assert!(!log.contains("guess"), "{log}");
    is_short(&lines, &log);
}

/// Twenty lines at once and one in ten seconds: however slow the machine is, a tenth of the attempts at most.
fn is_short(lines: &[&str], log: &str) {
    assert!(lines.len() <= ATTEMPTS * 2 / 10, "{log}");
}
