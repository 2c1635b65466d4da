//! `--writer`: a session of its own writes a counter to each of the nodes that are subscribed to, so
//! that it is known which values there were, whatever the server.

use std::sync::Arc;
use std::time::Duration;

use load::engine::{self, Control, Options, Outcome, RunError, Target};
use load::work::Prepared;
use plan::unit::duration::nanos;
use plan::{Arrival, Phase, Values, Work};
use record::notification_ledger::{Counter, WatchedValue};
use record::run::Run;
use wire::types::{Variant, VariantScalarTypeId as Type};

/// What writes, and how often each node gets a new value.
pub struct Writer {
    phase: Phase,
    prepared: Vec<Arc<Prepared>>,
    /// What a node's value grows by each time.
    step: u64,
    period: Duration,
}

/// How long it may write at most: it is stopped before.
const LONG: Duration = Duration::from_secs(30 * 24 * 3600);

impl Writer {
    /// Reads what the nodes hold, if a writer is wanted.
    pub fn prepare(
        phase: &Phase,
        looked: &[Arc<Target>],
        limits: bool,
    ) -> Result<Option<Self>, (engine::SessionError, usize)> {
        let Some((plan, rate)) = phase.subscribe().and_then(|it| Some((it, it.writer?))) else {
            return Ok(None);
        };
        let mut write = plan::Write::new(plan.nodes.clone());
        write.values = Values::Count;
        let mut own = Phase::new(Work::Write(write.clone()));
        let mut prepared = Vec::new();
        for (n, target) in looked.iter().enumerate() {
            prepared.push(target.prepare(&own, limits).map_err(|error| (error, n))?);
        }
        let nodes = prepared
            .iter()
            .map(|it| it.originals().len())
            .max()
            .unwrap_or(1);
        let most = looked
            .iter()
            .filter_map(|it| it.about.limit("MaxNodesPerWrite"));
        let most = most.fold(nodes as f64, f64::min) as usize;
        // All nodes count alike when requests divide them evenly.
        let batch = (1..=most.clamp(1, nodes))
            .rev()
            .find(|n| nodes % n == 0)
            .unwrap_or(1);
        let step = nodes / batch;
        write.batch = batch as u32;
        own.work = Work::Write(write);
        let period = Duration::from_nanos(rate.per_ns() / rate.count().max(1));
        // A pause after each answer: whatever holds the writer up, two values are never closer to each
        // other than items were told.
        own.arrival = Arrival::Closed {
            in_flight: 1,
            think: period / u32::try_from(step).unwrap_or(u32::MAX),
        };
        own.duration = Some(LONG);
        let mut ready = Vec::new();
        for (n, target) in looked.iter().enumerate() {
            let again = target.prepare(&own, limits).map_err(|error| (error, n))?;
            ready.push(Arc::new(again));
        }
        Ok(Some(Self {
            phase: own,
            prepared: ready,
            step: step as u64,
            period,
        }))
    }

    /// What items that watch these nodes will see.
    pub fn watches(&self, target: usize) -> Vec<WatchedValue> {
        let Some(prepared) = self.prepared.get(target) else {
            return Vec::new();
        };
        let watch = |value: &Variant| match modulus(value) {
            Some(modulus) => WatchedValue::Counter(Counter {
                update_ns: nanos(self.period),
                step: self.step,
                modulus,
                exact: false,
                origin: None,
            }),
            None => WatchedValue::Unknown,
        };
        prepared
            .originals()
            .iter()
            .map(|it| watch(&it.value))
            .collect()
    }

    /// Writes each node once: no item is to see first what a node held before, which may be any number.
    pub fn begin(&self, looked: &[Arc<Target>], control: &Control) -> Result<(), RunError> {
        let once = Phase {
            arrival: Arrival::one_in_flight(),
            requests: Some(self.step * looked.len() as u64),
            ..self.phase.clone()
        };
        let options = Options::default();
        engine::run(&once, looked, &self.prepared, &options, control, |_| {}).map(drop)
    }

    /// Writes until it is told to stop. It begins with the numbers that the nodes have.
    pub fn run(&self, looked: &[Arc<Target>], control: &Control) -> Result<Outcome, RunError> {
        let options = Options::default();
        engine::run(
            &self.phase,
            looked,
            &self.prepared,
            &options,
            control,
            |_| {},
        )
    }

    /// Puts back what the nodes held, and says how it went.
    pub fn end(&self, outcome: Result<Outcome, RunError>, looked: &[Arc<Target>], run: &mut Run) {
        match outcome {
            Ok(outcome) => {
                let whole = super::result::whole(&outcome).whole();
                let bad = whole.sum.statuses.bad();
                let refused = whole.sum.value_statuses.iter().next();
                let refused = refused.map(|(status, n)| {
                    format!("; {n} were refused: {}", super::result::status_name(status))
                });
                run.notes.push(format!(
                    "the writer wrote {} values in {} requests, {bad} of which failed{}",
                    whole.sum.counters.values,
                    whole.sum.counters.completed,
                    refused.unwrap_or_default()
                ));
            }
            Err(error) => run
                .notes
                .push(format!("the writer could not write: {error}")),
        }
        run.notes.extend(self.restore(looked));
    }

    /// Puts back what the nodes held, and tells where that did not work.
    pub fn restore(&self, looked: &[Arc<Target>]) -> Vec<String> {
        let both = looked.iter().zip(&self.prepared);
        both.filter_map(|(target, prepared)| target.restore(prepared).err())
            .map(|error| format!("what the writer overwrote could not be written back: {error}"))
            .collect()
    }
}

/// Where a number that counts begins again; nothing for what does not count.
fn modulus(value: &Variant) -> Option<u64> {
    Some(match value.scalar_type_id()? {
        Type::Boolean => 2,
        Type::SByte | Type::Byte => 1 << 8,
        Type::Int16 | Type::UInt16 => 1 << 16,
        Type::Int32 | Type::UInt32 => 1 << 32,
        // Neither ends within a run: 2^24 of the one, 2^53 of the other.
        Type::Int64 | Type::UInt64 | Type::Float | Type::Double => 0,
        _ => return None,
    })
}
