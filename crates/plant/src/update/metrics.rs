//! What the server itself spends, as variables: its processor time, its memory, the bytes of its messages, and the run span
//! of its update loops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use record::Histogram;
use wire::time::Now;
use wire::types::{DataTypeId, NodeId, ObjectId, StatusCode, UAString, Variant};

use super::UpdateLoop;
use crate::clock::process_cpu;
use crate::counters::Counters;
use crate::internals::{Passes, Workings, describe_metrics};
use crate::space::value::Scalar;
use crate::space::{Builder, Shape, Source, Stamp, Variable, encode};
use wire::template::walk::RawVariant;

/// How often processor time and memory are looked at.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// The server's own namespace.
const OWN: u16 = 1;

fn id(name: &str) -> NodeId {
    NodeId::new(OWN, UAString::from(format!("Metrics.{name}")))
}

/// The nodes of bytes, and those of processor time and memory, which [`sample`](Self::sample) fills.
#[derive(Debug)]
pub struct Meter {
    /// Processor time of the process, and when it was that.
    before: Option<(Duration, Instant)>,
    workings: Arc<Workings>,
}

impl Meter {
    /// Adds the nodes, and those of what loops do. Until the first look they say that they wait for it.
    pub fn describe(
        builder: &mut Builder,
        workings: &Arc<Workings>,
        counters: &Arc<Counters>,
    ) -> Self {
        let folder = folder(builder);
        let interval = INTERVAL.as_secs_f64() * 1000.0;
        describe_metrics(builder, &folder, id, interval, workings);
        for (name, kind, zero) in [
            (CPU, DataTypeId::Double, Variant::Double(0.0)),
            (CPU_TIME, DataTypeId::Double, Variant::Double(0.0)),
            (MEMORY, DataTypeId::UInt64, Variant::UInt64(0)),
        ] {
            let encoded = encode::variant(zero);
            let stamp = Stamp {
                status: StatusCode::BadWaitingForInitialData,
                source: builder.anchor(),
            };
            let value = RawVariant::parse(&encoded).ok();
            let Some(scalar) = value.and_then(|value| Scalar::new(&value, stamp)) else {
                continue;
            };
            let shape = Shape {
                minimum_sampling_interval: interval,
                ..Shape::scalar(kind)
            };
            let variable = Variable::new(Source::Scalar(scalar), shape);
            builder.variable(&folder, id(name), name, variable);
        }
        type Look = fn(&Counters) -> u64;
        let looks: [(&str, Look); 2] = [
            ("BytesReceived", |of| of.received_bytes.get()),
            ("BytesSent", |of| of.sent_bytes.get()),
        ];
        for (name, look) in looks {
            let counters = Arc::clone(counters);
            let source = Source::Live(Arc::new(move |now: Now, out: &mut Vec<u8>| {
                encode::encode(&Variant::UInt64(look(&counters)), out);
                Stamp::good(now.utc)
            }));
            let shape = Shape {
                minimum_sampling_interval: interval,
                ..Shape::scalar(DataTypeId::UInt64)
            };
            builder.variable(&folder, id(name), name, Variable::new(source, shape));
        }
        Self {
            before: None,
            workings: Arc::clone(workings),
        }
    }

    /// Looks at the process and writes what it sees.
    pub fn sample(&mut self, space: &crate::space::Space, now: Now) {
        self.workings.look(now.mono);
        let set = |name: &str, bits: Option<u64>| {
            let variable = space.find_id(&id(name)).and_then(|at| space.lasting(at));
            let Some(Source::Scalar(scalar)) = variable
                .and_then(|node| node.variable())
                .map(|variable| &variable.source)
            else {
                return;
            };
            // What cannot be measured here says so; it is not zero.
            let status = match bits {
                Some(_) => StatusCode::Good,
                None => StatusCode::BadNotSupported,
            };
            let stamp = Stamp {
                status,
                source: now.utc,
            };
            // A status that is bad has no value.
            scalar.set(bits.unwrap_or_default(), stamp);
        };
        let (time, at) = (process_cpu(), Instant::now());
        if let (Some(time), Some((before, then))) = (time, self.before) {
            let passed = at.duration_since(then).as_secs_f64();
            let spent = time.saturating_sub(before).as_secs_f64();
            set(CPU, Some((100.0 * spent / passed.max(1e-9)).to_bits()));
        } else if time.is_none() {
            set(CPU, None);
        }
        set(CPU_TIME, time.map(|time| time.as_secs_f64().to_bits()));
        set(MEMORY, memory());
        self.before = time.map(|time| (time, at));
    }
}

/// Percent of one processor over the last second, user and kernel, all threads.
const CPU: &str = "CPU";
/// Seconds of processor time since the process began.
const CPU_TIME: &str = "CPUTime";
/// Resident bytes.
const MEMORY: &str = "Memory";

fn folder(builder: &mut Builder) -> NodeId {
    let id = NodeId::new(OWN, UAString::from("Metrics"));
    if !builder.has(&id) {
        let objects: NodeId = ObjectId::ObjectsFolder.into();
        builder.folder(&objects, id.clone(), "Metrics");
    }
    id
}

/// Adds the nodes of an update loop, the `n`th of its server.
pub fn describe(builder: &mut Builder, n: usize, of: &UpdateLoop) {
    let above = folder(builder);
    let name = |name: &str| id(&format!("Loop{n}.{name}"));
    let folder = builder.folder(&above, id(&format!("Loop{n}")), &format!("Loop{n}"));
    for (what, kind, value) in [
        ("Interval", DataTypeId::Duration, millis(of.interval())),
        ("Signals", DataTypeId::UInt32, (of.signals() as u32).into()),
        ("Threads", DataTypeId::UInt32, (of.threads() as u32).into()),
    ] {
        let source = Source::Constant {
            encoded: encode::variant(value),
            since: builder.anchor(),
        };
        let variable = Variable::new(source, Shape::scalar(kind));
        builder.variable(&folder, name(what), what, variable);
    }
    type Look = fn(&Passes) -> Variant;
    let looks: [(&str, DataTypeId, Look); 6] = [
        ("RunSpan", DataTypeId::Duration, |of| counted_ns(&of.last)),
        // Before the first pass there is none, and 0 as in all these counts.
        ("RunSpanMean", DataTypeId::Duration, |of| {
            (of.spans(Histogram::mean).unwrap_or(0.0) / 1e6).into()
        }),
        ("RunSpanMax", DataTypeId::Duration, |of| {
            millis(Duration::from_nanos(of.spans(Histogram::max).unwrap_or(0)))
        }),
        ("Lateness", DataTypeId::Duration, |of| counted_ns(&of.late)),
        ("Passes", DataTypeId::UInt64, |of| {
            of.count.load(Ordering::Relaxed).into()
        }),
        ("Missed", DataTypeId::UInt64, |of| {
            of.missed.load(Ordering::Relaxed).into()
        }),
    ];
    let anchor = builder.anchor();
    for (what, kind, look) in looks {
        let passes = Arc::clone(&of.passes);
        let source = Source::Live(Arc::new(move |_, out| {
            encode::encode(&look(&passes), out);
            Stamp::good(match passes.at.load(Ordering::Relaxed) {
                0 => anchor,
                at => at as i64,
            })
        }));
        let shape = Shape {
            minimum_sampling_interval: of.interval().as_secs_f64() * 1000.0,
            ..Shape::scalar(kind)
        };
        builder.variable(&folder, name(what), what, Variable::new(source, shape));
    }
}

fn millis(time: Duration) -> Variant {
    (time.as_secs_f64() * 1000.0).into()
}

fn counted_ns(count: &AtomicU64) -> Variant {
    millis(Duration::from_nanos(count.load(Ordering::Relaxed)))
}

/// Resident bytes of this process; only Linux tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn processor_time_grows_with_work_and_memory_with_what_is_held() {
        let before = process_cpu().unwrap();
        let until = before + Duration::from_millis(20);
        while process_cpu().unwrap() < until {
            std::hint::spin_loop();
        }
        let small = memory().unwrap();
        let held = vec![1u8; 64 << 20];
        assert!(memory().unwrap() > small + (32 << 20));
        drop(held);
    }
}
