//! What comes, from whom, and what does not: datagrams, whatever they come by.

use std::collections::BTreeMap;
use std::time::Duration;

use pubsub::header::Kind;
use pubsub::reader::Reader;
use pubsub::security::KeyRing;
use pubsub::sequence::Tracker;
use pubsub::view::{Known, SetView};
use pubsub::{Header, PublisherId, Tolerance, View};

use super::datagram::{Came, Source};
use super::heard::{Captured, Delay, Heard, Stream, Unread, Writer};
use super::spread::Times;

/// So many publishers and groups are followed, and so many reasons kept: datagrams may come from anybody.
const STREAMS: usize = 1024;
const REASONS: usize = 16;
/// So many writers of each.
const WRITERS: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Ears {
    /// Datagrams that came.
    pub datagrams: u64,
    bytes: u64,
    values: u64,
    stamped: bool,
    not_followed: u64,
    unread: Vec<Unread>,
    streams: Vec<Followed>,
    /// Where in `streams` each publisher and group is.
    places: BTreeMap<Key<'static>, usize>,
}

/// Publisher and group, as messages say them.
type Key<'a> = (Option<PublisherId<'a>>, Option<u16>);

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

#[derive(Debug)]
struct Followed {
    source: Option<Source>,
    security: &'static str,
    datagrams: u64,
    bytes: u64,
    chunks: u64,
    discovery: u64,
    sequence: Option<Tracker>,
    last: Option<u64>,
    arrival: Times,
    delay: Times,
    timestamps: u64,
    writers: BTreeMap<(Option<u16>, u16), Ear>,
}

/// What is known of a writer.
#[derive(Debug)]
struct Ear {
    writer: Writer,
    sequence: Option<Tracker>,
    reader: Reader,
}

impl Ears {
    /// Takes a datagram that came at `at`, if that is known.
    pub fn take(
        &mut self,
        buffer: &mut [u8],
        came: Came,
        at: Option<u64>,
        keys: &mut KeyRing,
        tolerance: Tolerance,
    ) {
        self.stamped |= came.stamp.is_some();
        self.datagrams += 1;
        self.bytes += came.len as u64;
        let Some(bytes) = buffer.get_mut(..came.len) else {
            return;
        };
        let opened = match keys.open(bytes) {
            Ok(opened) => opened,
            Err(error) => return self.refuse(error.to_string()),
        };
        let view = match View::parse_opened(bytes, opened, tolerance) {
            Ok(view) => view,
            Err(error) => return self.refuse(error.to_string()),
        };
        let visited = match self.followed(&view.header) {
            Some(stream) => stream.take(&view, came, at),
            None => {
                self.not_followed += 1;
                return;
            }
        };
        match visited {
            Ok(values) => self.values += values,
            Err(error) => self.refuse(error.to_string()),
        }
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

    /// Nothing is allocated for one that was heard before.
    fn followed(&mut self, header: &Header<'_>) -> Option<&mut Followed> {
        let key = (header.publisher_id.clone(), header.writer_group_id());
        // The compiler takes the keys for as short-lived as the one that is looked up.
        let places: &BTreeMap<Key<'_>, usize> = &self.places;
        if let Some(&place) = places.get(&key) {
            return self.streams.get_mut(place);
        }
        if self.streams.len() >= STREAMS {
            return None;
        }
        let id = key.0.map(PublisherId::into_owned);
        self.places.insert((id, key.1), self.streams.len());
        self.streams.push(Followed::new());
        self.streams.last_mut()
    }

    pub fn close(self, ending: Ending) -> Heard {
        let mut streams: Vec<_> = self.streams.into_iter().map(Some).collect();
        let mut take = |place: usize| streams.get_mut(place).and_then(Option::take);
        let places = self.places.into_iter();
        Heard {
            from: ending.from,
            elapsed_ns: u64::try_from(ending.elapsed.as_nanos()).unwrap_or(u64::MAX),
            datagrams: self.datagrams,
            bytes: self.bytes,
            values: self.values,
            socket_drops: ending.drops,
            buffer_bytes: ending.buffer as u64,
            kernel_stamps: self.stamped,
            unread: self.unread,
            not_followed: self.not_followed,
            streams: places
                .filter_map(|((id, group), place)| Some(take(place)?.close(id, group)))
                .collect(),
            interrupted: ending.interrupted,
            capture: ending.capture,
        }
    }
}

impl Followed {
    fn new() -> Self {
        Self {
            source: None,
            security: "none",
            datagrams: 0,
            bytes: 0,
            chunks: 0,
            discovery: 0,
            sequence: None,
            last: None,
            arrival: Times::new(),
            delay: Times::new(),
            timestamps: 0,
            writers: BTreeMap::new(),
        }
    }

    /// Tells how many values there were.
    fn take(
        &mut self,
        view: &View<'_>,
        came: Came,
        at: Option<u64>,
    ) -> Result<u64, pubsub::DecodeError> {
        self.source = came.source;
        self.datagrams += 1;
        self.bytes += came.len as u64;
        self.security = match view.header.security {
            Some(it) if it.encrypted => "sign-and-encrypt",
            Some(it) if it.signed => "sign",
            _ => "none",
        };
        if let Some(at) = at
            && let Some(last) = self.last.replace(at)
        {
            self.arrival.note(at.saturating_sub(last));
        }
        if let Some(sequence) = view.header.group.and_then(|it| it.sequence) {
            let tracker = self.sequence.get_or_insert_with(Tracker::default);
            tracker.note(sequence);
        }
        if view.header.chunk {
            self.chunks += 1;
        }
        if view.header.kind != Kind::DataSet {
            self.discovery += 1;
        }
        let mut time = view.header.timestamp;
        let mut values = 0;
        for (place, set) in view.messages(Known::default())?.enumerate() {
            let set = set?;
            time = time.or(set.header.timestamp);
            values += self.note(&set, u16::try_from(place).unwrap_or(u16::MAX))?;
        }
        if let Some(sent) = time {
            self.timestamps += 1;
            if let Some(at) = at
                && came.source.is_some_and(Source::is_this_host)
            {
                self.delay.note(at.saturating_sub(unix_nanos(sent)));
            }
        }
        Ok(values)
    }

    fn note(&mut self, set: &SetView<'_>, place: u16) -> Result<u64, pubsub::DecodeError> {
        use pubsub::view::{Encoding, Frame};
        let key = (
            set.writer_id,
            if set.writer_id.is_some() { 0 } else { place },
        );
        if self.writers.len() >= WRITERS && !self.writers.contains_key(&key) {
            return Ok(0);
        }
        let entry = self.writers.entry(key);
        let ear = entry.or_insert_with(|| Ear {
            writer: Writer::new(set.writer_id, place),
            sequence: None,
            reader: Reader::default(),
        });
        let writer = &mut ear.writer;
        writer.messages += 1;
        if !set.header.valid {
            writer.invalid += 1;
            return Ok(0);
        }
        if let Some(sequence) = set.header.sequence {
            // A keep-alive says which number comes next; it is no message of its own.
            if set.header.frame != Frame::KeepAlive {
                let tracker = ear.sequence.get_or_insert_with(Tracker::default);
                tracker.note(sequence);
            }
        }
        let values = ear.reader.visit(set, |_| ())? as u64;
        match set.header.frame {
            Frame::Key => {
                writer.key_frames += 1;
                writer.fields_are_bytes = set.header.encoding == Encoding::Raw;
                writer.fields = match writer.fields_are_bytes {
                    true => set.body().len() as u64,
                    false => values,
                };
            }
            Frame::Delta => writer.delta_frames += 1,
            Frame::Event => writer.events += 1,
            Frame::KeepAlive => writer.keep_alives += 1,
        }
        if set.header.encoding.name() != writer.encoding && set.header.frame != Frame::KeepAlive {
            set.header.encoding.name().clone_into(&mut writer.encoding);
        }
        writer.values += values;
        Ok(values)
    }

    fn close(self, id: Option<PublisherId<'static>>, group: Option<u16>) -> Stream {
        Stream {
            publisher_id_type: id.as_ref().map(|it| it.type_name().to_owned()),
            publisher_id: id.map(|it| it.to_string()),
            writer_group_id: group,
            source: self.source.map(|it| it.to_string()),
            security: self.security.to_owned(),
            datagrams: self.datagrams,
            bytes: self.bytes,
            chunks: self.chunks,
            discovery: self.discovery,
            sequence: self.sequence.map(|it| it.counts().into()),
            jitter: self.arrival.away_from_median(),
            arrival: self.arrival.spread(),
            delay: match (self.delay.spread(), self.timestamps) {
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

impl Writer {
    fn new(writer_id: Option<u16>, place: u16) -> Self {
        Self {
            writer_id,
            place,
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

/// From 100 ns since 1601 to nanoseconds since 1970.
fn unix_nanos(ticks: i64) -> u64 {
    const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;
    let since = ticks.saturating_sub(UNIX_EPOCH_TICKS);
    u64::try_from(since).unwrap_or_default().saturating_mul(100)
}
