//! `uaperf plant`: plant files and profiles; and which of them a server is to have.

mod from;

use std::io::{IsTerminal, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use plan::unit::duration;
use plant::file::FileError;
use plant::{PasswordHash, Plant, Profile};
use serde_json::json;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::global::Global;
use crate::screen::{self, counted};

/// Check plant files, make one from a server, show the profiles as files to start from
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say whether a file is a plant and what is in it; else which line and field is wrong
    Check {
        /// The plant file
        file: PathBuf,
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the file of a profile, or the names of all of them
    Show {
        /// A profile
        profile: Option<String>,
        /// Write JSON: the names of all, or the text of the file
        #[arg(long)]
        json: bool,
    },
    From(Box<from::Args>),
    /// Make the password_hash of a user, from UAPERF_PASSWORD or typed in
    Password,
}

/// Carries out `uaperf plant`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let mut out = screen::out();
    match args.command {
        Command::Check { file, json } => {
            let plant = Plant::read(&file).map_err(unusable)?;
            let methods = plant.namespaces.iter().map(|space| space.methods.len());
            let (sources, per_second) = plant.events();
            if json {
                let counts = json!({
                    "file": file,
                    "name": plant.name,
                    "variables": plant.variables(),
                    "methods": methods.sum::<usize>(),
                    "namespaces": plant.namespaces.len(),
                    "users": plant.users.len(),
                    "faults": plant.faults.len(),
                    "event_sources": sources,
                    "events_per_s": per_second,
                });
                screen::json(&mut out, &counts)?;
                return Ok(ExitCode::SUCCESS);
            }
            let mut parts = vec![
                counted(plant.variables(), "variable"),
                counted(methods.sum::<usize>(), "method"),
                counted(plant.namespaces.len(), "namespace"),
                counted(plant.users.len(), "user"),
                counted(plant.faults.len(), "fault"),
            ];
            if sources > 0 {
                let sources = counted(sources, "source");
                parts.push(format!("{sources} of {per_second} events/s"));
            }
            writeln!(out, "{}: {}", plant.name, parts.join(", "))?;
        }
        Command::Show {
            profile: None,
            json: true,
        } => {
            let all = Profile::all().map(|(name, about)| json!({"name": name, "about": about}));
            screen::json(&mut out, &all.collect::<Vec<_>>())?;
        }
        Command::Show { profile: None, .. } => {
            for (name, about) in Profile::all() {
                writeln!(out, "{name:<16} {about}")?;
            }
        }
        Command::Show {
            profile: Some(name),
            json,
        } => {
            let text = Profile::text(&name).ok_or_else(|| unknown(&name))?;
            match json {
                true => screen::json(&mut out, &json!({"name": name, "text": text}))?,
                false => out.write_all(text.as_bytes())?,
            }
        }
        Command::From(args) => return from::run(*args, global),
        Command::Password => {
            let password = password()?;
            let mut salt = [0; 16];
            load::transport::random()(&mut salt);
            writeln!(
                out,
                "{}",
                PasswordHash::new(password.as_bytes(), salt, ROUNDS)
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// As many as a password that is worth something deserves; a session then costs some 100 ms.
const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(599_999);

fn password() -> anyhow::Result<Zeroizing<String>> {
    if let Ok(password) = std::env::var("UAPERF_PASSWORD") {
        return Ok(password.into());
    }
    if !std::io::stdin().is_terminal() {
        let told = "no password: UAPERF_PASSWORD is not set, and there is nobody to ask";
        return Err(Failure::usage(told).into());
    }
    Ok(rpassword::prompt_password("Password: ")?.into())
}

/// What is wrong with a file is wrong usage; one that is not there, too.
fn unusable(error: FileError) -> Failure {
    Failure::usage(error.to_string())
}

fn unknown(name: &str) -> Failure {
    let known: Vec<_> = Profile::all().map(|(name, _)| name).collect();
    let known = known.join(", ");
    Failure::usage(format!(
        "there is no profile {name:?} (want one of {known})"
    ))
}

/// Which plant a server is to have, and what of it is to be another way.
#[derive(Debug, clap::Args)]
pub struct Choice {
    /// A plant file; `uaperf plant show` prints some to start from
    #[arg(value_name = "PLANT.toml", conflicts_with = "profile")]
    file: Option<PathBuf>,
    /// A plant that comes with the program; `uaperf plant show` lists them
    #[arg(long, value_name = "NAME", default_value = "bench")]
    profile: String,
    /// How often its signals change: those without an interval of their own, or else all
    #[arg(long, value_name = "DURATION", value_parser = update)]
    update: Option<Duration>,
    /// Threads that share the work of each update loop
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=255))]
    update_threads: Option<u16>,
    /// Number of signals: those of the first group that has a pattern and open ids
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=50_000_000))]
    signals: Option<u64>,
}

fn update(text: &str) -> Result<Duration, String> {
    let update = duration::parse(text).map_err(|error| error.to_string())?;
    match update < Duration::from_millis(1) {
        true => Err(format!("{text:?} is too short (want 1ms or more)")),
        false => Ok(update),
    }
}

impl Choice {
    /// The plant.
    pub fn plant(&self) -> anyhow::Result<Plant> {
        let mut plant = match &self.file {
            Some(file) => Plant::read(file).map_err(unusable)?,
            None => Profile::named(&self.profile).ok_or_else(|| unknown(&self.profile))??,
        };
        if let Some(update) = self.update {
            plant.update_each(update);
        }
        if let Some(threads) = self.update_threads {
            plant.update_threads = threads.into();
        }
        if let Some(signals) = self.signals
            && !plant.resize(signals)
        {
            let told = "--signals has nothing to make more of: want a group with a pattern, and ids \
                        such as \"i=1000..\" or a name with {n}";
            return Err(Failure::usage(told).into());
        }
        Ok(plant)
    }
}
