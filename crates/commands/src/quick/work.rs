//! What each command's requests do.

use std::time::Duration;

use plan::unit::duration;
use plan::{
    Aggregate, Aggregating, Attribute, BrowsePath, Direction, NodeSpec, Nodes, Timestamps, Values,
    Work,
};
use wire::types::NumericRange;

use crate::failure::Failure;

pub const READ_EXAMPLES: &str = "\
Examples:
  uaperf read opc.tcp://plc1:4840 -n 'ns=2;s=Line1.Speed'
  uaperf read opc.tcp://plc1:4840 -n 'nsu=urn:bench;i=1000..1099' --batch 100 --in-flight 8
  uaperf read opc.tcp://plc1:4840 -n 'browse:/Objects/2:Line1/*' --rate 1k/s --expect 'p99<5ms'

Without --rate and --in-flight one request is in flight for 10 s.";

pub const WRITE_EXAMPLES: &str = "\
Examples:
  uaperf write opc.tcp://plc1:4840 -n 'ns=2;s=Setpoint' --allow write --restore
  uaperf write opc.tcp://plc1:4840 -n 'ns=2;s=Setpoint' --values count --rate 10/s --allow write";

pub const CALL_EXAMPLES: &str = "\
Examples:
  uaperf call opc.tcp://plc1:4840 --object 'ns=2;s=Line1' --method 'ns=2;s=Line1.Reset' --allow call
  uaperf call opc.tcp://plc1:4840 --object 'ns=2;i=4001' --method 'ns=2;i=4000' \\
    --arg hello --allow call";

pub const BROWSE_EXAMPLES: &str = "\
Examples:
  uaperf browse opc.tcp://plc1:4840
  uaperf browse opc.tcp://plc1:4840 -n 'browse:/Objects/**' --batch 20 --in-flight 2
  uaperf browse opc.tcp://plc1:4840 -n i=85 --max-references 10 --rate 100/s --expect 'p99<20ms'

One operation is a Browse with the BrowseNext that its continuation points lead to.";

pub const TRANSLATE_EXAMPLES: &str = "\
Examples:
  uaperf translate opc.tcp://plc1:4840
  uaperf translate opc.tcp://plc1:4840 --path /Objects/2:Line1/2:Speed --rate 100/s";

pub const REGISTER_EXAMPLES: &str = "\
Examples:
  uaperf register opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --batch 100
  uaperf register opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --alone --requests 1000 --samples times.csv

Reads of plain and of registered nodes take turns in the same sessions. Registering is not in the times. \
Writes to registered nodes: uaperf write --registered.";

pub const HISTORY_EXAMPLES: &str = "\
Examples:
  uaperf history opc.tcp://plc1:4840 -n 'ns=2;s=Line1.Speed' --last 10m
  uaperf history opc.tcp://plc1:4840 -n 'ns=2;i=1000..1099' --batch 10 \\
    --last 1h --values 1000 --requests 100
  uaperf history opc.tcp://plc1:4840 -n 'ns=2;s=Line1.Speed' --aggregate average \\
    --processing-interval 10s --last 1h

One operation is a HistoryRead with all that its continuation points lead to.";

/// What a server is to make of values, if anything.
pub(super) fn aggregating(
    function: Option<Aggregate>,
    interval: Option<Duration>,
) -> Option<Aggregating> {
    function.map(|function| Aggregating {
        function,
        interval: interval.unwrap_or(Aggregating::INTERVAL),
    })
}

/// The nodes of a command.
pub fn nodes(specs: &[NodeSpec], otherwise: Option<&str>) -> anyhow::Result<Nodes> {
    let listed = Nodes::listed(specs, |file| std::fs::read_to_string(file))
        .map_err(|error| Failure::usage(error.to_string()))?;
    match (listed.is_empty(), otherwise) {
        (true, Some(text)) => {
            let spec: NodeSpec = text
                .parse()
                .map_err(|error: plan::NodeError| Failure::usage(error.to_string()))?;
            Ok(Nodes::from(spec))
        }
        _ => Ok(listed),
    }
}

/// What is read when nothing else is said: the server's clock, which every server has.
const CURRENT_TIME: &str = "i=2258";
/// Where browsing begins when nothing else is said.
const OBJECTS: &str = "i=85";
/// Where paths begin when nothing else is said.
const ROOT: &str = "i=84";

/// What is read.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is read")]
pub struct Read {
    /// Nodes, one each time: i=2258, ns=2;s=Name, nsu=URI;i=1000..1099, browse:/Objects/2:Folder/*, @FILE
    /// [default: i=2258, the server's clock]
    #[arg(short, long = "node", value_name = "NODE")]
    node: Vec<NodeSpec>,
    /// Nodes in a request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    batch: u32,
    /// Which attribute of them
    #[arg(long, value_name = "NAME", default_value_t = Attribute::default())]
    attribute: Attribute,
    /// How old a value may be that the server has kept
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    max_age: Duration,
    /// Which timestamps to ask for: source, server, both, neither
    #[arg(long, value_name = "WHICH", default_value_t = Timestamps::default())]
    timestamps: Timestamps,
    /// Which elements of an array: 0:9
    #[arg(long, value_name = "RANGE", value_parser = plan::index_range)]
    index_range: Option<NumericRange>,
}

impl Read {
    fn read(&self) -> anyhow::Result<plan::Read> {
        Ok(plan::Read {
            nodes: nodes(&self.node, Some(CURRENT_TIME))?,
            batch: self.batch,
            attribute: self.attribute,
            max_age: self.max_age,
            timestamps: self.timestamps,
            index_range: self.index_range.clone(),
        })
    }

    /// As a part of a plan.
    pub fn resolve(&self) -> anyhow::Result<Work> {
        Ok(Work::Read(self.read()?))
    }
}

/// What is written.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is written")]
pub struct Write {
    /// Nodes, one each time: ns=2;s=Name, nsu=URI;i=1000..1099, browse:/Objects/2:Folder/*, @FILE
    #[arg(short, long = "node", value_name = "NODE", required = true)]
    node: Vec<NodeSpec>,
    /// Nodes in a request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    batch: u32,
    /// original (what was read before), count, random, or =42.5 for this one
    #[arg(long, value_name = "HOW", default_value_t = Values::default())]
    values: Values,
    /// Which elements of an array: 0:9
    #[arg(long, value_name = "RANGE", value_parser = plan::index_range)]
    index_range: Option<NumericRange>,
    /// Write the original values back at the end
    #[arg(long)]
    restore: bool,
    /// Register the nodes first, and write under the names that the server gives them
    #[arg(long)]
    registered: bool,
}

impl Write {
    /// As a part of a plan.
    pub fn resolve(&self) -> anyhow::Result<Work> {
        Ok(Work::Write(plan::Write {
            nodes: nodes(&self.node, None)?,
            batch: self.batch,
            values: self.values.clone(),
            index_range: self.index_range.clone(),
            restore: self.restore,
            registered: self.registered,
        }))
    }
}

/// What is browsed.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is browsed")]
pub struct Browse {
    /// Where from, one each time [default: i=85, the Objects folder]
    #[arg(short, long = "node", value_name = "NODE")]
    node: Vec<NodeSpec>,
    /// Nodes in a request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    batch: u32,
    /// Along references or against them: forward, inverse, both
    #[arg(long, value_name = "WAY", default_value_t = Direction::default())]
    direction: Direction,
    /// Only references of this type and its subtypes [default: all]
    #[arg(long, value_name = "NODE")]
    reference: Option<NodeSpec>,
    /// References in an answer for each node [default: as many as the server likes]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    max_references: u32,
    /// Leave out what does not fit in the first answer, instead of asking with BrowseNext
    #[arg(long)]
    no_follow: bool,
}

impl Browse {
    /// As a part of a plan.
    pub fn resolve(&self) -> anyhow::Result<Work> {
        Ok(Work::Browse(plan::Browse {
            nodes: nodes(&self.node, Some(OBJECTS))?,
            batch: self.batch,
            direction: self.direction,
            reference: self.reference.clone(),
            max_references: self.max_references,
            follow: !self.no_follow,
        }))
    }
}

/// Whose history is read.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "Whose history is read")]
pub struct History {
    /// Nodes, one each time: ns=2;s=Name, nsu=URI;i=1000..1099, browse:/Objects/2:Folder/*, @FILE
    #[arg(short, long = "node", value_name = "NODE", required = true)]
    node: Vec<NodeSpec>,
    /// Nodes in a request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    batch: u32,
    /// How far back, from the server's time when it is asked first
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration::parse)]
    last: Duration,
    /// The stretch of time ends so long before that
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    ago: Duration,
    /// Values in an answer for each node [default: as many as the server likes]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    values: u32,
    /// From the newest value to the oldest
    #[arg(long)]
    backwards: bool,
    /// The bounding values, too
    #[arg(long)]
    bounds: bool,
    /// Read what the values of an interval amount to: average, time-average, minimum, count and others of Part 13
    #[arg(long, value_name = "NAME")]
    aggregate: Option<Aggregate>,
    /// How long these intervals are [default: 1s]
    #[arg(long, value_name = "DURATION", requires = "aggregate", value_parser = duration::parse)]
    processing_interval: Option<Duration>,
    /// Which timestamps to ask for: source, server, both
    #[arg(long, value_name = "WHICH", default_value_t = Timestamps::default())]
    timestamps: Timestamps,
    /// Leave out what does not fit in the first answer, instead of going on with continuation points
    #[arg(long)]
    no_follow: bool,
}

impl History {
    /// As a part of a plan.
    pub fn resolve(&self) -> anyhow::Result<Work> {
        if self.timestamps == Timestamps::Neither {
            let what = "--timestamps neither: want source, server or both: a history has times";
            return Err(Failure::usage(what).into());
        }
        Ok(Work::History(plan::History {
            nodes: nodes(&self.node, None)?,
            batch: self.batch,
            last: self.last,
            ago: self.ago,
            values: self.values,
            backwards: self.backwards,
            bounds: self.bounds,
            timestamps: self.timestamps,
            aggregate: aggregating(self.aggregate, self.processing_interval),
            follow: !self.no_follow,
        }))
    }
}

/// What is translated.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is translated")]
pub struct Translate {
    /// Paths such as /Objects/2:Line1/2:Speed, one each time
    #[arg(
        long = "path",
        value_name = "PATH",
        default_value = "/Objects/Server/ServerStatus/CurrentTime"
    )]
    path: Vec<BrowsePath>,
    /// The node at which they begin [default: i=84, the root]
    #[arg(long, value_name = "NODE", default_value = ROOT, hide_default_value = true)]
    start: NodeSpec,
    /// Paths in a request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    batch: u32,
}

impl Translate {
    /// As a part of a plan.
    pub fn resolve(&self) -> anyhow::Result<Work> {
        Ok(Work::Translate(plan::Translate {
            start: self.start.clone(),
            paths: self.path.clone(),
            batch: self.batch,
        }))
    }
}

/// What is called.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is called")]
pub struct Call {
    /// The object whose method it is
    #[arg(long, value_name = "NODE")]
    object: NodeSpec,
    /// The method
    #[arg(long, value_name = "NODE")]
    method: NodeSpec,
    /// An argument, read as the type that the method declares; once for each, in order
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    arg: Vec<String>,
    /// Calls in a request
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    batch: u32,
}

impl Call {
    /// As a part of a plan.
    pub fn resolve(&self) -> anyhow::Result<Work> {
        Ok(Work::Call(plan::Call {
            object: self.object.clone(),
            method: self.method.clone(),
            arguments: self.arg.clone(),
            batch: self.batch,
        }))
    }
}

/// What is registered and read.
#[derive(Debug, clap::Args)]
#[group(id = "register")]
pub struct Register {
    #[command(flatten)]
    read: Read,
    /// Read registered nodes only, without plain ones beside them
    #[arg(long)]
    alone: bool,
}

impl Register {
    /// As a part of a plan.
    pub fn resolve(&self) -> anyhow::Result<Work> {
        Ok(Work::Register(plan::Register {
            read: self.read.read()?,
            compare: !self.alone,
        }))
    }
}
