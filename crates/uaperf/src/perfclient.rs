//! `uaperf perfclient`: the command lines of the thesis of 2016, which measured reads and subscriptions
//! with a client called so, and the statistics that it printed, in its order.
//!
//! The options are spelled as there, with one dash; two do as well. Underneath it is `uaperf read`: the
//! same generator, the same result file, the same verdict, which goes to the standard error output.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use judge::Exit;
use load::engine::Control;
use plan::{Phase, Schedule, Seat};
use record::Run;
use record::run::Destination;

use crate::cli::Global;
use crate::failure::Failure;
use crate::quick::{self, Asked};

/// Read as the test client of the 2016 thesis did, with its options and its output
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The server: opc.tcp://host:port/path
    #[arg(value_name = "URL")]
    url: String,
    /// The node that is read, again and again
    #[arg(short = 'n', long = "node", value_name = "NODE", required = true)]
    node: String,
    /// Sessions
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    clients: u32,
    /// Values of each read request; with -single, requests of each session in a cycle
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batchsize: u32,
    /// One value in each request instead of a batch
    #[arg(long)]
    single: bool,
    /// Read cycles of each session in a second
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = positive)]
    rate: f64,
    /// Read cycles of each session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Seconds after which reading ends in any case
    #[arg(long, value_name = "S", value_parser = positive)]
    duration: Option<f64>,
    /// Subscriptions of each session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    subscriptions: Option<u32>,
    /// Monitored items of each subscription
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    items: Option<u32>,
    /// The share of response times that the percentile is not below
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = share)]
    percentile: f64,
    /// POLICY:MODE such as Basic256Sha256:SignAndEncrypt, or best, least, none
    #[arg(long, value_name = "POLICY:MODE|best|least|none")]
    security: Option<String>,
    /// Accept the server's certificate this once, whatever is wrong with it
    #[arg(long)]
    trust: bool,
    /// Log in with this name; the secret comes from UAPERF_PASSWORD or --password-file
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// File with the password of --user in its first line
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<String>,
    /// The result file [default: results/UTCTIME-read.json]
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// No progress while it runs
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples (the thesis's own):
  uaperf perfclient -n \"ns=2;s=MyLevel\" -clients 1 -batchsize 100 -rate 100 -requests 9000
      -duration 300 -percentile 0.9 opc.tcp://localhost:4840

A server with its nodes: uaperf serve --profile tahvanainen2016";

/// The options as the thesis spells them.
const SPELLED: &[&str] = &[
    "-clients",
    "-batchsize",
    "-single",
    "-rate",
    "-requests",
    "-duration",
    "-subscriptions",
    "-items",
    "-percentile",
];

/// The arguments with two dashes where the thesis has one.
pub fn spelled(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut ours = false;
    args.map(|arg| {
        ours |= arg == "perfclient";
        match arg.to_str() {
            Some(word) if ours && SPELLED.contains(&word) => format!("-{word}").into(),
            _ => arg,
        }
    })
    .collect()
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|it| it.is_finite());
    number
        .filter(|number| *number > 0.0)
        .ok_or_else(|| "want a number above zero, without a unit".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "want a share from 0 to 1, such as 0.9".to_owned())
}

/// Carries out the command.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    if args.subscriptions.is_some() || args.items.is_some() {
        let what =
            "perfclient does not measure subscriptions yet: leave out -subscriptions and -items";
        return Err(Failure::usage(what.to_owned()).into());
    }
    if args.requests.is_none() && args.duration.is_none() {
        let what = "perfclient: -requests or -duration has to be given, or both";
        return Err(Failure::usage(what.to_owned()).into());
    }
    let asked = args.asked()?;
    let targets = asked.targets()?;
    if targets.len() != 1 {
        let what = format!("{}: want one server", args.url);
        return Err(Failure::usage(what).into());
    }
    let phase = asked.phase(1)?;
    let control = Control::default();
    quick::interrupted(&control)?;
    let run = asked.measure(&targets, &phase, &control, global)?;
    args.tell(&run, &phase)
}

impl Args {
    /// The same as words of `uaperf read`.
    fn words(&self) -> anyhow::Result<Vec<String>> {
        let (clients, batch) = (self.clients, self.batchsize);
        let too_many = || Failure::usage("-requests: the number is too large".to_owned());
        let mut words = vec![self.url.clone()];
        let mut add = |option: &str, value: String| words.push(format!("{option}={value}"));
        add("--node", self.node.clone());
        add("--sessions", clients.to_string());
        // All of it is measured.
        add("--warmup", "0s".to_owned());
        let mut requests = self.requests;
        if self.single {
            // So many requests at once in each cycle.
            let period = (1e9 / self.rate).round();
            add("--arrival", format!("burst:{batch}/{period}ns"));
            requests = match requests {
                Some(n) => Some(n.checked_mul(batch.into()).ok_or_else(too_many)?),
                None => None,
            };
        } else {
            add("--batch", batch.to_string());
            add("--rate", format!("{}/s", self.rate));
        }
        if let Some(n) = requests {
            let all = n.checked_mul(clients.into()).ok_or_else(too_many)?;
            add("--requests", all.to_string());
        }
        if let Some(seconds) = self.duration {
            add("--duration", format!("{seconds}s"));
        }
        for (option, value) in [
            ("--security", &self.security),
            ("--user", &self.user),
            ("--password-file", &self.password_file),
        ] {
            if let Some(value) = value {
                add(option, value.clone());
            }
        }
        words.extend(self.trust.then(|| "--trust".to_owned()));
        words.extend(self.quiet.then(|| "--quiet".to_owned()));
        Ok(words)
    }

    fn asked(&self) -> anyhow::Result<Asked> {
        let words = self.words()?;
        let definition = quick::definition("read").unwrap_or_default();
        let typed = definition
            .no_binary_name(true)
            .try_get_matches_from(words)
            .map_err(|error| Failure::usage(crate::usage::in_one_line(&error)))?;
        quick::asked("read", &typed)
    }

    /// Prints what the thesis's client printed, and keeps the result.
    fn tell(&self, run: &Run, phase: &Phase) -> anyhow::Result<ExitCode> {
        let Some(measured) = run.phases.first() else {
            return Err(Failure::new("nothing was measured".to_owned()).into());
        };
        let text = Reads::of(measured, phase).text(self.percentile);
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        let destination = match &self.out {
            Some(file) => Destination::File(file.into()),
            None => Destination::Folder("results".into()),
        };
        let kept = run.write(&destination);
        let evidence = run.verdict.evidence.first();
        eprintln!(
            "{}{}",
            run.verdict.kind,
            evidence.map_or_else(String::new, |it| format!(": {it}"))
        );
        for note in run.notes.iter().chain(&run.verdict.notes) {
            eprintln!("  {note}");
        }
        match kept {
            Ok(file) => {
                eprintln!("result      {}", file.display());
                Ok(ExitCode::from(Exit::of(run).code()))
            }
            Err(error) => Err(Failure::new(error.to_string()).into()),
        }
    }
}

/// What the thesis's client counted of reads.
#[derive(Debug, Clone, PartialEq)]
struct Reads {
    requests: u64,
    /// Answers, of whatever status: no timeouts, nothing that a lost connection left unanswered.
    responses: u64,
    /// From the first request to the last response.
    duration_ms: f64,
    service: record::Histogram,
    results: u64,
}

impl Reads {
    fn of(measured: &record::run::Phase, phase: &Phase) -> Self {
        let total = &measured.total;
        let unanswered: u64 = total
            .statuses
            .iter()
            .filter(|status| status.name == "BadConnectionClosed")
            .map(|status| status.count)
            .sum();
        let seats = (0..phase.sessions).map(|index| Seat { target: 0, index });
        let first = seats
            .filter_map(|seat| Schedule::of_phase(phase, seat)?.next())
            .min();
        let ns = measured.end_ns.saturating_sub(first.unwrap_or(0));
        Self {
            requests: total.sent,
            responses: total.completed.saturating_sub(total.timeouts + unanswered),
            duration_ms: ns as f64 / 1e6,
            service: total.histogram("service").clone(),
            results: total.values,
        }
    }

    fn text(&self, percentile: f64) -> String {
        let ms = |ns: Option<f64>| match ns {
            Some(ns) => format!("{:.6}", ns / 1e6),
            None => "n/a".to_owned(),
        };
        let quantile = self.service.quantile(percentile).map(|ns| ns as f64);
        let per_second = match self.duration_ms > 0.0 {
            true => format!("{:.6}", self.results as f64 * 1e3 / self.duration_ms),
            false => "n/a".to_owned(),
        };
        format!(
            "Number of read requests: {}\n\
             Number of read responses: {}\n\
             Total duration: {:.6} ms\n\
             Average response time: {} ms\n\
             Max response time: {} ms\n\
             {percentile} percentile response time: {} ms\n\
             Number of results: {}\n\
             Results per second: {per_second}\n",
            self.requests,
            self.responses,
            self.duration_ms,
            ms(self.service.mean()),
            ms(self.service.max().map(|ns| ns as f64)),
            ms(quantile),
            self.results,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_one_dash_are_understood_behind_the_command_and_nowhere_else() {
        let words = ["uaperf", "perfclient", "-n", "-rate", "-clients", "-q"];
        let spelled = spelled(words.into_iter().map(OsString::from));
        assert_eq!(
            spelled,
            ["uaperf", "perfclient", "-n", "--rate", "--clients", "-q"]
        );
        let read = ["uaperf", "read", "-rate"].into_iter().map(OsString::from);
        assert_eq!(super::spelled(read), ["uaperf", "read", "-rate"]);
    }
}
