//! `uaperf items` and `uaperf nodes`: what is made in a server and taken away again.

use std::time::Duration;

use plan::unit::duration;
use plan::{NewNodes, NodeSpec, Sampling, Work};

use super::{Common, work};

const ITEMS_EXAMPLES: &str = "\
Examples:
  uaperf items opc.tcp://plc1:4840 -n 'ns=2;i=1..100'
  uaperf items opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --items 10000 \\
    --items-per-call 1000 --requests 20
  uaperf items opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --sessions 10 --rate 1/s --samples calls.csv

A round creates --subscriptions (publishing disabled), creates, modifies and deletes --items in each of them, and \
deletes the subscriptions; each call is timed.";

const NODES_EXAMPLES: &str = "\
Examples:
  uaperf nodes opc.tcp://plc1:4840 --count 100 --allow nodes
  uaperf nodes opc.tcp://plc1:4840 --below 'ns=2;s=Folder' --count 1000 \\
    --nodes-per-call 100 --allow nodes

A round adds --count variables with AddNodes, a reference from each to the next and deletes these again, then \
deletes the nodes; each call is timed. A plant lets clients do so with uaperf serve --allow-nodes N.";

/// Create, modify and delete monitored items and subscriptions, and time each call
#[derive(Debug, clap::Args)]
#[command(after_help = ITEMS_EXAMPLES)]
pub struct Items {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) work: ItemArgs,
}

/// Add and delete nodes and references, and time each call
#[derive(Debug, clap::Args)]
#[command(after_help = NODES_EXAMPLES)]
pub struct Nodes {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) work: NodeArgs,
}

/// What is created.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is created")]
pub struct ItemArgs {
    /// Nodes to watch, in turn: ns=2;s=Name, nsu=URI;i=1000..1099, browse:/Objects/2:Folder/*, @FILE
    /// [default: i=2258, the server's clock]
    #[arg(short, long = "node", value_name = "NODE")]
    node: Vec<NodeSpec>,
    /// Subscriptions in each round
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    subscriptions: u32,
    /// Items in each subscription [default: one for each node]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    items: Option<u32>,
    /// Items in a request [default: 1000, or as many as the server takes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    items_per_call: Option<u32>,
    /// Publishing interval to ask for
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = duration::parse)]
    publishing: Duration,
    /// Sampling interval to ask for: 100ms, publishing (as the publishing interval), fastest
    #[arg(long, value_name = "DURATION", default_value_t = Sampling::default())]
    sampling: Sampling,
    /// Values that the server keeps for an item; one more after it was modified
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    queue: u32,
}

/// What is added.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "What is added")]
pub struct NodeArgs {
    /// The node below which variables are added
    #[arg(long, value_name = "NODE", default_value = "i=85")]
    below: NodeSpec,
    /// Variables in each round
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    count: u32,
    /// Nodes or references in a request [default: 1000, or as many as the server takes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes_per_call: Option<u32>,
    /// Leave out the references between them
    #[arg(long)]
    no_references: bool,
}

/// What is watched when nothing else is said: the server's clock, which every server has.
const CURRENT_TIME: &str = "i=2258";

impl super::Does for ItemArgs {
    fn work(&self) -> anyhow::Result<Work> {
        Ok(Work::Items(plan::Items {
            subscriptions: self.subscriptions,
            items: self.items,
            items_per_call: self.items_per_call,
            publishing: self.publishing,
            sampling: self.sampling,
            queue: self.queue,
            ..plan::Items::new(work::nodes(&self.node, Some(CURRENT_TIME))?)
        }))
    }
}

impl super::Does for NodeArgs {
    fn work(&self) -> anyhow::Result<Work> {
        Ok(Work::Nodes(NewNodes {
            nodes_per_call: self.nodes_per_call,
            references: !self.no_references,
            ..NewNodes::new(self.below.clone(), self.count)
        }))
    }
}
