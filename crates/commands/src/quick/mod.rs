//! The quick commands: `uaperf read|write|browse|history|translate|call|register|subscribe|connect|
//! items|nodes`, one phase each.
//!
//! Arguments go one way: what was typed ([`options`], [`work`]) becomes a plan, the plan is
//! carried out ([`execute`]) while somebody watches ([`live`]), and what came of it becomes a
//! result ([`result`]) that is kept, printed and turned into an exit code.

mod connect;
pub(crate) mod energy;
mod evidence;
mod execute;
pub mod feed;
mod footprint;
mod held;
mod identity_each;
mod items_and_nodes;
mod known;
pub mod link_test;
pub mod live;
mod live_figures;
mod look;
mod missing;
mod nearest;
mod options;
mod outcome;
mod output;
mod result;
mod scheduling;
mod sequence;
mod servers;
mod set_up;
pub mod stage;
mod step;
mod subscribe;
mod subscription_results;
pub mod usage;
mod work;
mod writer;

pub use connect::Connect;
pub use items_and_nodes::{Items, Nodes};
pub use result::{by_hand, status_name};
pub use sequence::Users;
pub use subscribe::Subscribe;

use std::process::ExitCode;

use known::Known;
use load::engine::{Control, Outcome};
use plan::{ConnectKind, Phase, PlanError, TargetSpec, Targets, Work};
use record::Run;
use report::Unmeasured;
use set_up::Measurement;
use wire::url::{Transport, Url};
use zeroize::Zeroizing;

use crate::access;
use crate::failure::Failure;
use crate::fleet::{self, Shared};
use crate::global::Global;
use crate::interrupt;
use crate::printed::{Format, Printed};
use crate::results;
use crate::written;

/// What all quick commands have in common.
#[derive(Debug, clap::Args)]
#[group(id = "quick")]
pub struct Common {
    /// Servers: opc.tcp://host:port/path, a range opc.tcp://host:4840-4849, or @FILE
    #[arg(value_name = "URL", required = true)]
    targets: Vec<TargetSpec>,
    #[command(flatten)]
    pub(crate) load: options::Args,
    #[command(flatten)]
    output: output::Args,
    #[command(flatten)]
    pub(crate) access: access::Args,
    #[command(flatten)]
    each: identity_each::Args,
    #[command(flatten)]
    fleet: fleet::Args,
    /// How servers are reached, as options, where that was said in a phase.
    #[arg(skip)]
    reached: Option<Vec<String>>,
    /// This process has a part of a phase only.
    #[arg(skip)]
    part: Option<fleet::Part>,
    /// Where single requests go instead of a file; answers behind the end do not count then.
    #[arg(skip)]
    until_the_end: Option<record::Samples>,
}

impl Common {
    /// What was asked for beside the plan.
    pub(crate) fn request(&self) -> serde_json::Map<String, serde_json::Value> {
        outcome::request(self)
    }

    /// How servers are reached, as options for another process.
    pub(crate) fn reached_by(&self) -> Vec<String> {
        let said = self.reached.clone();
        said.unwrap_or_else(|| access::Args::words(None))
    }
}

/// Read values or other attributes repeatedly
#[derive(Debug, clap::Args)]
#[command(after_help = work::READ_EXAMPLES)]
pub struct Read {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Read,
}

/// Write values repeatedly, in the data type of each node
#[derive(Debug, clap::Args)]
#[command(after_help = work::WRITE_EXAMPLES)]
pub struct Write {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Write,
}

/// Browse references, with BrowseNext until all are returned
#[derive(Debug, clap::Args)]
#[command(after_help = work::BROWSE_EXAMPLES)]
pub struct Browse {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Browse,
}

/// Read the history of variables: raw values, following continuation points to the end
#[derive(Debug, clap::Args)]
#[command(after_help = work::HISTORY_EXAMPLES)]
pub struct History {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::History,
}

/// Translate browse paths to node ids
#[derive(Debug, clap::Args)]
#[command(after_help = work::TRANSLATE_EXAMPLES)]
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
#[command(after_help = work::REGISTER_EXAMPLES)]
pub struct Register {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    work: work::Register,
}

/// What was asked for: a service, with everything that was typed about it.
#[derive(Debug)]
pub struct QuickCommand {
    service: &'static str,
    common: Common,
    work: Work,
    /// What the same sessions do meanwhile.
    beside: Vec<Work>,
}

/// What a command's sessions do.
trait Does {
    /// As a part of a plan.
    fn work(&self) -> anyhow::Result<Work>;

    /// What they do meanwhile.
    fn beside(&self) -> anyhow::Result<Vec<Work>> {
        Ok(Vec::new())
    }
}

macro_rules! does {
    ($($work:ident)*) => {
        $(impl Does for work::$work {
            fn work(&self) -> anyhow::Result<Work> {
                self.resolve()
            }
        })*
    };
}

does! { Read Write Browse History Translate Call Register }

macro_rules! services {
    ($($name:ident $args:ident)*) => {
        /// The commands that measure a service; a phase of a scenario names one of them.
        pub const SERVICES: &[&str] = &[$(stringify!($name)),*];

        /// The options of a service.
        pub fn definition(service: &str) -> Option<clap::Command> {
            match service {
                $(stringify!($name) => {
                    Some(<$args as clap::Args>::augment_args(clap::Command::new(stringify!($name))))
                })*
                _ => None,
            }
        }

        /// What was typed, by whomever: on a command line or in a scenario.
        pub fn asked(service: &str, typed: &clap::ArgMatches) -> anyhow::Result<QuickCommand> {
            let asked: anyhow::Result<QuickCommand> = match service {
                $(stringify!($name) => {
                    <$args as clap::FromArgMatches>::from_arg_matches(typed)?.try_into()
                })*
                _ => Err(Failure::usage(format!("there is no service {service:?}")).into()),
            };
            let mut asked = asked?;
            asked.common.reached = Some(access::Args::words(Some(typed)));
            Ok(asked)
        }

        $(
            impl TryFrom<$args> for QuickCommand {
                type Error = anyhow::Error;

                fn try_from(args: $args) -> anyhow::Result<Self> {
                    Self::new(stringify!($name), args.common, &args.work)
                }
            }

            /// Carries the command out.
            pub fn $name(args: $args, global: &Global) -> anyhow::Result<ExitCode> {
                QuickCommand::try_from(args)?.carry_out(global)
            }
        )*
    };
}

services! {
    read Read write Write browse Browse history History translate Translate call Call register Register
    subscribe Subscribe connect Connect items Items nodes Nodes
    sequence Users
}

/// There is no channel whose token could be renewed.
fn over_https(work: &Work, url: &Url) -> Result<(), Failure> {
    match work {
        Work::Connect(connect) if connect.kind == ConnectKind::Renewal => {
            let told = format!(
                "renewing a secure channel needs another transport than opc.https, which {url} is"
            );
            Err(Failure::usage(told).hint("give the opc.tcp:// or opc.wss:// URL of the server"))
        }
        _ => Ok(()),
    }
}

impl QuickCommand {
    fn new(service: &'static str, common: Common, work: &impl Does) -> anyhow::Result<Self> {
        Ok(Self {
            service,
            common,
            work: work.work()?,
            beside: work.beside()?,
        })
    }

    /// What an agent needs beside a phase: how servers are reached, and how its load is made.
    pub fn of_agent(service: &str, targets: &[String], words: &[String]) -> anyhow::Result<Self> {
        let unknown = || Failure::usage(format!("there is no service {service:?}"));
        let known = SERVICES.iter().find(|it| **it == service);
        let known = known.ok_or_else(unknown)?;
        let read = definition("read").ok_or_else(unknown)?;
        let all = targets.iter().chain(words).map(String::as_str);
        let typed = std::iter::once("read").chain(all);
        Ok(Self {
            service: known,
            ..asked("read", &read.try_get_matches_from(typed)?)?
        })
    }

    /// The same, for a part of a phase, with the secret of --user.
    pub fn of_part(mut self, part: fleet::Part, secret: Option<String>) -> Self {
        self.common.part = Some(part);
        self.common.output.printed.be_quiet();
        self.common.access = self.common.access.with_secret(secret.map(Zeroizing::new));
        self
    }

    /// The servers.
    pub fn targets(&self) -> anyhow::Result<Targets> {
        let targets = Targets::resolve(&self.common.targets, |file| std::fs::read_to_string(file))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let mut urls = targets.urls().iter();
        if let Some(url) = urls.find(|url| url.transport() == Transport::Https) {
            over_https(&self.work, url)?;
        }
        Ok(targets)
    }

    /// The phase with so many servers, if it makes sense.
    pub fn phase(&self, servers: usize) -> anyhow::Result<Phase> {
        let common = &self.common;
        let servers = u32::try_from(servers).unwrap_or(u32::MAX);
        let sessions = common.load.sessions().saturating_mul(servers);
        common.each.check(&common.access)?;
        let work = self.work.clone();
        let mut phase: Phase = common.load.phase(work, sessions, common.access.timeout())?;
        phase.beside.clone_from(&self.beside);
        if let Work::Subscribe(plan) = &mut phase.work {
            subscribe::complete(plan, &common.load, &self.beside)?;
            // First values have settled when it begins.
            phase.warmup = phase.warmup.or_none();
        }
        if let Work::Connect(plan) = &phase.work {
            connect::complete(plan, &mut phase.duration, &mut phase.warmup, &common.load);
        }
        sequence::complete(&mut phase);
        live_figures::check(&phase.abort_on)?;
        phase.check().map_err(|PlanError { field, value, want }| {
            Failure::usage(format!("--{field} {value}: want {want}"))
        })?;
        let rest = fleet::Rest {
            access: &common.access,
            identity_each: common.each.is_asked(),
            samples: common.output.samples.is_some(),
        };
        common.fleet.check(&phase, &rest)?;
        common.load.allows(&phase.work)?;
        for work in phase.asked_besides() {
            common.load.allows(&work)?;
        }
        Ok(phase)
    }

    /// The same, with the secret of --user asked for once, for this process and for all agents.
    pub fn with_secret(mut self) -> anyhow::Result<Self> {
        if self.common.fleet.is_asked() {
            let secret = self.common.access.secret()?;
            self.common.access = self.common.access.with_secret(secret);
        }
        Ok(self)
    }

    fn carry_out(self, global: &Global) -> anyhow::Result<ExitCode> {
        let targets = self.targets()?;
        let phase = self.phase(targets.len())?;
        let control = Control::default();
        interrupt::stops(&control)?;
        self.common.output.check(self.common.access.pcap())?;
        let asked = self.with_secret()?;
        let common = &asked.common;
        if !common.output.printed.is_quiet() {
            // Keys would reach no agent.
            stage::open(common.output.plain || common.fleet.is_asked());
        }
        let run = asked.measure(&targets, &phase, &control, global);
        let run = run.inspect_err(|error| asked.fail(error))?;
        execute::keep(&run, common)
    }

    /// Writes, where a program reads it, that nothing was measured.
    pub fn fail(&self, error: &anyhow::Error) {
        let failed = Unmeasured {
            name: self.service.to_owned(),
            why: format!("{error:#}"),
        };
        self.common.output.files.write_failed(&[failed]);
    }

    /// Whether there can be of a search what was asked to be written; opens what is told while it runs.
    pub fn check_search(&self) -> anyhow::Result<()> {
        let output = &self.common.output;
        let of_one = [("--samples", &output.samples), ("--hlog", &output.hlog)];
        if let Some((option, _)) = of_one.into_iter().find(|(_, file)| file.is_some()) {
            return Err(Failure::usage(format!(
                "{option}: a search has many runs (want a command that has one)"
            ))
            .hint(format!(
                "uaperf {} with {option}, at a load that is of interest",
                self.service
            ))
            .into());
        }
        let live = [
            ("--live-file", &output.feed.live_file),
            self.common.access.pcap().named(),
        ];
        written::check(live.into_iter().chain(output.files.named()), &[])?;
        Ok(output.feed.open()?)
    }

    /// Whether a search prints what is in its file, and its screen beside that.
    pub fn prints_search_as_json(&self) -> anyhow::Result<bool> {
        let output = &self.common.output;
        output.printed.check(output.takes_output())?;
        match output.printed.what() {
            Printed::All(Format::Json) => Ok(true),
            // Its table is its progress and its result; without it there are the files.
            Printed::All(Format::Text) | Printed::Verdict | Printed::Nothing => Ok(false),
            Printed::All(Format::Csv) => Err(Failure::usage("a search prints its trials, or its file (--json)")
                .hint("uaperf saturate ... --json 2>/dev/null; the trials are results: uaperf show DIR --csv -")
                .into()),
        }
    }

    /// What else is to be written of results.
    pub fn files(&self) -> &results::Files {
        &self.common.output.files
    }

    /// Whether a file goes to standard output.
    pub fn takes_output(&self) -> bool {
        self.common.output.takes_output()
    }

    /// Where the result is to go, if that was said.
    pub fn destination(&self) -> Option<&std::path::Path> {
        self.common.output.out.as_deref()
    }

    /// What is unanswered at the end is given up there, and single requests are written down here.
    pub fn until_the_end(&mut self, samples: record::Samples) {
        self.common.until_the_end = Some(samples);
    }

    /// The same, with servers reached in this way.
    pub fn through(mut self, access: access::Args) -> Self {
        self.common.access = access;
        self
    }

    /// The run of a phase that agents have carried out, when some of their results came late. Of servers and of what processes
    /// spent nothing is known any more.
    pub fn made_again(&self, phase: &Phase, outcome: &Outcome, shared: Shared) -> Run {
        let known = Known {
            command: self.service,
            common: &self.common,
            phase,
            looked: &[],
            prepared: &[],
            outcome,
            seen: None,
            own_limits: Vec::new(),
            by: None,
            witnessed: (&[], &[]),
            not_there: Vec::new(),
            shared: Some(shared),
            link_test: None,
            aborted: None,
        };
        known.run()
    }

    /// Measures, and leaves it to the caller what becomes of the run.
    pub fn measure(
        &self,
        targets: &Targets,
        phase: &Phase,
        control: &Control,
        global: &Global,
    ) -> anyhow::Result<Run> {
        if let Some(plan) = phase.connect() {
            connect::check_sources(plan, targets)?;
        }
        execute::measure(Measurement {
            command: self.service,
            common: &self.common,
            targets,
            phase,
            control,
            global,
        })
    }
}
