//! A publisher and group that is followed: what came of it, and of each of its writers, in UADP and in JSON.

use std::collections::BTreeMap;

use pubsub::json::JsonView;
use pubsub::json::view::SetView as JsonSetView;
use pubsub::raw::RawType;
use pubsub::reader::Reader;
use pubsub::sequence::Tracker;
use pubsub::view::{self, Encoding, Frame, SetView};
use pubsub::{DecodeError, PublisherId, View};

use super::arrivals::{ReceivedDatagram, Source};
use super::ethernet_url::Vlan;
use super::heard::{DataSet, Delay, Stream, Writer};
use super::learned::{Learned, Set};
use super::sender::Sender;
use super::spread::Times;
use crate::transport::unix_nanos;

/// So many writers of each are followed.
const WRITERS: usize = 1024;

/// What a datagram said.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DatagramContents {
    pub values: u64,
    /// Since the datagram before.
    pub arrival: Option<u64>,
    /// Since it was sent.
    pub delay: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Followed {
    source: Option<Source>,
    vlan: Option<Vlan>,
    pub topic: Option<String>,
    mapping: &'static str,
    security: &'static str,
    datagrams: u64,
    bytes: u64,
    chunks: u64,
    sequence: Option<Tracker>,
    last: Option<u64>,
    arrival: Times,
    /// By how much the sender's clock is ahead of ours, where that is known.
    ahead: Option<i64>,
    delay: Times,
    timestamps: u64,
    /// Messages whose time of sending was later than that of their arrival.
    before: u64,
    writers: BTreeMap<(Option<u16>, u16), WriterTracker>,
}

/// What is known of a writer.
#[derive(Debug)]
struct WriterTracker {
    writer: Writer,
    sequence: Option<Tracker>,
    reader: Reader,
    /// The version of the metadata that the reader goes by.
    version: Option<(u32, u32)>,
}

/// What RawData looks like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// The types of each DataSet, where they were known beforehand.
    pub given: &'a [RawType],
    /// What publishers told.
    pub learned: &'a Learned,
}

impl Followed {
    /// Whose messages have this mapping, and whose clock is so much ahead of ours, where that is known.
    pub fn of(mapping: &'static str, ahead: Option<i64>) -> Self {
        Self {
            source: None,
            vlan: None,
            topic: None,
            mapping,
            security: "none",
            datagrams: 0,
            bytes: 0,
            chunks: 0,
            sequence: None,
            last: None,
            arrival: Times::new(),
            ahead,
            delay: Times::new(),
            timestamps: 0,
            before: 0,
            writers: BTreeMap::new(),
        }
    }

    /// Takes a message in UADP.
    pub fn take(
        &mut self,
        view: &View<'_>,
        came: ReceivedDatagram,
        at: Option<u64>,
        known: &Known<'_>,
    ) -> Result<DatagramContents, DecodeError> {
        self.source = came.source;
        self.vlan = came.vlan;
        self.security = match view.header.security {
            Some(it) if it.encrypted => "sign-and-encrypt",
            Some(it) if it.signed => "sign",
            _ => "none",
        };
        let mut said = DatagramContents {
            arrival: self.came(came.len, at),
            ..DatagramContents::default()
        };
        if let Some(sequence) = view.header.group.and_then(|it| it.sequence) {
            let tracker = self.sequence.get_or_insert_with(Tracker::default);
            tracker.note(sequence);
        }
        if view.header.chunk {
            self.chunks += 1;
        }
        let mut time = view.header.timestamp;
        let header = &view.header;
        let described = |writer: Option<u16>, place: u16| {
            let publisher = header.publisher_id.clone()?.into_owned();
            let group = header.writer_group_id();
            known.learned.set_of(&publisher, group, writer, place)
        };
        for (place, set) in view.messages(view::Known::default())?.enumerate() {
            let set = set?;
            time = time.or(set.header.timestamp);
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            said.values += self.note(&set, place, known.given, described)?;
        }
        said.delay = self.sent(time, at, came.here);
        Ok(said)
    }

    /// Takes a message in JSON, of so many bytes.
    pub fn take_text(
        &mut self,
        view: &JsonView<'_>,
        len: usize,
        at: u64,
        same_clock: bool,
    ) -> Result<DatagramContents, DecodeError> {
        let mut said = DatagramContents {
            arrival: self.came(len, Some(at)),
            ..DatagramContents::default()
        };
        let mut time = None;
        for (place, set) in view.sets().enumerate() {
            let set = set?;
            time = time.or(set.timestamp);
            said.values += self.note_text(&set, u16::try_from(place).unwrap_or(u16::MAX));
        }
        said.delay = self.sent(time, Some(at), same_clock);
        Ok(said)
    }

    /// Counts a message; how long after the one before it came.
    fn came(&mut self, len: usize, at: Option<u64>) -> Option<u64> {
        self.datagrams += 1;
        self.bytes += len as u64;
        let at = at?;
        let since = at.saturating_sub(self.last.replace(at)?);
        self.arrival.note(since);
        Some(since)
    }

    /// Counts the time at which a message was sent, if it says one; how long before `at` that was, by one clock or by two
    /// that were compared.
    fn sent(&mut self, time: Option<i64>, at: Option<u64>, same_clock: bool) -> Option<u64> {
        let sent = time?;
        self.timestamps += 1;
        let ahead = self.ahead.or(same_clock.then_some(0))?;
        let (at, sent) = (at?, unix_nanos(sent).saturating_add_signed(-ahead));
        self.before += u64::from(at < sent);
        let delay = at.saturating_sub(sent);
        self.delay.note(delay);
        Some(delay)
    }

    /// A writer by its id, or by its place in the message. None if there are too many.
    fn tracker(
        &mut self,
        writer_id: Option<u16>,
        place: u16,
        new: impl FnOnce() -> WriterTracker,
    ) -> Option<&mut WriterTracker> {
        let key = (writer_id, if writer_id.is_some() { 0 } else { place });
        if self.writers.len() >= WRITERS && !self.writers.contains_key(&key) {
            return None;
        }
        let tracker = self.writers.entry(key).or_insert_with(new);
        tracker.writer.messages += 1;
        Some(tracker)
    }

    /// Tells how many values there were.
    fn note_text(&mut self, set: &JsonSetView<'_>, place: u16) -> u64 {
        let new = || WriterTracker {
            writer: Writer {
                name: set.writer_name.map(|it| it.read().into_owned()),
                ..Writer::new(set.writer_id, place)
            },
            sequence: None,
            reader: Reader::default(),
            version: None,
        };
        let Some(tracker) = self.tracker(set.writer_id, place, new) else {
            return 0;
        };
        // Numbers of 32 bits are followed by their lower half: a gap of more than a quarter of that is a restart.
        tracker.follow(set.sequence.map(|it| it as u16), set.frame);
        let mut values = 0;
        for field in set.fields() {
            if values == 0 {
                tracker.says_in(field.encoding.name());
            }
            values += 1;
        }
        if set.frame == Frame::Key {
            tracker.writer.fields = values;
        }
        tracker.count(set.frame, values);
        values
    }

    /// Tells how many values there were.
    fn note<'a>(
        &mut self,
        set: &SetView<'_>,
        place: u16,
        given: &[RawType],
        described: impl FnOnce(Option<u16>, u16) -> Option<&'a Set>,
    ) -> Result<u64, DecodeError> {
        let new = || {
            let mut tracker = WriterTracker {
                writer: Writer::new(set.writer_id, place),
                sequence: None,
                reader: match given {
                    [] => Reader::default(),
                    types => Reader::with_types(types),
                },
                version: None,
            };
            if let Some(set) = described(set.writer_id, place) {
                tracker.describe(set);
            }
            tracker
        };
        let Some(tracker) = self.tracker(set.writer_id, place, new) else {
            return Ok(0);
        };
        let header = &set.header;
        if !header.valid {
            tracker.writer.invalid += 1;
            return Ok(0);
        }
        tracker.follow(header.sequence, header.frame);
        if let (Some((major, _)), Some(said)) = (tracker.version, header.major_version)
            && major != said
        {
            // Other fields than those that are known.
            tracker.forget();
        }
        let values = tracker.reader.visit(set, |_| ())? as u64;
        if header.frame == Frame::Key {
            tracker.writer.fields_are_bytes = header.encoding == Encoding::Raw;
            tracker.writer.fields = match tracker.writer.fields_are_bytes {
                true => set.body().len() as u64,
                false => values,
            };
        }
        if header.frame != Frame::KeepAlive {
            tracker.says_in(header.encoding.name());
        }
        tracker.count(header.frame, values);
        Ok(values)
    }

    /// The ids of its writers.
    pub fn writer_ids(&self) -> impl Iterator<Item = u16> + '_ {
        self.writers.keys().filter_map(|(id, _)| *id)
    }

    /// Whether all its writers are described.
    pub fn is_described(&self) -> bool {
        self.writers.values().all(|it| it.version.is_some())
    }

    /// Has its writers read by what their publisher told.
    pub fn describe(
        &mut self,
        publisher: &PublisherId<'static>,
        group: Option<u16>,
        learned: &Learned,
    ) {
        for ((id, place), tracker) in &mut self.writers {
            if let Some(set) = learned.set_of(publisher, group, *id, *place) {
                tracker.describe(set);
            }
            let group = learned.group_of(publisher, group, *id);
            let mut writers = group.into_iter().flat_map(|it| &it.writers);
            if let Some((_, name)) = writers.find(|(writer, _)| Some(*writer) == *id) {
                tracker.writer.name = Some(name.clone());
            }
        }
    }

    /// Messages that never came so far: of writers with sequence numbers, else of their group.
    pub fn lost(&self) -> u64 {
        let lost = |it: &Option<Tracker>| it.as_ref().map_or(0, |it| it.counts().lost);
        let writers: u64 = self.writers.values().map(|it| lost(&it.sequence)).sum();
        writers.max(lost(&self.sequence))
    }

    /// What is told of it meanwhile.
    pub fn sender(&self, name: String) -> Sender {
        let encoding = self.writers.values().next();
        let encoding = encoding.map_or("", |it| it.writer.encoding.as_str());
        let security = match self.security {
            "none" => "not secured",
            security => security,
        };
        let parts = [self.mapping, encoding, security];
        let parts: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
        Sender {
            name,
            how: parts.join(", "),
            messages: self.datagrams,
            lost: self.lost(),
        }
    }

    pub fn close(self, id: Option<PublisherId<'static>>, group: Option<u16>) -> Stream {
        Stream {
            publisher_id_type: id.as_ref().map(|it| it.type_name().to_owned()),
            publisher_id: id.map(|it| it.to_string()),
            writer_group_id: group,
            writer_group_name: None,
            topic: self.topic,
            mapping: self.mapping.to_owned(),
            status: None,
            source: self.source.map(|it| it.to_string()),
            vlan: self.vlan.map(|it| it.id),
            priority: self.vlan.and_then(|it| it.priority),
            security: self.security.to_owned(),
            datagrams: self.datagrams,
            bytes: self.bytes,
            chunks: self.chunks,
            interval_ms: None,
            endpoints: Vec::new(),
            sequence: self.sequence.map(|it| it.counts().into()),
            jitter: self.arrival.away_from_median(),
            arrival: self.arrival.spread(),
            before: self.before,
            delay: match (self.delay.spread(), self.timestamps) {
                (Some(spread), _) if self.ahead.is_some() => Delay::Compared(spread),
                (Some(spread), _) => Delay::SameClock(spread),
                (None, 0) => Delay::NoTimestamp,
                (None, _) => Delay::UnknownClock,
            },
            writers: self
                .writers
                .into_values()
                .map(|it| Writer {
                    sequence: it.sequence.map(|it| it.counts().into()),
                    ..it.writer
                })
                .collect(),
        }
    }
}

impl WriterTracker {
    /// Reads by what is known of its DataSet from now on.
    fn describe(&mut self, set: &Set) {
        if self.version == Some(set.version) {
            return;
        }
        if let Some(types) = &set.types {
            self.reader = Reader::with_types(types);
        }
        self.version = Some(set.version);
        let (major_version, minor_version) = set.version;
        self.writer.data_set = Some(DataSet {
            name: set.name.clone(),
            fields: set.fields,
            major_version,
            minor_version,
        });
    }

    /// Reads as if nothing were known.
    fn forget(&mut self) {
        self.reader = Reader::default();
        self.version = None;
        self.writer.data_set = None;
    }

    /// Follows the numbers of messages.
    fn follow(&mut self, sequence: Option<u16>, frame: Frame) {
        // A keep-alive says which number comes next; it is no message of its own.
        if let Some(sequence) = sequence.filter(|_| frame != Frame::KeepAlive) {
            let tracker = self.sequence.get_or_insert_with(Tracker::default);
            tracker.note(sequence);
        }
    }

    /// How values are written.
    fn says_in(&mut self, encoding: &str) {
        if self.writer.encoding != encoding {
            encoding.clone_into(&mut self.writer.encoding);
        }
    }

    fn count(&mut self, frame: Frame, values: u64) {
        let writer = &mut self.writer;
        match frame {
            Frame::Key => writer.key_frames += 1,
            Frame::Delta => writer.delta_frames += 1,
            Frame::Event => writer.events += 1,
            Frame::KeepAlive => writer.keep_alives += 1,
        }
        writer.values += values;
    }
}

impl Writer {
    fn new(writer_id: Option<u16>, place: u16) -> Self {
        Self {
            writer_id,
            name: None,
            place,
            data_set: None,
            messages: 0,
            encoding: String::new(),
            fields: 0,
            fields_are_bytes: false,
            values: 0,
            key_frames: 0,
            delta_frames: 0,
            events: 0,
            keep_alives: 0,
            invalid: 0,
            sequence: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_between_two_clocks_is_told_where_they_were_compared_and_not_otherwise() {
        const MS: u64 = 1_000_000;
        let ticks = |ns: u64| 116_444_736_000_000_000 + (ns / 100) as i64;
        let at = 1_800_000_000_000 * MS;
        // Sent 2 ms before, by a clock that is 30 ms ahead.
        let sent = Some(ticks(at + 28 * MS));
        let mut compared = Followed::of("UADP", Some(30 * MS as i64));
        assert_eq!(compared.sent(sent, Some(at), false), Some(2 * MS));
        // A clock that is less ahead than was thought: it came before it was sent.
        assert_eq!(compared.sent(sent, Some(at - 3 * MS), false), Some(0));
        let told = compared.close(None, None);
        assert!(matches!(told.delay, Delay::Compared(_)), "{told:?}");
        assert_eq!(told.before, 1);
        let mut unknown = Followed::of("UADP", None);
        assert_eq!(unknown.sent(sent, Some(at), false), None);
        assert_eq!(unknown.close(None, None).delay, Delay::UnknownClock);
    }
}
