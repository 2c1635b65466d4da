//! What comes, from whom, and what does not: datagrams, whatever they come by.

mod broker_message;

pub(super) use broker_message::BrokerMessage;

use std::collections::BTreeMap;
use std::time::Duration;

use pubsub::header::Kind;
use pubsub::raw::RawType;
use pubsub::security::{KeyRing, OpenError};
use pubsub::{DecodeError, Header, PublisherId, Tolerance, View};
use record::{Closed, Ledger, Measure, Tally};

use super::arrivals::ReceivedDatagram;
use super::choice::Choice;
use super::followed::{DatagramContents, Followed, Known};
use super::heard::{Captured, ListenerReport, Stream, Unread};
use super::information::PubSubConnection;
use super::key_times::{KeyFeed, KeyUse};
use super::learned::Learned;
use super::sender::{self, Sender};
use broker_message::Topical;

/// So many publishers and groups are followed, and so many reasons kept: datagrams may come from anybody.
const STREAMS: usize = 1024;
const REASONS: usize = 16;
/// The status of a datagram that cannot be read, as a client would have it.
const BAD_DECODING_ERROR: u32 = 0x8007_0000;

#[derive(Debug, Default)]
pub(super) struct Received {
    /// Datagrams that came.
    pub datagrams: u64,
    /// Types of the fields of each DataSet, where they are known: RawData does not say them.
    types: Vec<RawType>,
    /// What is written down of each datagram, if anybody wants that.
    open: Option<OpenLedger>,
    bytes: u64,
    values: u64,
    stamped: bool,
    not_followed: u64,
    /// Whose messages are taken, and how many were of others.
    choice: Choice,
    not_chosen: u64,
    unread: Vec<Unread>,
    streams: Vec<Followed>,
    /// Where in `streams` each publisher and group is.
    places: BTreeMap<Key<'static>, usize>,
    /// Numbers of the topics of messages in UADP, from 1.
    numbers: BTreeMap<String, usize>,
    /// The same of messages in JSON, for each topic.
    topics: BTreeMap<String, Vec<Topical>>,
    /// By how much the clock of publishers is ahead of ours, where that is known.
    ahead: Option<i64>,
    /// What publishers told of themselves.
    learned: Learned,
    /// Probes and announcements.
    discovery: u64,
    /// Secured datagrams by token.
    tokens: KeyUse,
    /// The token of a datagram whose key is not known.
    missing: Option<u32>,
    /// How publishers said that they are, or their broker for them; the first so many.
    statuses: BTreeMap<String, &'static str>,
}

/// The times of a phase.
#[derive(Debug, Clone, Copy)]
pub struct PhaseClock {
    /// When it begins, in nanoseconds since 1970: with the first cycle of a publisher of ours.
    pub origin_ns: u64,
    /// How long its load goes on.
    pub end_ns: u64,
    /// Where its beginning can be cut off.
    pub cut_ns: u64,
    /// By how much the publisher's clock is ahead of this host's, where somebody has compared them.
    pub ahead_ns: Option<i64>,
}

/// A ledger, when its phase began, in nanoseconds since 1970, and how long that is.
#[derive(Debug)]
struct OpenLedger {
    ledger: Ledger,
    origin: u64,
    end: u64,
    /// When the last message came.
    latest: Option<u64>,
    /// What was told is kept no longer: nobody wants all of it.
    forgets: bool,
}

/// What a listener has heard so far, or a publisher sent.
#[derive(Debug)]
pub struct SoFar {
    /// Intervals that are over and were not told before.
    pub closed: Vec<Closed>,
    /// NetworkMessages.
    pub messages: u64,
    /// Values.
    pub values: u64,
    /// Messages that never came, by their sequence numbers; of a publisher those that were refused.
    pub lost: u64,
    /// Who sent it, the first so many.
    pub senders: Vec<Sender>,
    /// How long it has listened, or published.
    pub heard_for_ns: u64,
    /// Whether nothing follows.
    pub last: bool,
}

impl OpenLedger {
    fn note(&mut self, len: usize, at: Option<u64>, said: Option<DatagramContents>) {
        let at = at.unwrap_or(self.origin).saturating_sub(self.origin);
        self.latest = Some(at);
        let length = u32::try_from(len).unwrap_or(u32::MAX);
        self.ledger.received_bytes(at, length, 1);
        let Some(said) = said else {
            return self.ledger.came(at, BAD_DECODING_ERROR, 0);
        };
        let values = u32::try_from(said.values).unwrap_or(u32::MAX);
        self.ledger.came(at, 0, values);
        if let Some(ns) = said.arrival {
            self.ledger.note(at, Measure::Arrival, ns, 1);
        }
        if let Some(ns) = said.delay {
            // RawData of unknown types has values that nobody can count.
            self.ledger.note(at, Measure::Delay, ns, said.values.max(1));
        }
    }
}

/// Publisher and group, as messages say them, and the number of the topic that they came by; 0 without a broker.
type Key<'a> = (Option<PublisherId<'a>>, Option<u16>, usize);

/// How it ended.
#[derive(Debug)]
pub(super) struct Ending {
    pub from: String,
    pub elapsed: Duration,
    pub drops: Option<u64>,
    pub buffer: usize,
    pub interrupted: bool,
    pub capture: Option<Captured>,
}

impl Received {
    /// For a phase with this clock: all is written down as well.
    pub fn writing(clock: PhaseClock, types: Vec<RawType>) -> Self {
        let ledger = Ledger::with_end(clock.end_ns).with_cuts(&[clock.cut_ns]);
        Self {
            types,
            open: Some(OpenLedger {
                ledger,
                origin: clock.origin_ns,
                end: clock.end_ns,
                latest: None,
                forgets: false,
            }),
            ahead: clock.ahead_ns,
            ..Self::default()
        }
    }

    /// For who looks on, from this time in nanoseconds since 1970: what was told is not kept, however long it goes on.
    pub fn watched(origin: u64) -> Self {
        Self {
            open: Some(OpenLedger {
                ledger: Ledger::new(),
                origin,
                end: u64::MAX,
                latest: None,
                forgets: true,
            }),
            ..Self::default()
        }
    }

    /// Takes what these send, and counts the rest.
    pub fn choosing(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    /// When the last message came of those that were written down, on the clock of their phase.
    pub fn latest(&self) -> Option<u64> {
        self.open.as_ref()?.latest
    }

    /// What was heard up to a time on the clock of the phase; all of the rest, if it is the last time.
    pub fn so_far(&mut self, at: u64, last: bool) -> Option<SoFar> {
        let senders = self.senders();
        let open = self.open.as_mut()?;
        let closed = match last || open.forgets {
            true => open.ledger.take_rest(at).collect(),
            false => open.ledger.take_closed(at).collect(),
        };
        if open.forgets {
            open.ledger = Ledger::new();
        }
        Some(SoFar {
            closed,
            messages: self.datagrams,
            values: self.values,
            lost: self.streams.iter().map(Followed::lost).sum(),
            senders,
            heard_for_ns: at,
            last,
        })
    }

    fn senders(&self) -> Vec<Sender> {
        let in_binary = self.places.iter().map(|((id, group, _), place)| {
            let publisher = id.as_ref().map(ToString::to_string);
            (publisher, group.map(|it| it.to_string()), *place)
        });
        let in_text = self.topics.values().flatten();
        let in_text = in_text.map(|it| (it.publisher.clone(), it.group.clone(), it.place));
        let named = in_binary.chain(in_text).map(|(publisher, group, place)| {
            let mut name = publisher.unwrap_or_else(|| "without an id".to_owned());
            if let Some(group) = group {
                name = format!("{name}, group {group}");
            }
            Some(self.streams.get(place)?.sender(name))
        });
        named.take(sender::MOST).flatten().collect()
    }

    /// What was written down in so much time.
    pub fn take_tally(&mut self, heard_for_ns: u64) -> Option<Tally> {
        let OpenLedger {
            mut ledger, end, ..
        } = self.open.take()?;
        if heard_for_ns < end {
            ledger.end_at(heard_for_ns);
        }
        // It listened to the end, whether anything came then or not.
        ledger.quiet_until(heard_for_ns.min(end));
        Some(ledger.finish())
    }

    /// Takes a datagram that came at `at`, if that is known.
    pub fn take(
        &mut self,
        buffer: &mut [u8],
        came: ReceivedDatagram,
        at: Option<u64>,
        keys: &mut KeyRing,
        tolerance: Tolerance,
    ) {
        self.take_of(0, buffer, came, at, keys, tolerance);
    }

    /// The same of a topic, by its number.
    fn take_of(
        &mut self,
        topic: usize,
        buffer: &mut [u8],
        came: ReceivedDatagram,
        at: Option<u64>,
        keys: &mut KeyRing,
        tolerance: Tolerance,
    ) {
        if !self.choice.is_all() {
            let bytes = buffer.get(..came.len).unwrap_or_default();
            // What has no header that can be read could be of anybody.
            if Header::parse(bytes, tolerance).is_ok_and(|(it, _)| !self.choice.takes(&it)) {
                self.not_chosen += 1;
                return;
            }
        }
        let said = match self.understand(topic, buffer, came, at, keys, tolerance) {
            // Discovery is no data.
            Ok(None) => return,
            Ok(said) => said,
            Err(reason) => {
                self.refuse(reason);
                None
            }
        };
        self.stamped |= came.stamp.is_some();
        self.datagrams += 1;
        self.bytes += came.len as u64;
        if let Some(said) = said {
            self.values += said.values;
        }
        if let Some(open) = &mut self.open {
            open.note(came.len, at, said);
        }
    }

    /// What it says, or why it cannot be read; none if that is no data.
    fn understand(
        &mut self,
        topic: usize,
        buffer: &mut [u8],
        came: ReceivedDatagram,
        at: Option<u64>,
        keys: &mut KeyRing,
        tolerance: Tolerance,
    ) -> Result<Option<DatagramContents>, String> {
        let bytes = buffer.get_mut(..came.len).unwrap_or_default();
        let opened = match keys.open(bytes) {
            Ok(opened) => opened,
            Err(error) => {
                match (kind(bytes, tolerance), &error) {
                    // Questions are not secured, whatever data is.
                    (Some(Kind::Probe), OpenError::NotSecured) => {
                        self.discovery += 1;
                        return Ok(None);
                    }
                    // In the group of data it comes to the socket of whoever asked, too, and was counted there.
                    (Some(Kind::Announcement), OpenError::Replayed) => return Ok(None),
                    (_, OpenError::NoKey(token)) => self.missing = Some(*token),
                    _ => {}
                }
                return Err(error.to_string());
            }
        };
        let view = View::parse_opened(bytes, opened, tolerance);
        let view = view.map_err(|error| error.to_string())?;
        if view.header.kind != Kind::DataSet {
            self.learn(&view).map_err(|error| error.to_string())?;
            return Ok(None);
        }
        if let Some(token) = opened.token_id() {
            self.tokens.note(token, 1);
        }
        let Some(place) = self.followed(&view.header, topic) else {
            self.not_followed += 1;
            return Ok(Some(DatagramContents::default()));
        };
        let Some(stream) = self.streams.get_mut(place) else {
            return Ok(Some(DatagramContents::default()));
        };
        let known = Known {
            given: &self.types,
            learned: &self.learned,
        };
        let said = stream.take(&view, came, at, &known);
        said.map(Some).map_err(|error| error.to_string())
    }

    /// Gives what a key service has for the listener, and asks it for what came and has no key.
    pub fn feed(&mut self, feed: &mut KeyFeed, keys: &mut KeyRing) {
        feed.turn(keys, self.missing.take());
    }

    /// Takes over how the key service was asked.
    pub fn fed(&mut self, feed: Option<&KeyFeed>) {
        if let Some(feed) = feed {
            feed.tell(&mut self.tokens);
        }
    }

    /// Takes what a server says of what it publishes.
    pub fn know(&mut self, server: &str, connections: &[PubSubConnection]) {
        for connection in connections {
            for (publisher, told) in connection.told(server) {
                self.learned.take(&publisher, told);
            }
        }
    }

    /// Takes what came of discovery elsewhere than data comes.
    pub fn told(&mut self, bytes: &mut [u8], keys: &mut KeyRing, tolerance: Tolerance) {
        // Data that comes there as well is opened where it is taken, and only once.
        if kind(bytes, tolerance).is_none_or(|it| it == Kind::DataSet) {
            return;
        }
        let Ok(opened) = keys.open(bytes) else { return };
        if let Ok(view) = View::parse_opened(bytes, opened, tolerance) {
            // What cannot be read is asked for again.
            let _ = self.learn(&view);
        }
    }

    /// Takes what a publisher told, and applies it to what is followed of it.
    fn learn(&mut self, view: &View<'_>) -> Result<(), DecodeError> {
        self.discovery += 1;
        let Some(told) = view.announcement()? else {
            return Ok(());
        };
        let Some(publisher) = &view.header.publisher_id else {
            return Ok(());
        };
        if !self.learned.take(publisher, told) {
            return Ok(());
        }
        let publisher = publisher.clone().into_owned();
        for ((id, group, _), place) in &self.places {
            if id.as_ref() == Some(&publisher)
                && let Some(stream) = self.streams.get_mut(*place)
            {
                stream.describe(&publisher, *group, &self.learned);
            }
        }
        Ok(())
    }

    /// Publishers of which something is not described, with the ids of its writers.
    pub fn undescribed(&self) -> Vec<(PublisherId<'static>, Vec<u16>)> {
        let mut all: BTreeMap<PublisherId<'static>, Vec<u16>> = BTreeMap::new();
        for ((id, ..), place) in &self.places {
            if let (Some(id), Some(stream)) = (id, self.streams.get(*place))
                && !stream.is_described()
            {
                all.entry(id.clone())
                    .or_default()
                    .extend(stream.writer_ids());
            }
        }
        all.into_iter().collect()
    }

    fn refuse(&mut self, reason: String) {
        if let Some(it) = self.unread.iter_mut().find(|it| it.reason == reason) {
            it.datagrams += 1;
            return;
        }
        match self.unread.len() < REASONS {
            true => self.unread.push(Unread {
                reason,
                datagrams: 1,
            }),
            false => {
                if let Some(last) = self.unread.last_mut() {
                    last.reason = "other reasons".to_owned();
                    last.datagrams += 1;
                }
            }
        }
    }

    /// Where it is in `streams`. Nothing is allocated for one that was heard before.
    fn followed(&mut self, header: &Header<'_>, topic: usize) -> Option<usize> {
        let key = (header.publisher_id.clone(), header.writer_group_id(), topic);
        // The compiler takes the keys for as short-lived as the one that is looked up.
        let places: &BTreeMap<Key<'_>, usize> = &self.places;
        if let Some(&place) = places.get(&key) {
            return Some(place);
        }
        if self.streams.len() >= STREAMS {
            return None;
        }
        let id = key.0.map(PublisherId::into_owned);
        let place = self.streams.len();
        self.places.insert((id, key.1, key.2), place);
        self.streams.push(Followed::of("UADP", self.ahead));
        Some(place)
    }

    pub fn close(self, ending: Ending) -> ListenerReport {
        let mut streams: Vec<_> = self.streams.into_iter().map(Some).collect();
        let mut take = |place: usize| streams.get_mut(place).and_then(Option::take);
        let mut said: Vec<Stream> = Vec::new();
        for ((id, group, _), place) in self.places {
            let Some(stream) = take(place) else { continue };
            let writer = stream.writer_ids().next();
            let publisher = id.clone();
            let mut stream = stream.close(id, group);
            if let Some(publisher) = &publisher {
                if let Some(group) = self.learned.group_of(publisher, group, writer) {
                    stream.writer_group_name = Some(group.name.clone());
                    stream.interval_ms = Some(group.interval_ms);
                }
                stream.endpoints = self.learned.endpoints(publisher);
            }
            said.push(stream);
        }
        for it in self.topics.into_values().flatten() {
            let Some(stream) = take(it.place) else {
                continue;
            };
            let mut stream = stream.close(
                it.publisher
                    .clone()
                    .map(|it| PublisherId::String(it.into())),
                None,
            );
            stream.writer_group_name = it.group;
            stream.status = it
                .publisher
                .and_then(|it| self.statuses.get(&it))
                .map(|it| (*it).to_owned());
            said.push(stream);
        }
        ListenerReport {
            from: ending.from,
            elapsed_ns: u64::try_from(ending.elapsed.as_nanos()).unwrap_or(u64::MAX),
            cpu_ns: None,
            interface_drops: BTreeMap::new(),
            others: Vec::new(),
            datagrams: self.datagrams,
            bytes: self.bytes,
            values: self.values,
            socket_drops: ending.drops,
            buffer_bytes: ending.buffer as u64,
            kernel_stamps: self.stamped,
            unread: self.unread,
            not_followed: self.not_followed,
            not_chosen: self.not_chosen,
            discovery: self.discovery,
            keys: self.tokens.is_any().then_some(self.tokens),
            streams: said,
            mqtt: None,
            server: None,
            interrupted: ending.interrupted,
            capture: ending.capture,
        }
    }
}

/// What a datagram has, as far as its header says; that part is never encrypted.
fn kind(bytes: &[u8], tolerance: Tolerance) -> Option<Kind> {
    let header = Header::parse(bytes, tolerance);
    header.ok().map(|(header, _)| header.kind)
}

#[cfg(test)]
mod tests {
    use pubsub::discovery::{Announced, Announcement, Asks, Probe};
    use pubsub::security::{GroupKeys, Mode, PubSubPolicy, Sealer};

    use super::*;

    #[test]
    fn what_is_asked_and_told_where_data_comes_is_no_data_that_cannot_be_read() {
        let key = GroupKeys::new(PubSubPolicy::Aes128Ctr, &[7; 52]).unwrap();
        let mut keys = KeyRing::new(Some(Mode::Sign), Tolerance::NONE);
        keys.insert(1, key.clone());
        let id = PublisherId::UInt16(7);
        let mut asked = Vec::new();
        let probe = Probe {
            asks: Asks::Endpoints,
        };
        probe.encode(&id, None, &mut asked).unwrap();
        let mut sealer = Sealer::new(key, 1, Mode::Sign, [1; 4]);
        let announcement = Announcement {
            sequence: 0,
            told: Announced::Other(9),
        };
        let (header, mut told) = (sealer.header(), Vec::new());
        let at = announcement.encode(&id, Some(&header), &mut told).unwrap();
        assert!(sealer.seal(&mut told, &at));
        let mut received = Received::default();
        // It came to the socket of whoever asked first.
        received.told(&mut told.clone(), &mut keys, Tolerance::NONE);
        for mut bytes in [asked, told] {
            let came = ReceivedDatagram {
                len: bytes.len(),
                ..ReceivedDatagram::default()
            };
            received.take(&mut bytes, came, None, &mut keys, Tolerance::NONE);
        }
        assert_eq!((received.datagrams, received.discovery), (0, 2));
    }
}
