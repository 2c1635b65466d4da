//! A publisher's answers to probes (Part 14, 7.2.4.6.12), in a thread of its own.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pubsub::discovery::Asks;
use pubsub::{Tolerance, View};
use serde::{Deserialize, Serialize};
use tracing::error;

use super::arrivals::Arrivals;
use super::datagram::{received, sender};
use super::described::{Announcer, Described};
use super::key_times::Cursor;
use super::publication::Discovery;
use crate::transport::Dscp;
use crate::transport::random;

/// The same is not told again sooner (7.2.4.6.12.2).
const PAUSE: Duration = Duration::from_millis(500);
/// Room for probes that wait.
const BUFFER: usize = 1 << 18;
/// So many writers that it does not have are told so at a time.
const UNKNOWN: usize = 16;

/// What a publisher was asked, and told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncementCounts {
    /// Probes for it.
    pub probes: u64,
    /// Messages that are no probes, or for others.
    pub others: u64,
    /// Announcements.
    pub announcements: u64,
}

/// What is told: metadata of a writer, a group with some of its writers, endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    MetaData(u16),
    Group(u16),
    Endpoints,
}

/// Something that is to be told, from when on, to whom, and of which writers.
#[derive(Debug, Clone)]
struct Due {
    at: Instant,
    to: SocketAddr,
    writers: Vec<u16>,
}

/// A thread that answers.
#[derive(Debug)]
pub(super) struct Announcements {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<AnnouncementCounts>>,
}

impl Announcements {
    /// Opens its sockets, and begins to answer.
    pub fn start(
        (discovery, interface, marks): (Discovery, Option<IpAddr>, (u32, Option<Dscp>)),
        announcer: Announcer,
        described: Described,
        cursor: Option<Cursor>,
    ) -> io::Result<Self> {
        let socket = received(discovery.at, interface, BUFFER)?;
        let group = match discovery.at.is_multicast() {
            true => Some(sender(discovery.at, interface, marks)?),
            false => None,
        };
        let out = match group {
            Some(socket) => socket,
            None => socket.same()?,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut telling = Telling {
            out,
            group: discovery.at.is_multicast().then_some(discovery.at.0),
            announcer,
            described,
            cursor,
            told: BTreeMap::new(),
            due: BTreeMap::new(),
            asked: AnnouncementCounts::default(),
        };
        let ended = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("discovery".into());
        let thread = thread.spawn(move || {
            let mut arrivals = Arrivals::new();
            let mut all_at = Some(Instant::now());
            while !ended.load(Ordering::Relaxed) {
                if all_at.is_some_and(|at| at <= Instant::now()) {
                    telling.tell_all();
                    all_at = discovery.each.map(|each| Instant::now() + each);
                }
                // A socket that fails now may not do so later; probes come again.
                if socket.receive(&mut arrivals).is_ok() {
                    for (came, bytes) in arrivals.each() {
                        telling.hear(bytes, came.from());
                    }
                }
                telling.tell_due();
            }
            telling.asked
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends, and says what was asked; nothing where its thread failed.
    pub fn finish(mut self) -> Option<AnnouncementCounts> {
        self.end()
    }

    fn end(&mut self) -> Option<AnnouncementCounts> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take()?.join();
        if ended.is_err() {
            error!("the thread that answers probes failed: what it was asked is not known");
        }
        ended.ok()
    }
}

impl Drop for Announcements {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread knows.
#[derive(Debug)]
struct Telling {
    out: UdpSocket,
    /// Who listens, if that is a group.
    group: Option<SocketAddr>,
    announcer: Announcer,
    described: Described,
    cursor: Option<Cursor>,
    /// When each was told last.
    told: BTreeMap<What, Instant>,
    /// What waits to be told.
    due: BTreeMap<What, Due>,
    asked: AnnouncementCounts,
}

impl Telling {
    fn hear(&mut self, bytes: &[u8], from: Option<SocketAddr>) {
        let view = View::parse(bytes, Tolerance::HARMLESS);
        let probe = view.as_ref().ok().and_then(|it| it.probe().ok().flatten());
        let for_us = view
            .as_ref()
            .is_ok_and(|it| it.header.publisher_id.as_ref() == Some(self.announcer.publisher()));
        let (Some(probe), true, Some(to)) = (probe, for_us, self.group.or(from)) else {
            self.asked.others += 1;
            return;
        };
        self.asked.probes += 1;
        let all = |asked: Vec<u16>, described: &Described| match asked.is_empty() {
            true => described.writers().collect(),
            false => asked,
        };
        match probe.asks {
            Asks::Endpoints => self.ask(What::Endpoints, to, Vec::new()),
            Asks::MetaData(writers) => {
                let writers = all(writers, &self.described);
                let (known, unknown): (Vec<u16>, Vec<u16>) =
                    writers.into_iter().partition(|it| self.described.has(*it));
                for writer in known.into_iter().chain(unknown.into_iter().take(UNKNOWN)) {
                    self.ask(What::MetaData(writer), to, Vec::new());
                }
            }
            Asks::Writers(writers) => {
                let writers = all(writers, &self.described);
                let groups: Vec<u16> = self.described.groups_of(&writers).collect();
                for group in groups {
                    self.ask(What::Group(group), to, writers.clone());
                }
            }
            Asks::Other(..) => {}
        }
    }

    /// Has it told as soon as it may be. One that waits already is not told twice, but of the writers of both.
    fn ask(&mut self, what: What, to: SocketAddr, writers: Vec<u16>) {
        let now = Instant::now();
        let free = self.told.get(&what).map_or(now, |at| *at + PAUSE);
        let due = self.due.entry(what).or_insert(Due {
            at: free.max(now),
            to,
            writers: Vec::new(),
        });
        due.writers.extend(writers);
        due.writers.sort_unstable();
        due.writers.dedup();
    }

    /// Tells all that there is. Who is asked at an address of its own has nobody to tell it to.
    fn tell_all(&mut self) {
        let Some(group) = self.group else { return };
        let writers: Vec<u16> = self.described.writers().collect();
        for writer in &writers {
            self.ask(What::MetaData(*writer), group, Vec::new());
        }
        let groups: Vec<u16> = self.described.groups_of(&writers).collect();
        for it in groups {
            self.ask(What::Group(it), group, writers.clone());
        }
    }

    fn tell_due(&mut self) {
        let now = Instant::now();
        let ready: Vec<What> = self
            .due
            .iter()
            .filter(|(_, due)| due.at <= now)
            .map(|(what, _)| *what)
            .collect();
        for what in ready {
            let Some(due) = self.due.remove(&what) else {
                continue;
            };
            // Of writers that nobody has nothing is remembered.
            if !matches!(what, What::MetaData(it) if !self.described.has(it)) {
                self.told.insert(what, now);
            }
            self.tell(what, &due);
        }
    }

    fn tell(&mut self, what: What, due: &Due) {
        let told = match what {
            What::MetaData(writer) => Some(self.described.metadata(writer)),
            What::Group(group) => self.described.group(group, &due.writers),
            What::Endpoints => Some(self.described.endpoints()),
        };
        let Some(told) = told else { return };
        self.roll_over();
        let Ok(message) = self.announcer.encode(told) else {
            return;
        };
        if message.is_empty() {
            return;
        }
        // The socket to a group is connected to it.
        let sent = match self.group {
            Some(_) => self.out.send(&message),
            None => self.out.send_to(&message, due.to),
        };
        self.asked.announcements += u64::from(sent.is_ok());
    }

    /// The key that data has by now.
    fn roll_over(&mut self) {
        let cursor = self.cursor.as_mut();
        let other = cursor.and_then(|it| it.turn(Instant::now()));
        if let (Some(sealer), Some(other)) = (self.announcer.sealer(), other) {
            let mut nonce = [0; 4];
            random()(&mut nonce);
            sealer.roll_over(other.keys, other.token, nonce, other.sequence);
        }
    }
}
