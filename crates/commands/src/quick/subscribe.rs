//! `uaperf subscribe`: sessions × subscriptions × items, and what is done beside them.

use std::str::FromStr;
use std::time::Duration;

use plan::events::{Field, Where};
use plan::unit::{Rate, duration};
use plan::{
    Aggregate, Churn, Deadband, Mode, NodeSpec, Offsets, Sampling, Timestamps, Trigger, Work,
};

use super::{Common, work};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  uaperf subscribe opc.tcp://plc1:4840 -n 'ns=2;s=Line1.Speed' --publishing 100ms
  uaperf subscribe opc.tcp://plc1:4840 -n 'nsu=urn:bench;i=1000..1499' --sessions 10 \\
    --subscriptions 10 --items 100 --publishing 1s --sampling 100ms --queue 10 --expect loss=0
  uaperf subscribe opc.tcp://plc1:4840 -n 'ns=2;i=1..500' --with-read 'ns=2;i=1' --rate 50/s
  uaperf subscribe opc.tcp://plc1:4840 --events \\
    --select Time,SourceName,Message,Severity,ActiveState/Id \\
    --where 'Severity >= 500 and OfType AlarmConditionType' --refresh

All subscriptions of all sessions are created first, then all items; the measurement begins once first \
values have settled. --rate, --in-flight and the like are about --with-read and --with-write.";

/// Subscribe to values, and account for every notification
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Subscribe {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) work: Args,
}

/// What is subscribed to.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is subscribed to")]
pub struct Args {
    /// Nodes, in turn: ns=2;s=Name, nsu=URI;i=1000..1099, browse:/Objects/2:Folder/*, @FILE
    /// [default: i=2258, the server's clock]
    #[arg(short, long = "node", value_name = "NODE")]
    node: Vec<NodeSpec>,
    /// Wait for events of the nodes instead of their values [default node: i=2253, the Server object]
    #[arg(long)]
    events: bool,
    /// Fields of events: Severity, ActiveState/Id, 2:Own, ConditionId, AlarmConditionType:InputNode
    /// [default: what all events have]
    #[arg(long, value_name = "FIELD", value_delimiter = ',', requires = "events")]
    select: Vec<Field>,
    /// Which events: 'Severity >= 500 and OfType AlarmConditionType', SourceName like 'Tank%'
    #[arg(long = "where", value_name = "FILTER", requires = "events")]
    filter: Option<Where>,
    /// Ask for the states of all conditions once the items are there (ConditionRefresh)
    #[arg(long, requires = "events")]
    refresh: bool,
    /// Subscriptions in each session
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    subscriptions: u32,
    /// Items in each subscription [default: one for each node]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    items: Option<u32>,
    /// Publishing interval to ask for
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = duration::parse)]
    publishing: Duration,
    /// Sampling interval to ask for: 100ms, publishing (as the publishing interval), fastest
    #[arg(long, value_name = "DURATION", default_value_t = Sampling::default())]
    sampling: Sampling,
    /// Values that the server keeps for an item between two publishings [default: 1; of events as many as it can]
    #[arg(long, value_name = "N")]
    queue: Option<u32>,
    /// A full queue loses its newest value instead of its oldest
    #[arg(long)]
    discard_newest: bool,
    /// Do not tell smaller changes: 0.5, or 2% of the EURange [default: none]
    #[arg(long, value_name = "ABS|P%")]
    deadband: Option<Deadband>,
    /// What counts as a change: status, value, timestamp
    #[arg(long, value_name = "WHAT", default_value_t = Trigger::default())]
    trigger: Trigger,
    /// Tell what the values of an interval amount to instead: average, time-average, minimum, count and others of Part 13
    #[arg(long, value_name = "NAME", conflicts_with = "events")]
    aggregate: Option<Aggregate>,
    /// How long these intervals are [default: 1s]
    #[arg(long, value_name = "DURATION", requires = "aggregate", value_parser = duration::parse)]
    processing_interval: Option<Duration>,
    /// Whether items sample and report: reporting, sampling, disabled
    #[arg(long, value_name = "MODE", default_value_t = Mode::default())]
    mode: Mode,
    /// Create the subscriptions with publishing disabled
    #[arg(long)]
    publishing_off: bool,
    /// Publish requests that each session keeps waiting, or auto
    #[arg(long, value_name = "N|auto", default_value_t = Waiting(None))]
    publish_requests: Waiting,
    /// Values in a message at most [default: as many as the server likes]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    max_notifications: u32,
    /// Of the subscriptions, against others of the same session
    #[arg(long, value_name = "0..255", default_value_t = 0)]
    priority: u8,
    /// Publishing intervals without news until the server says that it lives
    #[arg(long, value_name = "N", default_value_t = plan::Subscribe::KEEP_ALIVE, value_parser = clap::value_parser!(u32).range(1..))]
    keep_alive: u32,
    /// Publishing intervals without a Publish request until a subscription ends [default: a minute of them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    lifetime: Option<u32>,
    /// Items in a CreateMonitoredItems request [default: 1000, or as many as the server takes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    items_per_call: Option<u32>,
    /// Leave out this much time after the last item was created [default: two publishing intervals, and more
    /// for many items]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with = "warmup")]
    settle: Option<Duration>,
    /// When subscriptions are created within a publishing interval: random, aligned, staggered
    #[arg(long, value_name = "HOW", default_value_t = Offsets::default())]
    phase: Offsets,
    /// How often each node is known to change, where it is known: 1/s
    #[arg(long, value_name = "RATE")]
    change_rate: Option<Rate>,
    /// Which timestamps values carry: source, server, both, neither
    #[arg(long, value_name = "WHICH", default_value_t = Timestamps::Both)]
    timestamps: Timestamps,
    /// A session of its own writes a counter to each of the nodes, so often; needs --allow write
    #[arg(long, value_name = "RATE")]
    writer: Option<Rate>,
    /// What each session does to its items and subscriptions, and how often: modify:10/s, mode:1/s,
    /// publishing:1/s, of events refresh:1/s, transfer:1/s (the next session takes a subscription over),
    /// transfer-initial:1/s (and has its last values told once more)
    #[arg(long, value_name = "WHAT:RATE")]
    churn: Vec<Churn>,
    /// The same sessions read these nodes meanwhile
    #[arg(long, value_name = "NODE")]
    with_read: Vec<NodeSpec>,
    /// The same sessions write to these nodes meanwhile; needs --allow write
    #[arg(long, value_name = "NODE")]
    with_write: Vec<NodeSpec>,
    /// Nodes in each of these requests
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    with_batch: u32,
}

/// How many Publish requests are to wait; none: as many as it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting(Option<u32>);

impl FromStr for Waiting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self(None)),
            (_, Ok(n @ 1..=65_000)) => Ok(Self(Some(n))),
            _ => Err("want 1 to 65000, or auto".into()),
        }
    }
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(n) => n.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

/// What is subscribed to when nothing else is said: the server's clock, which every server has.
const CURRENT_TIME: &str = "i=2258";
/// What tells of all events: the Server object (Part 3, 4.7.2).
const SERVER: &str = "i=2253";

/// What the load options say of subscriptions.
pub(super) fn complete(
    plan: &mut plan::Subscribe,
    load: &super::options::Args,
    beside: &[Work],
) -> anyhow::Result<()> {
    if beside.is_empty() && load.has_pace() {
        return Err(Failure::usage(
            "--rate, --in-flight, --think, --arrival and --requests are about requests beside the \
             subscriptions",
        )
        .hint("name what is requested: --with-read NODE or --with-write NODE")
        .into());
    }
    plan.reconnect = load.reconnect();
    // Sessions of other threads have accounts of their own.
    let (sessions, threads) = (load.sessions(), load.threads().max(1));
    if let Some(transfer) = plan.churn.iter().find(|churn| churn.what.is_transfer())
        && sessions < 2 * threads
    {
        return Err(Failure::usage(format!(
            "--churn {transfer}, --sessions {sessions}, --threads {threads}: want two sessions or more in \
             each thread, for a subscription to go from one to the other"
        ))
        .hint(format!("--sessions {}", 2 * threads))
        .into());
    }
    Ok(())
}

impl super::Does for Args {
    fn work(&self) -> anyhow::Result<Work> {
        Ok(Work::Subscribe(Box::new(self.plan()?)))
    }

    fn beside(&self) -> anyhow::Result<Vec<Work>> {
        self.requests()
    }
}

impl Args {
    fn plan(&self) -> anyhow::Result<plan::Subscribe> {
        Ok(plan::Subscribe {
            subscriptions: self.subscriptions,
            items: self.items,
            publishing: self.publishing,
            sampling: self.sampling,
            queue: self.queue.unwrap_or(match self.events {
                true => u32::MAX,
                false => 1,
            }),
            discard_newest: self.discard_newest,
            deadband: self.deadband,
            trigger: self.trigger,
            aggregate: work::aggregating(self.aggregate, self.processing_interval),
            mode: self.mode,
            publishing_off: self.publishing_off,
            publish_requests: self.publish_requests.0,
            max_notifications: self.max_notifications,
            priority: self.priority,
            keep_alive: self.keep_alive,
            lifetime: self.lifetime,
            items_per_call: self.items_per_call,
            settle: self.settle,
            offsets: self.phase,
            change_rate: self.change_rate,
            timestamps: self.timestamps,
            churn: self.churn.clone(),
            writer: self.writer,
            events: self.events.then(|| plan::Events {
                select: self.select.clone(),
                filter: self.filter.clone(),
                refresh: self.refresh,
            }),
            ..plan::Subscribe::new(work::nodes(&self.node, Some(self.usual()))?)
        })
    }

    /// What is subscribed to when no node is named.
    fn usual(&self) -> &'static str {
        match self.events {
            true => SERVER,
            false => CURRENT_TIME,
        }
    }

    /// What the same sessions ask meanwhile.
    fn requests(&self) -> anyhow::Result<Vec<Work>> {
        let mut beside = Vec::new();
        if !self.with_read.is_empty() {
            let mut read = plan::Read::new(work::nodes(&self.with_read, None)?);
            read.batch = self.with_batch;
            beside.push(Work::Read(read));
        }
        if !self.with_write.is_empty() {
            let mut write = plan::Write::new(work::nodes(&self.with_write, None)?);
            write.batch = self.with_batch;
            beside.push(Work::Write(write));
        }
        Ok(beside)
    }
}
