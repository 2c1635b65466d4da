//! What other programs read while this one runs: a page for scrapers, and receivers to which figures are pushed.

mod openmetrics;
mod own;
mod page;
mod push;
mod receiver;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plan::unit::duration;
use report::family::{Family, prometheus};

use crate::failure::Failure;
use crate::screen::{is_drawn_on, tell};
use crate::secret;
use receiver::Receiver;

pub use own::Own;
pub use page::{address, serve};
pub use push::finish;

/// Who is told while it runs.
#[derive(Debug, Default, clap::Args)]
#[group(id = "metrics")]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// While it runs, answer Prometheus and readers of OpenMetrics here; an address, or a port of the loopback such as
    /// :9464
    #[arg(long, visible_alias = "metrics", value_name = "ADDR", value_parser = address)]
    pub prometheus: Option<SocketAddr>,
    /// While it runs, push figures there: otlp+http://HOST:4318 (OpenTelemetry), influx+http://HOST:8086/api/v2/write?org=O&bucket=B
    /// or influx+http://HOST:8086/write?db=D; may be given several times
    #[arg(long, value_name = "URL")]
    pub push: Vec<Receiver>,
    /// Time between two pushes [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = every, requires = "push")]
    pub push_every: Option<Duration>,
    /// File whose first line is the token that the receiver of --push wants; else it comes from UAPERF_PUSH_TOKEN
    #[arg(long, value_name = "FILE", requires = "push")]
    pub push_token_file: Option<PathBuf>,
}

const EVERY: Duration = Duration::from_secs(5);

fn every(text: &str) -> Result<Duration, String> {
    let every = duration::parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_secs(1)..=Duration::from_secs(3600)).contains(&every) {
        true => Ok(every),
        false => Err(format!("{text:?} is out of range (want 1s to 1h)")),
    }
}

/// The variable that a token may stand in.
const TOKEN: &str = "UAPERF_PUSH_TOKEN";

/// Who listens, before there is anything to be told.
#[derive(Debug, Default)]
pub struct Listeners {
    page: Option<TcpListener>,
    receivers: Vec<Receiver>,
    every: Duration,
    token: Option<receiver::Token>,
}

impl Args {
    /// Whether nobody is told.
    pub fn is_none(&self) -> bool {
        self.prometheus.is_none() && self.push.is_empty()
    }

    /// Opens what was asked for. Has to be called before anything is measured.
    pub fn open(&self) -> Result<Listeners, Failure> {
        let page = match self.prometheus {
            Some(at) => Some(TcpListener::bind(at).map_err(|error| cannot(at, &error))?),
            None => None,
        };
        let token = self.token()?;
        if token.is_some() && self.push.len() > 1 {
            // It would be shown to all of them.
            let what = format!(
                "a token and {} receivers: which of them is it for?",
                self.push.len()
            );
            return Err(Failure::usage(what).hint(
                "give one --push alone, or take the token away (--push-token-file, UAPERF_PUSH_TOKEN)",
            ));
        }
        Ok(Listeners {
            page,
            receivers: self.push.clone(),
            every: self.push_every.unwrap_or(EVERY),
            token,
        })
    }

    fn token(&self) -> Result<Option<receiver::Token>, Failure> {
        let text = match &self.push_token_file {
            Some(file) => Some(secret::first_line(file).map_err(|error| {
                let why = error.root_cause();
                Failure::usage(format!("--push-token-file {}: {why}", file.display()))
            })?),
            None if self.push.is_empty() => None,
            None => std::env::var(TOKEN).ok().map(Into::into),
        };
        let text = text.filter(|it| !it.trim().is_empty());
        text.map(receiver::Token::new)
            .transpose()
            .map_err(Failure::usage)
    }
}

fn cannot(at: SocketAddr, error: &std::io::Error) -> Failure {
    let hint = "another program may have the port: take another one, or 0 for a free one";
    Failure::usage(format!("--prometheus {at}: {error}")).hint(hint)
}

impl Listeners {
    /// From now on they are told what `families` gives, each time anew. What goes wrong with a receiver is told by `warn`.
    pub fn begin(
        self,
        families: impl Fn() -> Vec<Family> + Send + Sync + 'static,
        warn: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<(), Failure> {
        let own = Own::new();
        let all = Arc::new(move || {
            let mut all = families();
            all.extend(own.families());
            all.extend(push::families());
            all
        });
        let warn = Arc::new(warn);
        for receiver in self.receivers {
            let (told, warn) = (Arc::clone(&all), Arc::clone(&warn));
            push::begin(receiver, self.token.clone(), self.every, told, warn).map_err(|error| {
                Failure::new(format!("cannot start a thread for --push: {error}"))
            })?;
        }
        if let Some(listener) = self.page {
            let bound = page::answer_at(listener, move || prometheus::text(&all()))
                .map_err(|error| Failure::new(format!("--prometheus: {error}")))?;
            tell!("prometheus  http://{bound}/metrics");
        }
        Ok(())
    }
}

/// A line on standard error, unless a picture is drawn there: what was lost is said at the end.
pub fn warn(line: String) {
    if !is_drawn_on() {
        tell!("{line}");
    }
}
