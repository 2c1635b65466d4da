//! `uaperf bench`: what disturbs measuring on this machine, and what the way to a server carries.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use judge::Exit;
use load::engine::Control;
use observe::{Finding, Idle, Process, Standing, Tree, bench};
use record::run::LinkTest;
use serde::Serialize;
use wire::url::Url;

use crate::failure::Failure;
use crate::global::Global;
use crate::{access, interrupt, quick, screen};

/// Prepare a machine for measuring
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Check(Check),
    Link(Box<Link>),
}

/// Say what disturbs measuring here, with the command that mends it; nothing is changed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct Check {
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
It takes a second, in which nothing should run that is not there while measuring.

Examples:
  uaperf bench check
  uaperf bench check --json";

/// Test the way to a server: round trips by size, and what goes through each way
#[derive(Debug, clap::Args)]
#[command(after_help = LINKS)]
struct Link {
    /// Where the server is, such as opc.tcp://plc1:4840
    #[arg(value_parser = plan::typed)]
    url: Url,
    /// The server's process, where it does not listen itself on this machine's loopback
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: access::Args,
}

const LINKS: &str = "\
It takes some three seconds. The server is read from, with requests that carry up to 64 KiB of filling and answers of some \
hundred values; nothing is written. The same before a load is --link-test: its result says then whether the network \
limits it.

Examples:
  uaperf bench link opc.tcp://plc1:4840
  uaperf bench link opc.tcp://plc1:4840 --security best --json";

impl Link {
    fn run(self, global: &Global) -> anyhow::Result<ExitCode> {
        let control = Control::default();
        interrupt::stops(&control)?;
        let access = self.access.resolve(self.url, global)?;
        let listens = self.server_pid.or_else(|| access::served_by(&access));
        let server = match listens
            .filter(|it| *it != std::process::id())
            .map(Process::of)
        {
            Some(Err(why)) if self.server_pid.is_some() => {
                return Err(Failure::usage(format!("--server-pid: {}", why.reason())).into());
            }
            found => found.and_then(Result::ok),
        };
        let test = quick::link_test::measure(&access, server.as_ref(), &control)?;
        let draw = |out: &mut String, it: &LinkTest| out.write_str(&report::link_test(it));
        screen::print(&test, self.json, draw)?;
        Ok(match control.is_stopped() {
            true => ExitCode::from(Exit::Interrupted),
            false => ExitCode::SUCCESS,
        })
    }
}

/// Carries out `uaperf bench`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let check = match args.action {
        Action::Check(check) => check,
        Action::Link(link) => return link.run(global),
    };
    let findings = bench(&Tree::here(), &Idle::seen(LOOK));
    let told = Summary {
        disturbs: findings
            .iter()
            .filter(|it| it.standing == Standing::Disturbs)
            .count(),
        unknown: findings
            .iter()
            .filter(|it| it.standing == Standing::Unknown)
            .count(),
        checks: findings.iter().map(checked).collect(),
    };
    screen::print(&told, check.json, write_screen)?;
    Ok(ExitCode::SUCCESS)
}

/// Ticks of CPU time are 10 ms: a second has enough of them.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Summary {
    disturbs: usize,
    unknown: usize,
    checks: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    subject: &'static str,
    standing: &'static str,
    found: String,
    effect: &'static str,
    mend: Option<String>,
}

fn checked(it: &Finding) -> Checked {
    Checked {
        subject: it.subject,
        standing: match it.standing {
            Standing::Good => "good",
            Standing::Disturbs => "disturbs",
            Standing::Unknown => "unknown",
        },
        found: it.found.clone(),
        effect: it.effect,
        mend: it.mend.clone(),
    }
}

fn write_screen(out: &mut String, told: &Summary) -> std::fmt::Result {
    for it in &told.checks {
        writeln!(out, "{:<9} {:<15} {}", it.standing, it.subject, it.found)?;
        if let Some(mend) = &it.mend {
            writeln!(out, "{:26}{}", "", it.effect)?;
            writeln!(out, "{:26}try: {mend}", "")?;
        }
    }
    writeln!(
        out,
        "\n{} of {} disturb, {} cannot be told here; nothing was changed",
        told.disturbs,
        told.checks.len(),
        told.unknown
    )
}
