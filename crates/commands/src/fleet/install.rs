//! `uaperf fleet install`: this program, copied to hosts that ssh reaches.

use std::fs::File;
use std::io::Write as _;
use std::process::{ExitCode, Stdio};

use judge::Exit;

use super::VERSION;
use super::carrier;
use super::spec::{Spec, Way, places};
use crate::failure::Failure;
use crate::screen::{self, tell};

/// Copy this program to hosts of a fleet, where --fleet, --observe and the plants of scenarios find it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to: ssh:host:/path/to/uaperf, ssh:user@host:/path/to/uaperf; the same names it elsewhere
    #[arg(value_name = "SPEC", required = true, value_delimiter = ',')]
    specs: Vec<Spec>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A host needs nothing but ssh, and mkdir, test, dd, chmod and mv. It has to be of this machine's kind. A program that is there is
replaced; one that runs goes on.

Examples:
  uaperf fleet install ssh:lab@plc1:/opt/uaperf,ssh:lab@plc2:/opt/uaperf
  uaperf fleet check ssh:lab@plc1:/opt/uaperf
  uaperf read opc.tcp://plc1 -n i=2258 --observe ssh:lab@plc1:/opt/uaperf:server";

/// Carries out `uaperf fleet install`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut there = Vec::new();
    for place in places(&args.specs) {
        match place.way {
            Way::Ssh {
                to,
                program: Some(path),
            } => there.push((to, path)),
            _ => {
                let what = format!(
                    "{}: want ssh:host:/path/to/uaperf: where it is to be",
                    place.name
                );
                return Err(Failure::usage(what).into());
            }
        }
    }
    let mut code = ExitCode::SUCCESS;
    let mut done = Vec::new();
    for (to, path) in there {
        match install(&to, &path) {
            Ok(()) if args.json => {
                done.push(serde_json::json!({"host": to, "path": path, "version": VERSION}));
            }
            Ok(()) => writeln!(screen::out(), "ssh:{to}:{path}: uaperf {VERSION}")?,
            Err(why) => {
                tell!("error: ssh:{to}:{path}: {why}");
                code = ExitCode::from(Exit::Nothing);
            }
        }
    }
    if args.json {
        screen::json(&mut screen::out(), &done)?;
    }
    Ok(code)
}

/// Copies it, tries it, and puts it where it is to be.
fn install(to: &str, path: &str) -> Result<(), String> {
    let part = format!("{path}.part");
    if let Some((folder, _)) = path.rsplit_once('/').filter(|it| !it.0.is_empty()) {
        at(to, "mkdir", &["-p", folder], Stdio::null())?;
    }
    if at(to, "test", &["-d", path], Stdio::null()).is_ok() {
        return Err("that is a folder there (want the path of the program)".to_owned());
    }
    let own = std::env::current_exe().and_then(File::open);
    let own = own.map_err(|error| format!("this program cannot be read: {error}"))?;
    let copied = at(to, "dd", &[&format!("of={part}"), "bs=1048576"], own.into())
        .and_then(|_| at(to, "chmod", &["755", &part], Stdio::null()))
        .and_then(|_| {
            let tried = at(to, &part, &["--version"], Stdio::null());
            tried
                .map_err(|why| format!("it does not run there ({why}); this one is for {}", kind()))
        })
        .and_then(|_| at(to, "mv", &["-f", &part, path], Stdio::null()));
    if copied.is_err() {
        // It may not be there.
        let _ = at(to, "rm", &["-f", &part], Stdio::null());
    }
    copied.map(drop)
}

/// What machines this program is for.
fn kind() -> String {
    format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// Has a host do something, and gives what it said.
fn at(to: &str, program: &str, words: &[&str], input: Stdio) -> Result<String, String> {
    let way = Way::Ssh {
        to: to.to_owned(),
        program: Some(program.to_owned()),
    };
    let command = carrier::program(&way, words);
    let mut command = command.map_err(|error| error.to_string())?;
    let done = command.stdin(input).output();
    let done = done.map_err(|error| format!("ssh cannot be started: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            let last = said.lines().rfind(|it| !it.trim().is_empty());
            Err(match last {
                Some(last) => screen::plain(last.trim()),
                None => format!("{program} failed there: {}", done.status),
            })
        }
    }
}
