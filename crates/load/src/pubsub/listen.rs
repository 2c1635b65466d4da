//! A listener: what comes, from whom, and what does not.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pubsub::header::Kind;
use pubsub::security::KeyRing;
use pubsub::sequence::{Counts, Tracker};
use pubsub::view::{Known, SetView};
use pubsub::{Header, PublisherId, Tolerance, View};
use serde::{Deserialize, Serialize};

use super::datagram::{Came, receiver};
use super::spread::Times;
use super::{Address, Spread};

/// What to listen to.
#[derive(Debug)]
pub struct Listen {
    /// Where datagrams come to.
    pub from: Address,
    /// The address of the interface that a group is joined on.
    pub interface: Option<IpAddr>,
    /// The room to ask the kernel for.
    pub buffer: usize,
    /// For how long.
    pub duration: Duration,
    /// How many datagrams at most.
    pub datagrams: Option<u64>,
    /// Keys.
    pub keys: KeyRing,
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
}

/// What came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Where to.
    pub from: String,
    /// How long.
    pub elapsed_ns: u64,
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes, without those of UDP and IP.
    pub bytes: u64,
    /// Values that were visited; those of RawData are not told apart without metadata.
    pub values: u64,
    /// Datagrams that the kernel dropped because the listener's buffer was full, if it says so. It says so
    /// with the next datagram only.
    pub socket_drops: Option<u64>,
    /// The room that the kernel gave.
    pub buffer_bytes: u64,
    /// Whether times of arrival are the kernel's.
    pub kernel_stamps: bool,
    /// Datagrams that could not be read, by the reason, the first sixteen reasons.
    pub unread: Vec<Unread>,
    /// Datagrams of more publishers and groups than are followed.
    pub not_followed: u64,
    /// What each publisher and group sent.
    pub streams: Vec<Stream>,
    /// Ended before its time.
    pub interrupted: bool,
}

/// Datagrams that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Why the first of them could not.
    pub reason: String,
    /// How many.
    pub datagrams: u64,
}

/// What came of one publisher and writer group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The PublisherId, if it says one.
    pub publisher_id: Option<String>,
    /// Its type.
    pub publisher_id_type: Option<String>,
    /// The WriterGroupId, if it says one.
    pub writer_group_id: Option<u16>,
    /// From where.
    pub source: Option<String>,
    /// `none`, `sign`, `sign-and-encrypt`.
    pub security: String,
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Parts of larger messages.
    pub chunks: u64,
    /// Probes and announcements.
    pub discovery: u64,
    /// What the sequence numbers of the group say; none if it has none.
    pub sequence: Option<Counted>,
    /// Between two datagrams.
    pub arrival: Option<Spread>,
    /// How far that is from its median.
    pub jitter: Option<Spread>,
    /// From the timestamp in the message to its arrival.
    pub delay: Delay,
    /// Each DataSetWriter.
    pub writers: Vec<Writer>,
}

/// From the timestamp in a message to its arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// Sender and listener have the same clock: both are on this host.
    SameClock(Spread),
    /// The sender is another host, and nothing is known of its clock.
    UnknownClock,
    /// Messages say no time.
    NoTimestamp,
}

/// What came of one DataSetWriter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Writer {
    /// Its id; none if messages do not say it.
    pub writer_id: Option<u16>,
    /// Its place in the message, where they do not.
    pub place: u16,
    /// Messages.
    pub messages: u64,
    /// `Variant`, `RawData`, `DataValue`: of the last.
    pub encoding: String,
    /// Fields of the last key frame; of RawData, its bytes.
    pub fields: u64,
    /// Whether `fields` counts bytes.
    pub fields_are_bytes: bool,
    /// Values.
    pub values: u64,
    /// Key frames.
    pub key_frames: u64,
    /// Delta frames.
    pub delta_frames: u64,
    /// Events.
    pub events: u64,
    /// Keep-alive messages.
    pub keep_alives: u64,
    /// Messages that say that they are not valid.
    pub invalid: u64,
    /// What the sequence numbers of the writer say; none if it has none.
    pub sequence: Option<Counted>,
}

/// What sequence numbers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Never came.
    pub lost: u64,
    /// Came again.
    pub duplicates: u64,
    /// Came after a later one.
    pub late: u64,
    /// Came too late to say what they are.
    pub too_old: u64,
    /// How often some were missing.
    pub gaps: u64,
    /// The most that were missing at once.
    pub longest_gap: u64,
    /// How often numbers began anew.
    pub restarts: u64,
}

impl From<Counts> for Counted {
    fn from(it: Counts) -> Self {
        Self {
            lost: it.lost,
            duplicates: it.duplicates,
            late: it.late,
            too_old: it.too_old,
            gaps: it.gaps,
            longest_gap: it.longest_gap.into(),
            restarts: it.restarts,
        }
    }
}

impl Heard {
    /// Messages that never came: of writers with sequence numbers, else of their groups.
    pub fn lost(&self) -> u64 {
        self.streams.iter().map(Stream::lost).sum()
    }

    /// Whether anything says what was lost.
    pub fn knows_loss(&self) -> bool {
        self.streams.iter().any(|it| {
            it.sequence.is_some() || it.writers.iter().any(|writer| writer.sequence.is_some())
        })
    }

    /// Datagrams that could not be read.
    pub fn unreadable(&self) -> u64 {
        self.unread.iter().map(|it| it.datagrams).sum()
    }
}

impl Stream {
    /// Messages of it that never came.
    pub fn lost(&self) -> u64 {
        let lost = |it: &Option<Counted>| it.map_or(0, |it| it.lost);
        let writers: u64 = self.writers.iter().map(|it| lost(&it.sequence)).sum();
        writers.max(lost(&self.sequence))
    }
}

/// Why nothing was listened to.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {at}: {error}")]
pub struct ListenError {
    /// Where.
    pub at: String,
    /// What the system says.
    pub error: io::Error,
}

/// So many publishers and groups are followed, and so many reasons kept: datagrams may come from anybody.
const STREAMS: usize = 1024;
const REASONS: usize = 16;
/// So many writers of each.
const WRITERS: usize = 1024;

/// Listens until the time is over, all datagrams came, or `stop` is set. `ready` is called when the socket is open.
///
/// # Errors
/// The socket cannot be opened, or failed.
pub fn listen(
    mut plan: Listen,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<Heard, ListenError> {
    let failed = |error| ListenError {
        at: plan.from.to_string(),
        error,
    };
    let mut socket = receiver(plan.from, plan.interface, plan.buffer).map_err(failed)?;
    let mut buffer = vec![0; 65_536];
    let mut ears = Ears::default();
    ready();
    let start = Instant::now();
    let mut interrupted = false;
    while start.elapsed() < plan.duration {
        if stop.load(Ordering::Relaxed) {
            interrupted = true;
            break;
        }
        if plan.datagrams.is_some_and(|most| ears.datagrams >= most) {
            break;
        }
        let Some(came) = socket.receive(&mut buffer).map_err(failed)? else {
            continue;
        };
        ears.take(&mut buffer, came, &mut plan.keys, plan.tolerance);
    }
    Ok(ears.close(
        plan.from,
        start.elapsed(),
        socket.drops,
        socket.buffer,
        interrupted,
    ))
}

#[derive(Debug, Default)]
struct Ears {
    datagrams: u64,
    bytes: u64,
    values: u64,
    stamped: bool,
    not_followed: u64,
    unread: Vec<Unread>,
    streams: BTreeMap<(Option<PublisherId<'static>>, Option<u16>), Followed>,
}

#[derive(Debug)]
struct Followed {
    source: Option<IpAddr>,
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
    writers: BTreeMap<(Option<u16>, u16), (Writer, Option<Tracker>)>,
}

impl Ears {
    fn take(&mut self, buffer: &mut [u8], came: Came, keys: &mut KeyRing, tolerance: Tolerance) {
        let at = came.stamp.unwrap_or_else(now);
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

    fn followed(&mut self, header: &Header<'_>) -> Option<&mut Followed> {
        let id = header.publisher_id.clone().map(PublisherId::into_owned);
        let key = (id, header.writer_group_id());
        if self.streams.len() >= STREAMS && !self.streams.contains_key(&key) {
            return None;
        }
        Some(self.streams.entry(key).or_insert_with(Followed::new))
    }

    fn close(
        self,
        from: Address,
        elapsed: Duration,
        drops: Option<u32>,
        buffer: usize,
        interrupted: bool,
    ) -> Heard {
        Heard {
            from: from.to_string(),
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            datagrams: self.datagrams,
            bytes: self.bytes,
            values: self.values,
            socket_drops: drops.map(u64::from),
            buffer_bytes: buffer as u64,
            kernel_stamps: self.stamped,
            unread: self.unread,
            not_followed: self.not_followed,
            streams: self
                .streams
                .into_iter()
                .map(|((id, group), it)| it.close(id, group))
                .collect(),
            interrupted,
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
    fn take(&mut self, view: &View<'_>, came: Came, at: u64) -> Result<u64, pubsub::DecodeError> {
        self.source = came.source;
        self.datagrams += 1;
        self.bytes += came.len as u64;
        self.security = match view.header.security {
            Some(it) if it.encrypted => "sign-and-encrypt",
            Some(it) if it.signed => "sign",
            _ => "none",
        };
        if let Some(last) = self.last.replace(at) {
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
            if came.source.is_some_and(|it| it.is_loopback()) {
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
        let (writer, tracker) = entry.or_insert_with(|| (Writer::new(set.writer_id, place), None));
        writer.messages += 1;
        if !set.header.valid {
            writer.invalid += 1;
            return Ok(0);
        }
        if let Some(sequence) = set.header.sequence {
            // A keep-alive says which number comes next; it is no message of its own.
            if set.header.frame != Frame::KeepAlive {
                tracker.get_or_insert_with(Tracker::default).note(sequence);
            }
        }
        let mut values = 0;
        for field in set.fields()? {
            field?;
            values += 1;
        }
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
                .map(|(writer, tracker)| Writer {
                    sequence: tracker.map(|it| it.counts().into()),
                    ..writer
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

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX))
}

/// From 100 ns since 1601 to nanoseconds since 1970.
fn unix_nanos(ticks: i64) -> u64 {
    const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;
    let since = ticks.saturating_sub(UNIX_EPOCH_TICKS);
    u64::try_from(since).unwrap_or_default().saturating_mul(100)
}
