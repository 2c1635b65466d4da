//! A publisher: the same messages at equal distances, with the values of each cycle.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::{Events, Poll, Token};
use plan::unit::duration::nanos;
use pubsub::json::{JsonDataSetMessage, JsonField, JsonNetworkMessage, JsonTemplate, Style};
use pubsub::mqtt::topic::{PREFIX, Tree};
use pubsub::raw::RawType;
use pubsub::security::Sealer;
use pubsub::template::{NoField, Template, TemplateError};
use pubsub::view::Encoding;
use pubsub::{Content, Fields};
use record::{Histogram, Progress, Sendings};
use serde::{Deserialize, Serialize};
use wire::template::walk::BuiltInType;
use wire::time::Now;
use wire::types::{DataValue, DateTime, Variant};

use super::announcements::{AnnouncementCounts, Announcements};
use super::batch::{Batch, Sent};
use super::broker_connection::BrokerConnection;
use super::datagram::sender;
use super::described::{
    Announcer, Described, field_name, group_name, retained, writer_ids, writer_name,
};
use super::key_times::{Cursor, KeyUse};
use super::lossy_path::LossyPath;
use super::message_path::{self, MessagePath};
use super::progress_reports::{Done, Publishing};
use super::publication::{Mapping, Publish, Target};
use super::received::SoFar;
use super::spread::Times;
use super::values::{Form, zero};
use super::{BrokerError, Delivered, Interface, Spread, ethernet, frame};
use crate::transport::{Clock, Timer, random};

/// What was published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Where to.
    pub to: String,
    /// The class of traffic that they said they are of, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<String>,
    /// How many routers they could pass, to a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// Cycles that were due in the time.
    pub planned_cycles: Option<u64>,
    /// Cycles that were sent.
    pub cycles: u64,
    /// Datagrams that the kernel took.
    pub datagrams: u64,
    /// Datagrams that it refused: nobody listens at a host, or a buffer was full.
    pub refused: u64,
    /// Datagrams that were kept back on purpose.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Of the datagrams those that were sent once more, on purpose.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copies: u64,
    /// Their bytes, without those of UDP and IP.
    pub bytes: u64,
    /// Bytes of each datagram.
    pub datagram_bytes: u64,
    /// Values in them.
    pub values: u64,
    /// How often another key was taken.
    pub roll_overs: u64,
    /// From the first cycle to the end of the last.
    pub elapsed_ns: u64,
    /// CPU of the thread that published, if somebody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// How long after its time each cycle began.
    pub lateness: Option<Spread>,
    /// The same, all of it.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub lateness_histogram: Histogram,
    /// What the broker did with them, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mqtt: Option<Delivered>,
    /// Probes that came, and what was told, if that was wanted and is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<AnnouncementCounts>,
    /// Which keys messages were secured with, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyUse>,
    /// Ended before its time.
    pub interrupted: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Published {
    /// Nothing yet, of datagrams of so many bytes.
    fn begun(plan: &Publish, planned_cycles: Option<u64>, size: usize) -> Self {
        Self {
            to: plan.to.to_string(),
            dscp: plan.dscp.map(|it| it.to_string()),
            ttl: match &plan.to {
                Target::Udp(to) if to.is_multicast() => Some(plan.ttl),
                _ => None,
            },
            planned_cycles,
            cycles: 0,
            datagrams: 0,
            refused: 0,
            dropped: 0,
            copies: 0,
            bytes: 0,
            datagram_bytes: size as u64,
            values: 0,
            roll_overs: 0,
            elapsed_ns: 0,
            cpu_ns: None,
            lateness: None,
            lateness_histogram: Histogram::default(),
            mqtt: None,
            discovery: None,
            keys: plan.mode.map(|_| KeyUse::default()),
            interrupted: false,
        }
    }

    /// What became of messages with so many values each, secured with the key of this token.
    fn note(&mut self, sent: Sent, token: u32, expired: bool, values: u64) {
        self.datagrams += sent.messages;
        self.bytes += sent.bytes;
        self.refused += sent.refused;
        self.dropped += sent.dropped;
        self.copies += sent.copies;
        self.values += sent.messages * values;
        if let Some(keys) = self.keys.as_mut().filter(|_| sent.messages > 0) {
            keys.note(token, sent.messages);
            keys.expired += if expired { sent.messages } else { 0 };
        }
    }

    /// The same for whoever looks at it meanwhile, with so many values in each message.
    fn sendings(&self, each: u64) -> Sendings {
        Sendings {
            each,
            messages: self.datagrams,
            refused: self.refused,
            dropped: self.dropped,
            copies: self.copies,
        }
    }

    fn so_far(&self) -> Done {
        Done {
            messages: self.datagrams,
            values: self.values,
            refused: self.refused,
        }
    }
}

/// Why nothing was published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The message has no form, or one that changes.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A value does not fit.
    #[error(transparent)]
    Field(#[from] NoField),
    /// There is no connection to a broker.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// JSON has no message security.
    #[error("messages in JSON cannot be secured: Part 14 has no security for them")]
    SecuredJson,
    /// A value has no form in JSON.
    #[error(transparent)]
    Text(#[from] pubsub::EncodeError),
    /// A socket or timer failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// UDP takes no larger datagrams.
    #[error("a datagram of {0} bytes; UDP takes 65507: use fewer signals or writers")]
    TooLarge(usize),
    /// A message that no frame takes.
    #[error("a message of {0} bytes; an Ethernet frame takes 1500: use fewer signals or writers")]
    LargeFrame(usize),
    /// Only a Boolean or a number has a place of its own.
    #[error("a value that is no Boolean and no number")]
    Kind,
    /// A secured message without a key.
    #[error("no key to secure messages with")]
    NoKey,
    /// 2^32 messages were sent with one key.
    #[error("the key is used up: 2^32 messages were sent with it")]
    KeyUsedUp,
}

/// The largest payload of UDP over IPv4.
const LARGEST: usize = 65_507;

/// Publishes until the time is over or `stop` is set. `ready` is called when the first cycle
/// begins, with that time in nanoseconds since 1970.
///
/// # Errors
/// The message cannot be made, or the socket failed.
pub fn publish(
    plan: Publish,
    stop: &AtomicBool,
    ready: impl FnOnce(u64),
) -> Result<Published, PublishError> {
    publish_and_tell(plan, stop, ready, None)
}

/// The same, and what it has sent so far is told a few times a second: how late cycles were is its delay.
///
/// # Errors
/// The message cannot be made, or the socket failed.
pub fn publish_and_tell(
    mut plan: Publish,
    stop: &AtomicBool,
    ready: impl FnOnce(u64),
    told: Option<&mut dyn FnMut(SoFar)>,
) -> Result<Published, PublishError> {
    let mut telling = told.map(Publishing::new);
    let clock = Clock::new();
    let mut random = random();
    let mut nonce = || {
        let mut bytes = [0; 4];
        random(&mut bytes);
        bytes
    };
    let kinds = plan.values.kinds();
    let begun = std::time::Instant::now();
    // The same for all that is secured: what is sent with one key is numbered through.
    let times = plan.keys_from(begun);
    let used = match plan.mode {
        Some(_) => Some(times.current(begun).ok_or(PublishError::NoKey)?),
        None => None,
    };
    let sealer = |random| {
        let (mode, used) = plan.mode.zip(used.as_ref())?;
        let sealer = Sealer::new(used.keys.clone(), used.token, mode, random);
        Some(sealer.numbered(used.sequence.clone()))
    };
    let now = clock.now().utc;
    let mut forms = forms(&plan, &kinds, &mut nonce, &sealer)?;
    let size = match forms.first_mut() {
        Some(Form::Uadp(template)) => template.len(),
        // The length of a text changes with its values.
        _ => 0,
    };
    match plan.to {
        Target::Udp(_) if size > LARGEST => return Err(PublishError::TooLarge(size)),
        Target::Ethernet(_) if size > frame::MOST => return Err(PublishError::LargeFrame(size)),
        _ => {}
    }
    let interface = plan.interface.as_ref();
    let mut poll = Poll::new()?;
    let mut path = path(&plan, &kinds, now, &poll, &mut nonce, &sealer)?;
    let mut events = Events::with_capacity(4);
    let mut timer = match plan.interval {
        Some(_) => Some(Timer::new(poll.registry(), Token(0), clock)?),
        None => None,
    };
    let mut late = Times::new();
    let mut out = Vec::with_capacity(size);
    let interval = plan.interval.map(|it| nanos(it).max(1));
    let planned = interval.map(|it| nanos(plan.duration).div_ceil(it));
    let planned = match (planned, plan.cycles) {
        (Some(planned), Some(most)) => Some(planned.min(most)),
        (planned, most) => planned.or(most),
    };
    let mut done = Published::begun(&plan, planned, size);
    let announcements = match (plan.discovery, plan.mapping) {
        (Some(discovery), Mapping::Uadp) => {
            let announcer = Announcer::new(plan.publisher_id.clone(), sealer(nonce()));
            let cursor = used.as_ref().map(|used| Cursor::new(times.clone(), used));
            let described = Described::of(&plan, &kinds);
            let towards = Interface::towards(interface, discovery.at)?;
            let way = (discovery, towards, (plan.ttl, plan.dscp));
            Some(Announcements::start(way, announcer, described, cursor)?)
        }
        _ => None,
    };
    // Values of a message.
    let each = u64::from(plan.writers) * kinds.len() as u64;
    let start = clock.mono();
    let started = std::time::Instant::now();
    if plan.key_times.is_none() {
        // How long a key is used counts from the first cycle.
        times.postpone(started.duration_since(begun));
    }
    let mut cursor = used.as_ref().map(|used| Cursor::new(times.clone(), used));
    let (mut token, mut expired) = (used.as_ref().map_or(0, |it| it.token), false);
    if let Some(progress) = &plan.progress {
        progress.secure_with(token);
    }
    let running = plan.progress.clone().map(Running::begin);
    ready(super::arrivals::now());
    let end = start + plan.duration;
    // Messages that go to the kernel together have one time, since reading clocks takes as long as making a message.
    let (mut now, mut is_old) = (clock.now(), false);
    let mut lossy = LossyPath::new(plan.fates.take());
    while planned.is_none_or(|planned| done.cycles < planned) {
        if stop.load(Ordering::Relaxed) {
            done.interrupted = true;
            break;
        }
        if is_old || interval.is_some() {
            (now, is_old) = (clock.now(), false);
        }
        if let (Some(interval), Some(timer)) = (interval, &mut timer) {
            let due = start + Duration::from_nanos(interval.saturating_mul(done.cycles));
            while now.mono < due && !stop.load(Ordering::Relaxed) {
                let wake = lossy.due().map_or(due, |it| it.min(due));
                let mut timeout = timer.until(wake, now.mono);
                if let Some(telling) = &mut telling {
                    telling.turn(now.mono.nanos_since(start), done.so_far());
                    timeout = telling.patience(timeout);
                }
                match poll.poll(&mut events, path.patience(timeout)) {
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                        return Err(error.into());
                    }
                    _ => now = clock.now(),
                }
                if lossy.due().is_some_and(|it| it <= now.mono) {
                    let late = lossy.release(now.mono, &mut path)?;
                    done.note(late, token, expired, each);
                }
                path.turn();
            }
            if now.mono < due {
                continue;
            }
            late.note(now.mono.nanos_since(due));
            if let Some(telling) = &mut telling {
                telling.late(now.mono.nanos_since(start), now.mono.nanos_since(due));
            }
        } else if now.mono >= end {
            break;
        } else if !path.has_room() {
            // Without a schedule it goes as fast as the broker takes it.
            poll.poll(&mut events, Some(message_path::PATIENCE))?;
            path.turn();
            is_old = true;
            continue;
        }
        if let Some(cursor) = &mut cursor {
            let now = clock.instant(now.mono);
            // A key is never taken again: its nonces would be, too.
            if let Some(other) = cursor.turn(now) {
                // What waits was secured with the key before.
                let waited = path.flush()?;
                done.note(waited, token, expired, each);
                done.roll_overs += 1;
                token = other.token;
                if let Some(progress) = &plan.progress {
                    progress.secure_with(token);
                }
                let uadp = forms.iter_mut().filter_map(|it| match it {
                    Form::Uadp(template) => template.sealer(),
                    Form::Json(..) => None,
                });
                for sealer in uadp {
                    let (keys, numbers) = (other.keys.clone(), other.sequence.clone());
                    sealer.roll_over(keys, other.token, nonce(), numbers);
                }
            }
            expired = cursor.is_expired(now);
        }
        let mut sent = Sent::default();
        for (group, form) in forms.iter_mut().enumerate() {
            for set in 0..usize::from(plan.writers) {
                plan.values.set(&kinds, form, set, done.cycles)?;
            }
            let is_secured = plan.mode.is_some();
            let (one, len) = message(
                (group, form, is_secured),
                now,
                &mut path,
                &mut lossy,
                &mut out,
            )?;
            sent.add(one);
            done.datagram_bytes = done.datagram_bytes.max(len as u64);
        }
        // A cycle of a schedule goes at its time; without one it may wait for others.
        if interval.is_some() {
            sent.add(path.flush()?);
        }
        is_old = sent != Sent::default();
        done.note(sent, token, expired, each);
        if let Some(progress) = &plan.progress {
            progress.note(done.sendings(each));
        }
        path.turn();
        done.cycles += 1;
        if let Some(telling) = &mut telling {
            telling.turn(now.mono.nanos_since(start), done.so_far());
        }
    }
    let mut waited = path.flush()?;
    waited.add(lossy.end(&mut path)?);
    done.note(waited, token, expired, each);
    done.elapsed_ns = clock.mono().nanos_since(start);
    if let Some(telling) = &mut telling {
        telling.tell(done.elapsed_ns, done.so_far(), true);
    }
    if let Some(progress) = &plan.progress {
        progress.note(done.sendings(each));
    }
    drop(running);
    // What is under way to a broker may still be acknowledged.
    let drained = std::time::Instant::now() + DRAIN;
    while path.is_waiting() && std::time::Instant::now() < drained {
        if let Err(error) = poll.poll(&mut events, Some(message_path::PATIENCE))
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error.into());
        }
        path.turn();
    }
    if let (Some(keys), Some(times)) = (&mut done.keys, &plan.key_times) {
        times.tell(keys);
    }
    done.mqtt = path.finish();
    done.discovery = announcements.and_then(Announcements::finish);
    done.lateness = late.spread();
    done.lateness_histogram = late.histogram();
    Ok(done)
}

/// Four random bytes.
type Nonce<'a> = &'a mut dyn FnMut() -> [u8; 4];
/// What secures messages, with such bytes of its own; none where they are not secured.
type Sealers<'a> = &'a dyn Fn([u8; 4]) -> Option<Sealer>;

/// The message of each group. Each has counters and random bytes of its own, so each has its own copy of every key.
fn forms(
    plan: &Publish,
    kinds: &[BuiltInType],
    nonce: Nonce<'_>,
    sealer: Sealers<'_>,
) -> Result<Vec<Form>, PublishError> {
    let form = |group| {
        let sealer = sealer(nonce());
        match plan.mapping {
            Mapping::Uadp => Ok(Form::Uadp(template(plan, kinds, group, sealer)?)),
            Mapping::Json(_) if sealer.is_some() => Err(PublishError::SecuredJson),
            Mapping::Json(style) => {
                let message = text(plan, kinds, group)?;
                let [a, b, c, d] = nonce();
                let [e, f, g, h] = nonce();
                let name = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
                let template = JsonTemplate::new(&message, style, kinds, name)?;
                Ok(Form::Json(template, String::new()))
            }
        }
    };
    (1..=plan.groups).map(form).collect()
}

/// Where messages go.
fn path(
    plan: &Publish,
    kinds: &[BuiltInType],
    now: i64,
    poll: &Poll,
    nonce: Nonce<'_>,
    sealer: Sealers<'_>,
) -> Result<MessagePath, PublishError> {
    let interface = plan.interface.as_ref();
    Ok(match &plan.to {
        Target::Udp(to) => {
            let towards = Interface::towards(interface, *to)?;
            let socket = sender(*to, towards, (plan.ttl, plan.dscp))?;
            MessagePath::Datagrams(Box::new(Batch::new(socket, Vec::new())))
        }
        Target::Ethernet(to) => {
            let (socket, header) = ethernet::sender(to, interface)?;
            MessagePath::Datagrams(Box::new(Batch::new(socket, header)))
        }
        Target::Mqtt(mqtt) => {
            let [a, b, c, d] = nonce();
            let client_id = format!("uaperf-{a:02x}{b:02x}{c:02x}{d:02x}");
            let json = plan.mapping != Mapping::Uadp;
            let prefix = mqtt.url.topic.as_deref().unwrap_or(PREFIX);
            let tree = Tree::new(prefix, json, &plan.publisher_id.to_string());
            let topics = (1..=plan.groups).map(|it| tree.data(&group_name(it)));
            let retained = retained(plan, kinds, &tree, now, sealer(nonce()))?;
            let registry = poll.registry().try_clone()?;
            let topics = topics.collect();
            let mqtt = (**mqtt).clone();
            let courier =
                BrokerConnection::new(mqtt, client_id, retained, topics, json, registry, Token(1))?;
            MessagePath::Mqtt(Box::new(courier))
        }
    })
}

/// Sends a message of a group, which is secured or not. What became of it, and its length.
fn message(
    (group, form, is_secured): (usize, &mut Form, bool),
    now: Now,
    path: &mut MessagePath,
    lossy: &mut LossyPath,
    out: &mut Vec<u8>,
) -> Result<(Sent, usize), PublishError> {
    match form {
        Form::Uadp(template) => {
            // A datagram is written where it waits for the call that sends it.
            let waits = match lossy.is_wanted() {
                true => None,
                false => path.slot(),
            };
            let is_in_place = waits.is_some();
            let at = waits.unwrap_or(&mut *out);
            if !template.write(now.utc, at) {
                return Err(PublishError::KeyUsedUp);
            }
            let len = at.len();
            let sent = match is_in_place {
                true => path.push()?,
                false => lossy.send((group, &*out), is_secured, now.mono, path)?,
            };
            Ok((sent, len))
        }
        Form::Json(template, text) => {
            template.write(now.utc, text);
            let sent = lossy.send((group, text.as_bytes()), false, now.mono, path)?;
            Ok((sent, text.len()))
        }
    }
}

/// It publishes until this is dropped: whoever fails publishes no more, either.
struct Running(Arc<Progress>);

impl Running {
    fn begin(progress: Arc<Progress>) -> Self {
        progress.run(true);
        Self(progress)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.run(false);
    }
}

/// So long at most it is waited for acknowledgements at the end.
const DRAIN: Duration = Duration::from_secs(2);

/// A message of a group in JSON: with its headers, and times of fields where they are DataValues.
fn text(
    plan: &Publish,
    kinds: &[BuiltInType],
    group: u16,
) -> Result<JsonNetworkMessage, PublishError> {
    let names = plan.values.names();
    let mut fields = Vec::new();
    for (n, kind) in kinds.iter().enumerate() {
        let value = zero(*kind).ok_or(PublishError::Kind)?;
        let field = match plan.encoding {
            Encoding::Raw => JsonField::raw(&value, Style::Compact)?,
            Encoding::Variant => JsonField::Variant(value),
            Encoding::DataValue => JsonField::DataValue(DataValue {
                value: Some(value),
                source_timestamp: Some(DateTime::from(1)),
                ..DataValue::default()
            }),
        };
        fields.push((field_name(&names, n), field));
    }
    let sets = writer_ids(plan, group).map(|id| JsonDataSetMessage {
        writer_name: Some(writer_name(id)),
        sequence: Some(0),
        minor_version: Some(1),
        timestamp: Some(0),
        ..JsonDataSetMessage::new(id, fields.clone())
    });
    Ok(JsonNetworkMessage {
        header: true,
        message_id: Some(String::new()),
        publisher_id: Some(plan.publisher_id.to_string()),
        writer_group: Some(group_name(group)),
        messages: sets.collect(),
        ..JsonNetworkMessage::default()
    })
}

fn template(
    plan: &Publish,
    kinds: &[BuiltInType],
    group: u16,
    sealer: Option<Sealer>,
) -> Result<Template, PublishError> {
    let types: Vec<RawType> = kinds.iter().map(|kind| RawType::scalar(*kind)).collect();
    let zeros: Option<Vec<Variant>> = kinds.iter().map(|kind| zero(*kind)).collect();
    let zeros = zeros.ok_or(PublishError::Kind)?;
    let fields = match plan.encoding {
        Encoding::Variant => Fields::Variant(zeros),
        Encoding::Raw => {
            // Whatever has a zero has a size.
            debug_assert!(kinds.iter().all(|kind| kind.size().is_some()));
            let sizes = kinds.iter().map(|kind| kind.size().unwrap_or_default());
            Fields::Raw(vec![0; sizes.sum()])
        }
        Encoding::DataValue => {
            let value = |zero| DataValue {
                value: Some(zero),
                source_timestamp: Some(DateTime::from(1)),
                ..DataValue::default()
            };
            Fields::DataValue(zeros.into_iter().map(value).collect())
        }
    };
    let sets = writer_ids(plan, group).map(|id| (id, Content::Key(fields.clone())));
    let id = plan.publisher_id.clone();
    let message = plan.layout.message(id, group, 1, sets);
    let types = vec![types.as_slice(); usize::from(plan.writers)];
    Ok(Template::new(&message, &types, sealer)?)
}

#[cfg(test)]
mod tests {
    use super::super::values::Source;
    use super::*;
    use crate::pubsub::Values;

    /// Gives a value of a field that there is not.
    struct Wrong(Arc<Progress>);

    impl Source for Wrong {
        fn kinds(&self) -> Vec<BuiltInType> {
            vec![BuiltInType::Int32]
        }

        fn read(&mut self, visit: &mut dyn FnMut(usize, u64)) {
            assert!(self.0.is_running());
            visit(7, 0);
        }
    }

    #[test]
    fn a_publisher_that_failed_does_not_say_that_it_publishes() {
        let progress = Arc::new(Progress::default());
        let to = Target::Udp("opc.udp://127.0.0.1:9".parse().unwrap());
        let values = Values::From(Box::new(Wrong(Arc::clone(&progress))));
        let plan = Publish {
            cycles: Some(1),
            progress: Some(Arc::clone(&progress)),
            ..Publish::new(to, values)
        };
        let failed = publish(plan, &AtomicBool::new(false), |_| ());
        assert!(matches!(failed, Err(PublishError::Field(_))), "{failed:?}");
        assert!(!progress.is_running());
    }
}
