//! How much load, when, and for how long: the options of every command that makes some.

use std::time::Duration;

use plan::unit::Rate;
use plan::unit::duration;
use plan::{Arrival, CatchUp, Phase, Reconnect, Shape, Spread, Threshold, Warmup, Within, Work};

use super::scheduling;
use crate::failure::Failure;

/// How much load, when, and for how long.
#[derive(Debug, clap::Args)]
#[group(id = "load")]
#[command(next_help_heading = "Load")]
pub struct Args {
    /// Sessions with each server
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sessions: u32,
    /// Whether every session uses all nodes or its share of them: all, split
    #[arg(long, value_name = "HOW", default_value_t = Spread::All)]
    spread: Spread,
    /// Closed loop: requests unanswered at a time, in each session [default: 1]
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "rate_total"], value_parser = clap::value_parser!(u32).range(1..=65_536))]
    in_flight: Option<u32>,
    /// Open loop: requests of each session, such as 100/s
    #[arg(long, value_name = "RATE", conflicts_with = "rate_total")]
    rate: Option<Rate>,
    /// Open loop: requests of all sessions together
    #[arg(long, value_name = "RATE")]
    rate_total: Option<Rate>,
    /// Open loop: constant, poisson, ramp:10/s..1k/s, steps:100/s@10s,200/s@10s, burst:50/100ms
    #[arg(long, value_name = "HOW", conflicts_with = "in_flight")]
    arrival: Option<Shape>,
    /// Closed loop: pause between an answer and the next request
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with_all = ["rate", "rate_total", "arrival"])]
    think: Option<Duration>,
    /// Requests to measure, of all sessions together; with --duration the first to be reached counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// How long to measure [default: 10s, without --requests]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Leave out this much time at the beginning [default: the warm-up that is found in the data]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    warmup: Option<Duration>,
    /// Longest warm-up that is left out when it is found in the data [default: a fifth of the phase]
    #[arg(long, value_name = "DURATION", conflicts_with = "warmup", value_parser = duration::parse)]
    max_warmup: Option<Duration>,
    /// Leave out this much time at the end
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    cooldown: Duration,
    /// Open loop: what becomes of requests that fell due during a stall: burst, skip
    #[arg(long, value_name = "HOW", default_value_t = CatchUp::Burst)]
    catch_up: CatchUp,
    /// Open loop: requests that may be unanswered in a session before others wait
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    slots: u32,
    /// Closed loop: wake up once for this many answers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    coalesce: u32,
    /// Closed loop: all sessions send at the same moment, and again once the slowest was answered
    #[arg(long, conflicts_with_all = ["rate", "rate_total", "arrival", "in_flight", "fresh_session", "reconnect"])]
    together: bool,
    /// Poll without sleeping: finer times for a whole core
    #[arg(long)]
    spin: bool,
    /// Threads; sessions are distributed among them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    #[command(flatten)]
    scheduling: scheduling::Args,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Open a session for each request
    #[arg(long, conflicts_with_all = ["coalesce", "spin", "reconnect"])]
    fresh_session: bool,
    /// Connect again when a connection breaks. Of subscriptions, how: resume (activate the session over a new
    /// channel), transfer (to a new session), recreate; what fails is followed by the next
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "resume")]
    reconnect: Option<Reconnect>,
    /// A condition on the result, such as 'p99<5ms' or errors=0: exit code 3 if it is not met
    #[arg(long, value_name = "THRESHOLD", value_delimiter = ',')]
    expect: Vec<Threshold>,
    /// End early when this becomes true, such as 'errors>1%'; with a window in square brackets, such as
    /// 'errors[10s]>1%', of what happened in the last 10 s
    #[arg(long, value_name = "THRESHOLD", value_delimiter = ',')]
    abort_on: Vec<Within>,
    /// End early when more requests than that failed
    #[arg(long, value_name = "N")]
    max_errors: Option<u64>,
    /// What may be done to the server beyond reading: write, call, nodes, storm, overload
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    allow: Vec<Allow>,
    /// Send more in a request than the server says that it takes; needs --allow overload
    #[arg(long)]
    ignore_limits: bool,
}

/// What reading does not need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Allow {
    /// Values are overwritten.
    Write,
    /// Methods are called.
    Call,
    /// Nodes are added and deleted.
    Nodes,
    /// Connections come in storms.
    Storm,
    /// Limits are ignored.
    Overload,
}

impl Args {
    /// With each server.
    pub fn sessions(&self) -> u32 {
        self.sessions
    }

    /// Threads of the generator.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// How an agent's load is made, as options.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![format!("--threads={}", self.threads)];
        words.extend(self.pin().iter().map(|cpu| format!("--pin={cpu}")));
        if self.ignore_limits {
            words.extend(["--ignore-limits", "--allow=overload"].map(str::to_owned));
        }
        words
    }

    /// CPUs to keep them on.
    pub fn pin(&self) -> &[usize] {
        self.scheduling.pin()
    }

    /// Processors and priorities of the run.
    pub fn scheduling(&self) -> &scheduling::Args {
        &self.scheduling
    }

    /// How long is measured, if that was said.
    pub fn duration(&self) -> Option<Duration> {
        self.duration
    }

    /// How sessions come back.
    pub fn reconnect(&self) -> Reconnect {
        self.reconnect.unwrap_or_default()
    }

    /// Whether it is said when requests are sent.
    pub fn has_pace(&self) -> bool {
        self.rate.is_some()
            || self.rate_total.is_some()
            || self.in_flight.is_some()
            || self.arrival.is_some()
            || self.think.is_some()
            || self.requests.is_some()
    }

    /// Whether the server's limits are not kept.
    pub fn ignores_limits(&self) -> bool {
        self.ignore_limits
    }

    /// The phase that was asked for; `sessions` in all.
    pub fn phase(&self, work: Work, sessions: u32, timeout: Duration) -> anyhow::Result<Phase> {
        let arrival = self.arrival(sessions)?;
        // Steps say themselves how long they go on.
        let own = matches!(&arrival, Arrival::Open(pace) if pace.length().is_some());
        let duration = match (self.duration, self.requests) {
            (None, None) if !own => Some(Phase::DURATION),
            (given, _) => given,
        };
        Ok(Phase {
            sessions: self.sessions,
            spread: self.spread,
            arrival,
            duration,
            requests: self.requests,
            warmup: match self.warmup {
                Some(warmup) => Warmup::Given { warmup },
                None => Warmup::Auto,
            },
            max_warmup: self.max_warmup,
            cooldown: self.cooldown,
            timeout,
            catch_up: self.catch_up,
            slots: self.slots,
            coalesce: self.coalesce,
            together: self.together,
            spin: self.spin,
            fresh_session: self.fresh_session,
            reconnect: self.reconnect() != Reconnect::Never,
            seed: self.seed,
            expect: self.expect.clone(),
            abort_on: self.abort_on(),
            ..Phase::new(work)
        })
    }

    fn abort_on(&self) -> Vec<Within> {
        let errors = self.max_errors.map(Within::more_errors_than);
        self.abort_on.iter().cloned().chain(errors).collect()
    }

    fn arrival(&self, sessions: u32) -> anyhow::Result<Arrival> {
        let rate = match (self.rate, self.rate_total) {
            (Some(rate), _) => Some(rate),
            (None, Some(total)) => total.divided(sessions),
            (None, None) => None,
        };
        if rate.is_none() && self.arrival.is_none() {
            return Ok(Arrival::Closed {
                in_flight: self.in_flight.unwrap_or(1),
                think: self.think.unwrap_or_default(),
            });
        }
        let shape = self.arrival.clone().unwrap_or(Shape::Constant);
        let pace = shape.at(rate).map_err(|error| {
            Failure::usage(format!("--arrival: {error}"))
                .hint("give --rate 100/s, or an arrival that has its own: ramp, steps, burst")
        })?;
        Ok(Arrival::Open(pace))
    }

    /// What reading does not need has to be allowed by name.
    pub fn allows(&self, work: &Work) -> anyhow::Result<()> {
        let missing = |what: &str, why: &str| {
            Err(Failure::usage(format!("{why} and has to be allowed"))
                .hint(format!("the same command with --allow {what}"))
                .into())
        };
        match work {
            Work::Write(_) if !self.allow.contains(&Allow::Write) => {
                missing("write", "writing changes values on the server")
            }
            Work::Subscribe(subscribe)
                if subscribe.writer.is_some() && !self.allow.contains(&Allow::Write) =>
            {
                missing("write", "--writer changes values on the server")
            }
            Work::Call(_) if !self.allow.contains(&Allow::Call) => {
                missing("call", "calling a method may do anything on the server")
            }
            Work::Nodes(_) if !self.allow.contains(&Allow::Nodes) => {
                missing("nodes", "adding nodes changes what the server has")
            }
            Work::Connect(_) if !self.allow.contains(&Allow::Storm) => missing(
                "storm",
                "connecting again and again costs a server more than anything else",
            ),
            _ if self.ignore_limits && !self.allow.contains(&Allow::Overload) => missing(
                "overload",
                "--ignore-limits sends what the server says it cannot take",
            ),
            _ => Ok(()),
        }
    }
}
