//! `uaperf perfclient`: the command lines of the thesis of 2016, which measured reads and subscriptions
//! with a client called so, and the statistics that it printed, in its order.
//!
//! The options are spelled as there, with one dash; two do as well. Underneath it is `uaperf read` or
//! `uaperf subscribe`: the same generator, the same result file, the same verdict, which goes to the
//! standard error output.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use judge::Exit;
use load::engine::Control;
use plan::{Phase, Schedule, Seat};
use record::run::{Counts, Destination, Subscriptions};
use record::{Run, Samples};
use wire::types::StatusCode;

use crate::failure::Failure;
use crate::global::Global;
use crate::interrupt;
use crate::pcap;
use crate::quick::{self, QuickCommand};
use crate::screen::{Out, tell};
use crate::written;

/// Read or subscribe as the test client of the 2016 thesis did, with its options and its output
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The server: opc.tcp://host:port/path
    #[arg(value_name = "URL")]
    url: String,
    /// The node that is read, or monitored, again and again
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
    /// Reads: seconds after which reading ends in any case; what is unanswered then is not counted. Subscriptions:
    /// seconds to measure
    #[arg(long, value_name = "S", value_parser = positive)]
    duration: Option<f64>,
    /// Subscriptions of each session; with this or -items it subscribes instead of reading
    #[arg(long, value_name = "N", conflicts_with_all = ["single", "requests"], value_parser = clap::value_parser!(u32).range(1..))]
    subscriptions: Option<u32>,
    /// Monitored items of each subscription
    #[arg(long, value_name = "N", conflicts_with_all = ["single", "requests"], value_parser = clap::value_parser!(u32).range(1..))]
    items: Option<u32>,
    /// Subscriptions: wait so long after the last item was created [default: as uaperf subscribe; the
    /// thesis waited 60s]
    #[arg(long, value_name = "DURATION")]
    settle: Option<String>,
    /// How long each request and each step of connecting may take [default: 10s; of reads as long as -duration, or
    /// 300s without it, so that no answer is cut off]
    #[arg(long, value_name = "DURATION", value_parser = plan::unit::duration::parse)]
    timeout: Option<Duration>,
    /// The share of response or delay times that the percentile is not below
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
    /// The result file [default: in the folder results]
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// No progress while it runs
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    feed: quick::feed::Args,
    #[command(flatten)]
    pcap: pcap::Args,
}

const EXAMPLES: &str = "\
Examples (the thesis's own):
  uaperf perfclient -n \"ns=2;s=MyLevel\" -clients 1 -batchsize 100 -rate 100 -requests 9000
      -duration 300 -percentile 0.9 opc.tcp://localhost:4840
  uaperf perfclient -n \"ns=2;s=MyLevel\" -clients 1 -subscriptions 5 -items 100 -duration 18
      opc.tcp://localhost:4840

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
    if args.requests.is_none() && args.duration.is_none() {
        let what = match args.subscribes() {
            true => "perfclient: -duration has to be given",
            false => "perfclient: -requests or -duration has to be given, or both",
        };
        return Err(Failure::usage(what.to_owned()).into());
    }
    let mut asked = args.asked()?;
    let answers = Answers::default();
    if !args.subscribes() {
        asked.until_the_end(Samples::kept(answers.clone())?);
    }
    let targets = asked.targets()?;
    if targets.len() != 1 {
        let what = format!("{}: want one server", args.url);
        return Err(Failure::usage(what).into());
    }
    let phase = asked.phase(1)?;
    let control = Control::default();
    interrupt::stops(&control)?;
    let live = ("--live-file", &args.feed.live_file);
    let out = args.out.as_ref().map(Into::into);
    written::check([("--out", &out), live], &[])?;
    if out.is_none() {
        written::check_folder(Path::new(written::FOLDER))?;
    }
    args.feed.open()?;
    args.pcap.begin()?;
    let run = asked.measure(&targets, &phase, &control, global)?;
    args.tell(&run, &phase, &answers)
}

impl Args {
    fn subscribes(&self) -> bool {
        self.subscriptions.is_some() || self.items.is_some()
    }

    /// The same as words of `uaperf read` or `uaperf subscribe`.
    fn words(&self) -> anyhow::Result<Vec<String>> {
        let mut words = vec![self.url.clone()];
        let mut add = |option: &str, value: String| words.push(format!("{option}={value}"));
        add("--node", self.node.clone());
        add("--sessions", self.clients.to_string());
        match self.subscribes() {
            true => self.subscription(&mut add),
            false => self.reads(&mut add)?,
        }
        if let Some(seconds) = self.duration {
            add("--duration", format!("{seconds}s"));
        }
        add("--timeout", plan::unit::duration::typed(self.timeout()));
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

    /// The thesis's client had none: its reads end with -duration.
    fn timeout(&self) -> Duration {
        const LEAST: Duration = Duration::from_secs(10);
        const WITHOUT_LIMIT: f64 = 300.0;
        match self.timeout {
            Some(given) => given,
            None if self.subscribes() => LEAST,
            None => Duration::try_from_secs_f64(self.duration.unwrap_or(WITHOUT_LIMIT))
                .unwrap_or(Duration::MAX)
                .max(LEAST),
        }
    }

    fn subscription(&self, add: &mut impl FnMut(&str, String)) {
        add(
            "--subscriptions",
            self.subscriptions.unwrap_or(1).to_string(),
        );
        add("--items", self.items.unwrap_or(1).to_string());
        // The thesis does not say its publishing interval; each of its subscriptions had one response
        // a second.
        add("--publishing", "1s".to_owned());
        if let Some(settle) = &self.settle {
            add("--settle", settle.clone());
        }
    }

    fn reads(&self, add: &mut impl FnMut(&str, String)) -> anyhow::Result<()> {
        let (clients, batch) = (self.clients, self.batchsize);
        let too_many = || Failure::usage("-requests: the number is too large".to_owned());
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
        Ok(())
    }

    fn asked(&self) -> anyhow::Result<QuickCommand> {
        let service = match self.subscribes() {
            true => "subscribe",
            false => "read",
        };
        let words = self.words()?;
        // There is one for each of the two.
        let definition = quick::definition(service).unwrap_or_default();
        let typed = definition
            .no_binary_name(true)
            .try_get_matches_from(words)
            .map_err(|error| Failure::usage(crate::usage::in_one_line(&error)))?;
        quick::asked(service, &typed)
    }

    /// Prints what the thesis's client printed, and keeps the result.
    fn tell(&self, run: &Run, phase: &Phase, answers: &Answers) -> anyhow::Result<ExitCode> {
        let Some(measured) = run.phases.first() else {
            return Err(Failure::new("nothing was measured".to_owned()).into());
        };
        let text = match &measured.subscriptions {
            Some(account) => Published::of(measured, account).text(self.percentile),
            None => Reads::of(measured, phase, answers).text(self.percentile),
        };
        let destination = self.destination();
        let kept = written::keep(run, &destination).file;
        let live = self.feed.live_file.as_deref();
        let takes_output = live.is_some_and(written::is_output)
            || matches!(&destination, Destination::File(file) if written::is_output(file));
        Out::beside_file(takes_output).write_all(text.as_bytes())?;
        let evidence = run.verdict.evidence.first();
        tell!(
            "{}{}",
            run.verdict.kind,
            evidence.map_or_else(String::new, |it| format!(": {it}"))
        );
        let Counts {
            timeouts,
            unfinished,
            ..
        } = measured.whole();
        if timeouts + unfinished > 0 {
            let waited = plan::unit::duration::show(phase.timeout);
            let all = timeouts + unfinished;
            tell!("  without an answer: {all}, given up after {waited} or at the end");
        }
        for note in run.notes.iter().chain(&run.verdict.notes) {
            tell!("  {note}");
        }
        if let Some(file) = kept {
            tell!("result      {}", file.display());
        }
        Ok(ExitCode::from(Exit::of(run)))
    }

    fn destination(&self) -> Destination {
        match &self.out {
            Some(file) => Destination::File(file.into()),
            None => Destination::Folder(written::FOLDER.into()),
        }
    }
}

/// The answers to reads, one by one: a histogram of the run would have requests without an answer in it as well.
#[derive(Debug, Clone, Default)]
struct Answers(Arc<Mutex<Vec<Answer>>>);

/// An answer, of whatever status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    completed_ns: u64,
    service_ns: u64,
}

impl Answer {
    /// From a row of `--samples`: no timeouts, nothing that a lost connection left unanswered.
    fn of(row: &str) -> Option<Self> {
        let mut cells = row.rsplit(',');
        let status = cells.next()?;
        let unanswered = [StatusCode::BadTimeout, StatusCode::BadConnectionClosed];
        if unanswered
            .iter()
            .any(|it| status == format!("0x{:08X}", it.bits()))
        {
            return None;
        }
        let completed_ns: u64 = cells.next()?.parse().ok()?;
        let sent_ns: u64 = cells.next()?.parse().ok()?;
        Some(Self {
            completed_ns,
            service_ns: completed_ns.saturating_sub(sent_ns),
        })
    }
}

impl Write for Answers {
    /// Whole rows; the header is none.
    fn write(&mut self, rows: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(rows);
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.extend(text.lines().filter_map(Answer::of));
        Ok(rows.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What the thesis's client counted of reads.
#[derive(Debug, Clone, PartialEq)]
struct Reads {
    requests: u64,
    /// Answers that came before the end.
    responses: u64,
    /// From the first request to the last response, or to the end if some are missing.
    duration_ms: f64,
    /// Of the responses, rising.
    service_ns: Vec<u64>,
    results: u64,
}

impl Reads {
    fn of(measured: &record::run::Phase, phase: &Phase, answers: &Answers) -> Self {
        let total = &measured.total;
        let seats = (0..phase.sessions).map(|index| Seat { target: 0, index });
        let first = seats
            .filter_map(|seat| Schedule::of_phase(phase, seat)?.next())
            .min();
        let ns = measured.end_ns.saturating_sub(first.unwrap_or(0));
        let answers = answers.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The last answer may be what ends the phase.
        let in_time = answers
            .iter()
            .filter(|it| it.completed_ns <= measured.end_ns);
        let mut service_ns: Vec<u64> = in_time.map(|it| it.service_ns).collect();
        service_ns.sort_unstable();
        // A rate is of what came in time.
        let measured_s = measured.to_ns.saturating_sub(measured.from_ns) as f64 / 1e9;
        // Without a time that was measured there is no rate, and no result in it.
        let results = total.values_per_s.unwrap_or(0.0) * measured_s;
        Self {
            requests: total.sent,
            responses: service_ns.len() as u64,
            duration_ms: ns as f64 / 1e6,
            service_ns,
            results: results.round() as u64,
        }
    }

    /// The service time that this share of the responses did not exceed.
    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.service_ns.len() as f64).ceil() as usize;
        self.service_ns
            .get(rank.saturating_sub(1))
            .map(|&ns| ns as f64)
    }

    fn text(&self, percentile: f64) -> String {
        let sum: u128 = self.service_ns.iter().map(|&ns| u128::from(ns)).sum();
        let mean = (self.responses > 0).then(|| sum as f64 / self.responses as f64);
        let max = self.service_ns.last().map(|&ns| ns as f64);
        let (mean, max, quantile) = (ms(mean), ms(max), ms(self.quantile(percentile)));
        format!(
            "Number of read requests: {}\n\
             Number of read responses: {}\n\
             Total duration: {:.6} ms\n\
             Average response time: {mean} ms\n\
             Max response time: {max} ms\n\
             {percentile} percentile response time: {quantile} ms\n\
             Number of results: {}\n\
             Results per second: {}\n",
            self.requests,
            self.responses,
            self.duration_ms,
            self.results,
            each_second(self.results, self.duration_ms / 1e3),
        )
    }
}

/// What the thesis's client counted of subscriptions, in the measured time.
#[derive(Debug, Clone, PartialEq)]
struct Published {
    requests: u64,
    responses: u64,
    changes: u64,
    seconds: f64,
    /// From the publish time of a message to its arrival.
    delay: record::Histogram,
    /// Responses of the subscription with the fewest, and with the most.
    least: u64,
    most: u64,
}

impl Published {
    fn of(measured: &record::run::Phase, account: &Subscriptions) -> Self {
        let before = |name: &str| account.before.get(name).copied().unwrap_or(0);
        let counted = |name: &str| account.count(name).saturating_sub(before(name));
        let responses = account.each.iter().map(|it| it.messages + it.keep_alives);
        let ns = measured.to_ns.saturating_sub(measured.from_ns);
        Self {
            requests: counted("publish_sent"),
            responses: counted("publish_answered"),
            changes: counted("received"),
            seconds: ns as f64 / 1e9,
            delay: measured.total.histogram("publish-delay").clone(),
            least: responses.clone().min().unwrap_or(0),
            most: responses.max().unwrap_or(0),
        }
    }

    fn text(&self, percentile: f64) -> String {
        let (mean, max, quantile) = times(&self.delay, percentile);
        format!(
            "Number Of Publish Requests: {}\n\
             Number Of Publish Responses: {}\n\
             Number of Monitored Items: {}\n\
             Duration: {:.6} s\n\
             Monitored items per second: {}\n\
             Average delay time: {mean} ms\n\
             Max delay time: {max} ms\n\
             {percentile} percentile delay time: {quantile} ms\n\
             Subscription min freq: {}\n\
             Subscription max freq: {}\n",
            self.requests,
            self.responses,
            self.changes,
            self.seconds,
            each_second(self.changes, self.seconds),
            self.least,
            self.most,
        )
    }
}

/// Mean, largest and percentile, in milliseconds.
fn times(histogram: &record::Histogram, percentile: f64) -> (String, String, String) {
    let quantile = histogram.quantile(percentile).map(|ns| ns as f64);
    let max = histogram.max().map(|ns| ns as f64);
    (ms(histogram.mean()), ms(max), ms(quantile))
}

fn ms(ns: Option<f64>) -> String {
    match ns {
        Some(ns) => format!("{:.6}", ns / 1e6),
        None => "n/a".to_owned(),
    }
}

fn each_second(n: u64, seconds: f64) -> String {
    match seconds > 0.0 {
        true => format!("{:.6}", n as f64 / seconds),
        false => "n/a".to_owned(),
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
