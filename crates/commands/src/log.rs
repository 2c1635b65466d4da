//! `--log`: what happens inside while a command runs, for whoever looks for a fault.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

use crate::failure::Failure;
use crate::{lost, screen, written};

/// What is told of what happens inside.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Log")]
pub struct Args {
    /// Log what happens inside: error, warn, info, debug, trace, or by crate, as in info,wire=trace
    #[arg(
        long = "log",
        value_name = "LEVEL",
        global = true,
        env = "UAPERF_LOG",
        hide_env_values = true,
        value_parser = filter
    )]
    log: Option<Filter>,
    /// The log goes into FILE [default: standard error]
    #[arg(long, value_name = "FILE", global = true)]
    log_file: Option<PathBuf>,
    /// Format of a line
    #[arg(long, value_name = "FORMAT", global = true, default_value = "text")]
    log_format: Format,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object for each
    Json,
}

/// What is told; nothing where the variable is empty.
#[derive(Debug, Clone)]
struct Filter(Option<Targets>);

/// The levels, and who has them.
fn filter(text: &str) -> Result<Filter, String> {
    if text.trim().is_empty() {
        return Ok(Filter(None));
    }
    let known = [
        "capture",
        "link",
        "load",
        "observe",
        "pki",
        "plant",
        "pubsub",
        "revocation",
        "uaperf",
        "wire",
    ];
    let targets: Targets = text.parse().map_err(|_| wanted())?;
    for (target, _) in &targets {
        let name = target.split("::").next().unwrap_or(target);
        if !known.contains(&name) {
            return Err(wanted());
        }
    }
    Ok(Filter(Some(targets)))
}

fn wanted() -> String {
    "want off, error, warn, info, debug or trace, or levels of crates such as info,wire=trace"
        .to_owned()
}

impl Args {
    /// Begins the log, if there is to be one.
    pub fn begin(&self) -> Result<(), Failure> {
        let asked = self.log.as_ref().and_then(|it| it.0.as_ref());
        let Some(targets) = asked else {
            return match (&self.log_file, &self.log) {
                (Some(_), None) => {
                    Err(Failure::usage("--log-file: there is no log").hint("--log debug"))
                }
                _ => Ok(()),
            };
        };
        match &self.log_file {
            Some(file) => {
                written::check([(OPTION, &self.log_file)], &[])?;
                let opened =
                    File::create(file).map_err(|error| written::cannot(OPTION, file, &error))?;
                let sink = Sink {
                    file: Mutex::new(Some(opened)),
                    path: file.clone(),
                };
                self.set(targets, sink);
            }
            None => {
                screen::share();
                self.set(targets, io::stderr);
            }
        }
        Ok(())
    }

    fn set<W>(&self, targets: &Targets, writer: W)
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(writer)
            .with_ansi(false)
            .log_internal_errors(false);
        let lines: Box<dyn Layer<Registry> + Send + Sync> = match self.log_format {
            Format::Text => lines.boxed(),
            Format::Json => lines
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .boxed(),
        };
        let log = Registry::default().with(lines.with_filter(targets.clone()));
        // A second one in the same process would go on with the first one's.
        let _ = tracing::subscriber::set_global_default(log);
    }
}

/// What is said of figures meanwhile.
pub fn note() -> Option<&'static str> {
    let each_message = LevelFilter::current() == LevelFilter::TRACE;
    each_message.then_some(
        "each message was written to a log (--log), which took time of the same processors",
    )
}

const OPTION: &str = "--log-file";

/// A file, until it cannot be written any more.
struct Sink {
    file: Mutex<Option<File>>,
    path: PathBuf,
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Line {
            file: self.file.lock().unwrap_or_else(PoisonError::into_inner),
            path: &self.path,
        }
    }
}

/// A line on its way into the file.
struct Line<'a> {
    file: MutexGuard<'a, Option<File>>,
    path: &'a Path,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut *self.file
            && let Err(error) = file.write_all(bytes)
        {
            // Once, in the end: what is measured goes on.
            lost::add(written::cannot(OPTION, self.path, &error));
            *self.file = None;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_others_refused() {
        for good in [
            "debug",
            "off",
            "info,wire=trace",
            "wire::channel=trace",
            "TRACE",
        ] {
            assert!(filter(good).unwrap().0.is_some(), "{good}");
        }
        assert!(filter(" ").unwrap().0.is_none());
        for bad in ["loud", "wire=loud", "nobody=debug", "debug,="] {
            assert!(filter(bad).is_err(), "{bad}: {:?}", filter(bad));
        }
    }
}
