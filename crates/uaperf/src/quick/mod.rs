//! The quick commands: `uaperf read|write|browse|translate|call|register`, one phase each.
//!
//! Arguments go one way: what was typed ([`options`], [`work`]) becomes a plan, the plan is
//! carried out ([`execute`]) while somebody watches ([`live`]), and what came of it becomes a
//! result ([`result`]) that is kept, printed and turned into an exit code.

mod evidence;
mod execute;
mod interrupt;
mod live;
mod options;
mod output;
mod result;
mod usage;
mod work;

use std::process::ExitCode;

use plan::{Phase, PlanError, TargetSpec, Targets, Work};

use crate::access;
use crate::cli::Global;
use crate::failure::Failure;

/// What all quick commands have in common.
#[derive(Debug, clap::Args)]
#[group(id = "quick")]
pub struct Common {
    /// Servers: opc.tcp://host:port/path, a range opc.tcp://host:4840-4849, or @FILE
    #[arg(value_name = "URL", required = true)]
    targets: Vec<TargetSpec>,
    #[command(flatten)]
    load: options::Args,
    #[command(flatten)]
    output: output::Args,
    #[command(flatten)]
    access: access::Args,
}

/// Read values or other attributes, over and over
#[derive(Debug, clap::Args)]
#[command(after_help = work::READ_EXAMPLES)]
pub struct Read {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Read,
}

/// Write values of the nodes' own types, over and over
#[derive(Debug, clap::Args)]
#[command(after_help = work::WRITE_EXAMPLES)]
pub struct Write {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Write,
}

/// Browse references, with BrowseNext until all are there
#[derive(Debug, clap::Args)]
pub struct Browse {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Browse,
}

/// Translate browse paths to node ids
#[derive(Debug, clap::Args)]
pub struct Translate {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Translate,
}

/// Call a method
#[derive(Debug, clap::Args)]
#[command(after_help = work::CALL_EXAMPLES)]
pub struct Call {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Call,
}

/// Compare reading registered nodes with reading plain ones
#[derive(Debug, clap::Args)]
pub struct Register {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Register,
}

macro_rules! run {
    ($($name:ident $args:ident)*) => {$(
        /// Carries the command out.
        pub fn $name(args: $args, global: &Global) -> anyhow::Result<ExitCode> {
            let work = args.work.resolve()?;
            carry_out(stringify!($name), &args.common, work, global)
        }
    )*};
}

run! { read Read write Write browse Browse translate Translate call Call register Register }

fn carry_out(
    command: &'static str,
    common: &Common,
    work: Work,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let usage = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let targets = Targets::resolve(&common.targets, |file| std::fs::read_to_string(file))
        .map_err(|error| usage(&error))?;
    let servers = u32::try_from(targets.len()).unwrap_or(u32::MAX);
    let sessions = common.load.sessions().saturating_mul(servers);
    let phase: Phase = common.load.phase(work, sessions, common.access.timeout())?;
    phase.check().map_err(|PlanError { field, value, want }| {
        Failure::usage(format!("--{field} {value}: want {want}"))
    })?;
    common.output.check()?;
    common.load.allows(&phase.work)?;
    execute::execute(command, common, &targets, &phase, global)
}
