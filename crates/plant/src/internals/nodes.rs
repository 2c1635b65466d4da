//! The same as variables: all of it as a text below the Plant object, and its figures below Metrics.

use std::sync::Arc;

use record::run::{LoopUse, Waiting};
use wire::service::shape::Kind;
use wire::time::Now;
use wire::types::{DataTypeId, NodeId, UAString, Variant};

use super::{Task, Workings};
use crate::space::{Builder, Shape, Source, Stamp, Variable, encode, plant_object};

/// Adds `s=Plant.Internals`, a text that is made for whoever reads it.
pub fn describe(builder: &mut Builder, workings: &Arc<Workings>) {
    let namespace = builder.namespace(plant_object::NAMESPACE);
    let id = |name: &str| NodeId::new(namespace, UAString::from(name));
    let workings = Arc::clone(workings);
    let text = move |now: Now| {
        let text = workings.read(now.mono).to_json();
        Variant::from(UAString::from(text))
    };
    let variable = variable(DataTypeId::String, 0.0, text);
    builder.variable(&id("Plant"), id("Plant.Internals"), "Internals", variable);
}

fn variable(
    kind: DataTypeId,
    interval: f64,
    value: impl Fn(Now) -> Variant + Send + Sync + 'static,
) -> Variable {
    let source = Source::Live(Arc::new(move |now: Now, out: &mut Vec<u8>| {
        encode::encode(&value(now), out);
        Stamp::good(now.utc)
    }));
    let shape = Shape {
        minimum_sampling_interval: interval,
        ..Shape::scalar(kind)
    };
    Variable::new(source, shape)
}

/// What is shown of its own: what clients mostly ask for, and what the server does by itself.
const SHOWN: &[(Task, &str)] = &[
    (Task::of(Kind::ReadRequest), "Read"),
    (Task::of(Kind::WriteRequest), "Write"),
    (Task::of(Kind::PublishRequest), "Publish"),
    (Task::of(Kind::BrowseRequest), "Browse"),
    (Task::of(Kind::CallRequest), "Call"),
    (Task::of(Kind::HistoryReadRequest), "HistoryRead"),
    (
        Task::of(Kind::CreateMonitoredItemsRequest),
        "CreateMonitoredItems",
    ),
    (Task::of(Kind::CreateSessionRequest), "CreateSession"),
    (Task::of(Kind::ActivateSessionRequest), "ActivateSession"),
    (Task::PUBLISHING, "Publishing"),
];

const QUEUES: &[(Waiting, &str)] = &[
    (Waiting::Requests, "Requests"),
    (Waiting::Notifications, "Notifications"),
    (Waiting::PublishRequests, "PublishRequests"),
];

/// Adds figures below a folder whose nodes have ids of `id`: of each loop, of services and of queues, since the server
/// started; how busy loops are, of the time since the look before. They are new each `interval` milliseconds.
pub fn describe_metrics(
    builder: &mut Builder,
    above: &NodeId,
    id: impl Fn(&str) -> NodeId,
    interval: f64,
    workings: &Arc<Workings>,
) {
    let mut figures = Figures {
        builder,
        id,
        interval,
        workings,
    };
    let folder = figures.folder(above, "EventLoops");
    let names: Vec<String> = workings.names().map(|(name, _)| name).collect();
    for (n, name) in names.into_iter().enumerate() {
        let of = format!("EventLoops.{name}");
        let own = figures.folder(&folder, &of);
        let busy = move |it: &Workings| it.loops.get(n).map_or(0.0, |it| it.recent.percent());
        figures.add(&own, &of, "Busy", DataTypeId::Double, move |it| {
            busy(it).into()
        });
        let of_loop = move |it: &Workings, figure: fn(&LoopUse) -> u64| {
            it.loops.get(n).map_or(0, |it| figure(&it.used()))
        };
        figures.add(&own, &of, "BusyTime", DataTypeId::Duration, move |it| {
            millis(of_loop(it, |it| it.busy_ns) as f64)
        });
        // Longest and mean of nothing are 0: the count beside them says that there was none.
        figures.add(&own, &of, "TurnMax", DataTypeId::Duration, move |it| {
            millis(of_loop(it, |it| it.longest_turn_ns.unwrap_or(0)) as f64)
        });
        figures.add(&own, &of, "Turns", DataTypeId::UInt64, move |it| {
            of_loop(it, |it| it.turns).into()
        });
    }
    let folder = figures.folder(above, "Services");
    for &(task, name) in SHOWN {
        let of = format!("Services.{name}");
        let own = figures.folder(&folder, &of);
        figures.add(&own, &of, "Count", DataTypeId::UInt64, move |it| {
            it.spent_on(task).count.into()
        });
        figures.add(&own, &of, "Time", DataTypeId::Duration, move |it| {
            millis(it.spent_on(task).mean_ns().unwrap_or(0.0))
        });
        figures.add(&own, &of, "TimeMax", DataTypeId::Duration, move |it| {
            millis(it.spent_on(task).longest_ns.unwrap_or(0) as f64)
        });
    }
    let folder = figures.folder(above, "Queues");
    for &(what, name) in QUEUES {
        let of = format!("Queues.{name}");
        let own = figures.folder(&folder, &of);
        figures.add(&own, &of, "Mean", DataTypeId::Double, move |it| {
            it.queue(what).mean().unwrap_or(0.0).into()
        });
        figures.add(&own, &of, "Max", DataTypeId::UInt64, move |it| {
            it.queue(what).largest.unwrap_or(0).into()
        });
    }
}

/// Who adds them.
struct Figures<'a, I> {
    builder: &'a mut Builder,
    id: I,
    interval: f64,
    workings: &'a Arc<Workings>,
}

impl<I: Fn(&str) -> NodeId> Figures<'_, I> {
    /// A folder that is called like the last part of its id.
    fn folder(&mut self, above: &NodeId, of: &str) -> NodeId {
        let name = of.rsplit('.').next().unwrap_or(of);
        self.builder.folder(above, (self.id)(of), name)
    }

    fn add(
        &mut self,
        folder: &NodeId,
        of: &str,
        name: &str,
        kind: DataTypeId,
        look: impl Fn(&Workings) -> Variant + Send + Sync + 'static,
    ) {
        let workings = Arc::clone(self.workings);
        let variable = variable(kind, self.interval, move |_| look(&workings));
        let id = (self.id)(&format!("{of}.{name}"));
        self.builder.variable(folder, id, name, variable);
    }
}

fn millis(nanos: f64) -> Variant {
    (nanos / 1e6).into()
}
