//! A publisher: the same messages at equal distances, with the values of each cycle.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::{Events, Poll, Token};
use pubsub::layout::Layout;
use pubsub::raw::RawType;
use pubsub::security::{GroupKeys, Mode, Sealer};
use pubsub::template::{NoField, Template, TemplateError};
use pubsub::view::Encoding;
use pubsub::{Content, Fields, PublisherId};
use record::Histogram;
use serde::{Deserialize, Serialize};
use wire::template::walk::BuiltInType;
use wire::types::{DataValue, DateTime, Variant};

use super::datagram::sender;
use super::spread::Times;
use super::{Address, Spread};
use crate::transport::{Clock, Timer, random};

/// The type of all signals. Each value is the number of its cycle, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the specification's own types")]
pub enum Signal {
    Byte,
    UInt16,
    Int32,
    UInt32,
    Int64,
    Float,
    Double,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Byte,
        Self::UInt16,
        Self::Int32,
        Self::UInt32,
        Self::Int64,
        Self::Float,
        Self::Double,
    ];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::UInt16 => "uint16",
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// As RawData has it.
    pub fn raw(self) -> RawType {
        RawType::scalar(self.kind())
    }

    const fn kind(self) -> BuiltInType {
        match self {
            Self::Byte => BuiltInType::Byte,
            Self::UInt16 => BuiltInType::UInt16,
            Self::Int32 => BuiltInType::Int32,
            Self::UInt32 => BuiltInType::UInt32,
            Self::Int64 => BuiltInType::Int64,
            Self::Float => BuiltInType::Float,
            Self::Double => BuiltInType::Double,
        }
    }

    /// Integers wrap around; a Float counts to 16,777,216 and begins again.
    fn set(self, template: &mut Template, set: usize, cycle: u64) -> Result<(), NoField> {
        let [a, b, c, d, ..] = cycle.to_le_bytes();
        match self {
            Self::Byte => template.set_all(set, |_| [a]),
            Self::UInt16 => template.set_all(set, |_| [a, b]),
            Self::Int32 | Self::UInt32 => template.set_all(set, |_| [a, b, c, d]),
            Self::Int64 => template.set_all(set, |_| cycle.to_le_bytes()),
            Self::Float => {
                let value = (cycle % (1 << 24)) as f32;
                template.set_all(set, |_| value.to_le_bytes())
            }
            Self::Double => template.set_all(set, |_| (cycle as f64).to_le_bytes()),
        }
    }
}

/// Values that are somewhere, such as those of a server.
pub trait Source: Send {
    /// Their types, of a fixed size each.
    fn kinds(&self) -> Vec<BuiltInType>;

    /// Those of this moment: which field, and its little-endian bytes, the rest zero.
    fn read(&mut self, visit: &mut dyn FnMut(usize, u64));
}

/// What the fields of a DataSetMessage are.
pub enum Values {
    /// So many of one type, each the number of its cycle.
    Count(Signal, u16),
    /// Those of somebody else; all DataSetMessages have the same.
    From(Box<dyn Source>),
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(signal, n) => f.debug_tuple("Count").field(signal).field(n).finish(),
            Self::From(source) => f.debug_tuple("From").field(&source.kinds().len()).finish(),
        }
    }
}

impl Values {
    fn kinds(&self) -> Vec<BuiltInType> {
        match self {
            Self::Count(signal, n) => vec![signal.kind(); usize::from(*n)],
            Self::From(source) => source.kinds(),
        }
    }

    fn set(
        &mut self,
        kinds: &[BuiltInType],
        template: &mut Template,
        set: usize,
        cycle: u64,
    ) -> Result<(), NoField> {
        let source = match self {
            Self::Count(signal, _) => return signal.set(template, set, cycle),
            Self::From(source) => source,
        };
        let mut done = Ok(());
        source.read(&mut |field, bits| {
            let size = kinds.get(field).and_then(|it| it.size()).unwrap_or(0);
            let bytes = bits.to_le_bytes();
            let value = bytes.get(..size).unwrap_or_default();
            let one = template.set(set, field, value);
            if done.is_ok() {
                done = one;
            }
        });
        done
    }
}

/// A Boolean or a number, whichever.
fn zero(kind: BuiltInType) -> Option<Variant> {
    use BuiltInType as T;
    Some(match kind {
        T::Boolean => Variant::Boolean(false),
        T::SByte => Variant::SByte(0),
        T::Byte => Variant::Byte(0),
        T::Int16 => Variant::Int16(0),
        T::UInt16 => Variant::UInt16(0),
        T::Int32 => Variant::Int32(0),
        T::UInt32 => Variant::UInt32(0),
        T::Int64 => Variant::Int64(0),
        T::UInt64 => Variant::UInt64(0),
        T::Float => Variant::Float(0.0),
        T::Double => Variant::Double(0.0),
        _ => return None,
    })
}

/// What to publish.
#[derive(Debug)]
pub struct Publish {
    /// Where to.
    pub to: Address,
    /// The address of the interface that a group is reached by.
    pub interface: Option<IpAddr>,
    /// How many routers multicast datagrams may pass.
    pub ttl: u32,
    /// Who publishes.
    pub publisher_id: PublisherId<'static>,
    /// NetworkMessages in a cycle, one for each writer group, with ids from 1.
    pub groups: u16,
    /// DataSetMessages in each, with ids from 1 on through all groups; together at most 65,535.
    pub writers: u16,
    /// Their fields.
    pub values: Values,
    /// How they are encoded.
    pub encoding: Encoding,
    /// The headers.
    pub layout: Layout,
    /// Security, and the keys by their tokens.
    pub mode: Option<Mode>,
    /// The first is used; the next after each `roll_over`, and the last to the end.
    pub keys: Vec<(u32, GroupKeys)>,
    /// How long a key is used.
    pub roll_over: Option<Duration>,
    /// The distance of cycles; none: one after another without a pause.
    pub interval: Option<Duration>,
    /// When to end.
    pub duration: Duration,
    /// How many cycles to send at most.
    pub cycles: Option<u64>,
}

/// What was published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Where to.
    pub to: String,
    /// Cycles that were due in the time.
    pub planned_cycles: Option<u64>,
    /// Cycles that were sent.
    pub cycles: u64,
    /// Datagrams that the kernel took.
    pub datagrams: u64,
    /// Datagrams that it refused: nobody listens at a host, or a buffer was full.
    pub refused: u64,
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
    /// How long after its time each cycle began.
    pub lateness: Option<Spread>,
    /// The same, all of it.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub lateness_histogram: Histogram,
    /// Ended before its time.
    pub interrupted: bool,
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
    /// A socket or timer failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// UDP takes no larger datagrams.
    #[error("a datagram of {0} bytes; UDP takes 65507: use fewer signals or writers")]
    TooLarge(usize),
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
    mut plan: Publish,
    stop: &AtomicBool,
    ready: impl FnOnce(u64),
) -> Result<Published, PublishError> {
    let clock = Clock::new();
    let mut random = random();
    let mut nonce = || {
        let mut bytes = [0; 4];
        random(&mut bytes);
        bytes
    };
    let kinds = plan.values.kinds();
    // Each group has counters and a nonce of its own, so each has its own copy of every key.
    let mut templates = Vec::new();
    for group in 1..=plan.groups {
        let sealer = match plan.mode {
            None => None,
            Some(mode) => {
                let (token, keys) = plan.keys.first().ok_or(PublishError::NoKey)?;
                Some(Sealer::new(keys.clone(), *token, mode, nonce()))
            }
        };
        templates.push(template(&plan, &kinds, group, sealer)?);
    }
    let size = templates.first().map_or(0, Template::len);
    if size > LARGEST {
        return Err(PublishError::TooLarge(size));
    }
    let socket = sender(plan.to, plan.interface, plan.ttl)?;
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(4);
    let mut timer = Timer::new(poll.registry(), Token(0), clock)?;
    let mut late = Times::new();
    let mut out = Vec::with_capacity(size);
    let interval = plan.interval.map(|it| nanos(it).max(1));
    let planned = interval.map(|it| nanos(plan.duration).div_ceil(it));
    let planned = match (planned, plan.cycles) {
        (Some(planned), Some(most)) => Some(planned.min(most)),
        (planned, most) => planned.or(most),
    };
    let mut done = Published {
        to: plan.to.to_string(),
        planned_cycles: planned,
        cycles: 0,
        datagrams: 0,
        refused: 0,
        bytes: 0,
        datagram_bytes: size as u64,
        values: 0,
        roll_overs: 0,
        elapsed_ns: 0,
        lateness: None,
        lateness_histogram: Histogram::default(),
        interrupted: false,
    };
    let start = clock.mono();
    ready(super::listen::now());
    let end = start + plan.duration;
    while planned.is_none_or(|planned| done.cycles < planned) {
        if stop.load(Ordering::Relaxed) {
            done.interrupted = true;
            break;
        }
        let mut now = clock.mono();
        if let Some(interval) = interval {
            let due = start + Duration::from_nanos(interval.saturating_mul(done.cycles));
            while now < due && !stop.load(Ordering::Relaxed) {
                let timeout = timer.until(due, now);
                match poll.poll(&mut events, timeout) {
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                        return Err(error.into());
                    }
                    _ => now = clock.mono(),
                }
            }
            if now < due {
                continue;
            }
            late.note(now.nanos_since(due));
        } else if now >= end {
            break;
        }
        if let Some(each) = plan.roll_over {
            // A key is never taken again: its nonces would be, too. The last one stays.
            let due = nanos(now.since(start)) / nanos(each).max(1);
            let due = due.min(plan.keys.len().saturating_sub(1) as u64);
            if due > done.roll_overs {
                done.roll_overs = due;
                let at = usize::try_from(due).unwrap_or_default();
                let (token, keys) = plan.keys.get(at).ok_or(PublishError::NoKey)?;
                for sealer in templates.iter_mut().filter_map(Template::sealer) {
                    sealer.roll_over(keys.clone(), *token, nonce());
                }
            }
        }
        let utc = clock.now().utc;
        for template in &mut templates {
            for set in 0..usize::from(plan.writers) {
                plan.values.set(&kinds, template, set, done.cycles)?;
            }
            if !template.write(utc, &mut out) {
                return Err(PublishError::KeyUsedUp);
            }
            match socket.send(&out) {
                Ok(_) => {
                    done.datagrams += 1;
                    done.bytes += out.len() as u64;
                    done.values += u64::from(plan.writers) * kinds.len() as u64;
                }
                // Nobody listens there; the error is of an earlier datagram.
                Err(error) if is_refused(&error) => done.refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
        done.cycles += 1;
    }
    done.elapsed_ns = clock.mono().nanos_since(start);
    done.lateness = late.spread();
    done.lateness_histogram = late.histogram();
    Ok(done)
}

fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock
    )
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
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
    // A DataSetWriterId is that of one writer of the publisher, whatever its group.
    let first = (group - 1).saturating_mul(plan.writers);
    let sets = (1..=plan.writers)
        .map(|writer| (first.saturating_add(writer), Content::Key(fields.clone())));
    let id = plan.publisher_id.clone();
    let message = plan.layout.message(id, group, 1, sets);
    let types = vec![types.as_slice(); usize::from(plan.writers)];
    Ok(Template::new(&message, &types, sealer)?)
}
