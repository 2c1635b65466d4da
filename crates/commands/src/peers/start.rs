//! Start a peer's server: until Ctrl-C, or in the background.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::peers::{Server, StackState, StartError, StartOptions};

use crate::failure::Failure;
use crate::screen::{self, tell};
use plan::unit::duration;
use serde_json::json;

/// Start a server with the bench nodes
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A name as in `uaperf peers list`; installed first when it is not
    name: String,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long)]
    port: Option<u16>,
    /// How often i=1000..1999 change, such as 250us or 100ms [default: they are constant]
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    update: Option<Duration>,
    /// CPUs that it may run on, such as 0 or 2-3 (Linux)
    #[arg(long, value_name = "CPUS")]
    pin: Option<String>,
    /// Trust only the client certificates in trusted/certs of its certificate folder
    #[arg(long)]
    strict: bool,
    /// Folder of the server's certificates [default: one of its own]
    #[arg(long, value_name = "DIR")]
    server_pki: Option<PathBuf>,
    /// A variable of its environment, such as JAVA_TOOL_OPTIONS=-Xmx512m (fixed memory for Java) or GOGC=50; may be given
    /// several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Leave it running; end it with `uaperf peers stop` (Linux)
    #[arg(long)]
    background: bool,
    /// Write JSON, once it is ready
    #[arg(long)]
    json: bool,
}

impl Args {
    /// How the server is to be started.
    pub fn options(self) -> StartOptions {
        StartOptions {
            port: self.port,
            update: self.update,
            pin: self.pin,
            pki: self.server_pki,
            strict: self.strict,
            environment: self.env,
            ..StartOptions::default()
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stack = super::named(&args.name)?;
    if !matches!(stack.state(), StackState::Installed) {
        let name = stack.name;
        stack
            .install(&mut |event| tell!("{name}: {event}"))
            .map_err(|error| {
                Failure::new(error.to_string()).hint(format!("uaperf peers doctor {name}"))
            })?;
    }
    let (background, as_json) = (args.background, args.json);
    let options = args.options();
    if background {
        return in_the_background(stack, &options, as_json);
    }
    let mut server = Server::start(stack, &options).map_err(explained)?;
    ready(stack, server.url(), server.log(), as_json)?;
    tell!(
        "{} {} is ready after {:.1} s; namespace urn:bench, user bench, password bench; log {}; Ctrl-C ends it",
        stack.name,
        stack.version,
        server.start_time().as_secs_f64(),
        server.log().display(),
    );
    // Ctrl-C ends this program, and with it the pipe that the server lives by.
    while server.is_running() {
        std::thread::sleep(Duration::from_millis(200));
    }
    Err(Failure::new(format!("{} ended by itself", stack.name))
        .hint(format!("read its log {}", server.log().display()))
        .into())
}

fn in_the_background(
    stack: &'static ::peers::Stack,
    options: &StartOptions,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if !platform::System::IS_LINUX {
        return Err(Failure::usage("--background works on Linux only")
            .hint("omit it and keep this terminal open")
            .into());
    }
    let running = ::peers::background::start(stack, options).map_err(explained)?;
    ready(stack, &running.url, &running.log, as_json)?;
    tell!(
        "{} {} runs as process {}; log {}; to end it: uaperf peers stop {}",
        stack.name,
        stack.version,
        running.pid,
        running.log.display(),
        stack.name,
    );
    Ok(ExitCode::SUCCESS)
}

/// Prints where a server is reached.
fn ready(
    stack: &::peers::Stack,
    url: impl std::fmt::Display,
    log: &std::path::Path,
    as_json: bool,
) -> std::io::Result<()> {
    let mut out = screen::out();
    match as_json {
        true => screen::json(
            &mut out,
            &json!({
                "name": stack.name,
                "version": stack.version,
                "url": url.to_string(),
                "log": log,
            }),
        ),
        false => writeln!(out, "{url}"),
    }
}

/// What happened, and what to type next.
pub fn explained(error: StartError) -> anyhow::Error {
    let hint = match &error {
        StartError::NotInstalled(name) => format!("uaperf peers install {name}"),
        StartError::NoTaskset(_) => "start it without --pin".to_owned(),
        StartError::Ended { stack, .. }
        | StartError::Silent { stack, .. }
        | StartError::System { stack, .. } => format!("uaperf peers doctor {stack} --try"),
    };
    Failure::new(error.to_string()).hint(hint).into()
}

/// An interval in which something changes.
fn interval(text: &str) -> Result<Duration, String> {
    match duration::parse(text).map_err(|error| error.to_string())? {
        Duration::ZERO => Err(format!("bad interval {text:?}, want one above zero")),
        interval => Ok(interval),
    }
}

/// A variable of an environment.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("bad variable {text:?}, want NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_a_name_and_a_value_which_may_have_signs_of_its_own() {
        let java = variable("JAVA_TOOL_OPTIONS=-Xms64m -Dx=1");
        let wanted = ("JAVA_TOOL_OPTIONS".to_owned(), "-Xms64m -Dx=1".to_owned());
        assert_eq!(java, Ok(wanted));
        assert_eq!(variable("EMPTY="), Ok(("EMPTY".to_owned(), String::new())));
        for bad in ["", "NAME", "=value", "A=\0"] {
            assert!(variable(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_interval_is_a_duration_above_zero() {
        assert_eq!(interval("250us"), Ok(Duration::from_micros(250)));
        for bad in ["0ms", "5", ""] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
