//! `uaperf bench check`: what disturbs measuring on this machine.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use clap::Subcommand;
use observe::{Finding, Host, Idle, NotAvailable, Standing, Tree, bench};
use serde::Serialize;

use crate::global::Global;
use crate::screen;

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

/// Carries out `uaperf bench`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let Action::Check(check) = args.action;
    let findings = bench(&Tree::here(), &idle(LOOK));
    let told = Told {
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

/// What is seen of this machine in so long.
pub fn idle(look: Duration) -> Idle {
    let (before, at, day) = (Host::cpu(), Instant::now(), SystemTime::now());
    std::thread::sleep(look);
    let (length, moved) = (at.elapsed(), SystemTime::now());
    let after = Host::cpu();
    // Negative when the clock of the day was set back behind where it was.
    let day_ns = match moved.duration_since(day) {
        Ok(ahead) => signed(ahead),
        Err(behind) => -signed(behind.duration()),
    };
    Idle {
        spent: match (after, before) {
            (Ok(after), Ok(before)) => Ok(after.since(&before)),
            (Err(why), _) | (_, Err(why)) => Err(NotAvailable::because(why.reason().to_owned())),
        },
        stepped_ns: day_ns.saturating_sub(signed(length)),
        length,
    }
}

fn signed(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

#[derive(Serialize)]
struct Told {
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

fn write_screen(out: &mut String, told: &Told) -> std::fmt::Result {
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
