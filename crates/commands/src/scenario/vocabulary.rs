//! The words of scenarios: they are the options of the commands, so that there is one place where each
//! is named, explained and read.

use std::path::{Path, PathBuf};

use ::peers::Stack;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, ArgMatches};
use plan::scenario::{Key, Kind, Refusal, Scalar, Setting, Shape, Vocabulary};
use plan::{Phase, TargetSpec, Targets};
use plant::Profile;

use super::phase_work::{self, PhaseWork};
use super::placed;
use crate::failure::Failure;
use crate::fleet;
use crate::publishing::phase::SERVICES as PUBSUB;
use crate::quick;
use crate::{peers, serve};

/// Options that are about a single result and not about what is measured.
const OF_RESULTS: &[&str] = &[
    "out",
    "report",
    "csv",
    "junit",
    "live-file",
    "prometheus",
    "push",
    "push-every",
    "push-token-file",
    "plain",
    "quiet",
    "json",
    "format",
    "server-pid",
    "pcap",
    "pcap-max",
    "listen-reverse",
    "fleet",
    "orphan",
    "tag",
    "target-name",
    "note",
];
/// Files of a result, for which a phase only says that it wants them: they lie beside the result.
const BESIDE_RESULTS: &[(&str, &str)] = &[
    (
        "samples",
        "Also write one row for each request, beside the result: planned, sent, completed, status",
    ),
    (
        "hlog",
        "Also write histograms of each interval beside the result, as a log that HdrHistogram's tools read",
    ),
];
/// Options that name a file or a folder, which is looked for beside the scenario.
const NAMES_FILES: &[&str] = &[
    "password-file",
    "proxy-password-file",
    "publish-password-file",
    "service-password-file",
    "user-cert",
    "user-key",
    "user-token",
    "nodeset",
    "user-pki",
    "keys",
];
/// Options of a server that the scenario itself sees to.
const OF_SERVERS: &[&str] = &[
    "profile",
    "ledger",
    "quiet",
    "with-parent",
    "background",
    "json",
    "server-pki",
    "pcap",
    "pcap-max",
];
/// Options that are lists of one thing each are named for all of them.
const PLURALS: &[&str] = &["node", "path", "arg", "sequence"];

/// The options of the commands, for a scenario in a folder.
pub struct Commands {
    folder: PathBuf,
}

impl Commands {
    /// What a scenario refers to is looked for in the folder that it is in.
    pub fn beside(file: &Path) -> Self {
        Self {
            folder: file.parent().unwrap_or(Path::new("")).to_owned(),
        }
    }

    /// A plant file, as seen from the scenario.
    pub fn plant_file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The words of a command line that starts this plant.
    pub fn plant_words(&self, name: &str, settings: &[Setting]) -> Vec<String> {
        let mut words = match name.ends_with(".toml") {
            true => vec![self.plant_file(name).display().to_string()],
            false => vec![format!("--profile={name}")],
        };
        words.extend(settings.iter().flat_map(|it| self.beside_it(it).words()));
        words
    }
}

/// The options of a command, as keys.
fn keys(command: &clap::Command, without: &[&str]) -> Vec<Key> {
    command
        .get_arguments()
        .filter_map(|arg| {
            let option = arg.get_long()?;
            if without.contains(&option) {
                return None;
            }
            let beside = BESIDE_RESULTS.iter().find(|(name, _)| *name == option);
            if let Some((_, about)) = beside {
                return Some(Key {
                    name: option.to_owned(),
                    option: option.to_owned(),
                    shape: Shape::Flag,
                    value: String::new(),
                    about: (*about).to_owned(),
                    default: None,
                });
            }
            let shape = match arg.get_action() {
                ArgAction::SetTrue => Shape::Flag,
                ArgAction::Append => Shape::Many,
                _ => Shape::One,
            };
            let plural = if PLURALS.contains(&option) { "s" } else { "" };
            let names = arg.get_value_names().unwrap_or_default();
            let default = arg.get_default_values().first();
            Some(Key {
                name: option.replace('-', "_") + plural,
                option: option.to_owned(),
                shape,
                value: names.first().map_or("", |name| name.as_str()).to_owned(),
                about: arg
                    .get_help()
                    .map(|help| help.to_string())
                    .unwrap_or_default(),
                default: default
                    .filter(|_| shape != Shape::Flag && !arg.is_hide_default_value_set())
                    .map(|value| value.to_string_lossy().into_owned()),
            })
        })
        .collect()
}

/// What was typed, read as a command line is.
fn matched(command: clap::Command, words: Vec<String>) -> Result<ArgMatches, Refusal> {
    let name = command.get_name().to_owned();
    command
        .try_get_matches_from(std::iter::once(name).chain(words))
        .map_err(|error| refusal(&error))
}

/// What the reader of command lines says, about a key and in the words of a file.
fn refusal(error: &clap::Error) -> Refusal {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let option = |named: &str| {
        let name = named.trim_start_matches(['-', '<']);
        let end = name.find([' ', '=', '>']).unwrap_or(name.len());
        name.get(..end).unwrap_or_default().to_owned()
    };
    let arg = text(ContextKind::InvalidArg).map(|arg| option(&arg));
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    let what = match error.kind() {
        ErrorKind::ValueValidation => {
            let source = std::error::Error::source(error).map(ToString::to_string);
            why(&value, &source.unwrap_or_default())
        }
        ErrorKind::InvalidValue => {
            let valid = text(ContextKind::ValidValue).unwrap_or_default();
            format!("{value:?} (want {valid})")
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).map(|other| key(&option(&other)));
            let other = other.unwrap_or_else(|| "another key".to_owned());
            format!("does not go with {other} (want one of them)")
        }
        ErrorKind::MissingRequiredArgument => "is missing".to_owned(),
        _ => error.kind().to_string(),
    };
    let arg = arg.or_else(|| match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(all)) => all.first().map(|first| option(first)),
        _ => None,
    });
    // What is there is found by its option; what is missing is named as it would be written.
    let arg = match error.kind() {
        ErrorKind::MissingRequiredArgument => arg.map(|it| match PLURALS.contains(&it.as_str()) {
            true => it + "s",
            false => it,
        }),
        _ => arg,
    };
    Refusal { option: arg, what }
}

/// An option as a key.
fn key(option: &str) -> String {
    option.replace('-', "_")
}

/// Why a value is none, with what is wanted.
fn why(value: &str, source: &str) -> String {
    if let Some((_, range)) = source.split_once(" is not in ") {
        return format!(
            "{value} (want {})",
            range
                .replacen("..=", " to ", 1)
                .replacen("..", " or more", 1)
        );
    }
    let number = [
        "invalid digit found in string",
        "cannot parse integer from empty string",
    ];
    if number.contains(&source) {
        return format!("{value:?} (want a whole number)");
    }
    if source.starts_with("number too") {
        return format!("{value} (want a number that is not as large)");
    }
    match source.contains(value) {
        true => source.to_owned(),
        false => format!("{value:?}: {source}"),
    }
}

/// A failure of the program, about a key if it begins with its option.
pub fn refused(error: &anyhow::Error) -> Refusal {
    let text = error.to_string();
    let Some(rest) = text.strip_prefix("--") else {
        return Refusal {
            option: None,
            what: text,
        };
    };
    let end = rest.find([' ', ':', ',']).unwrap_or(rest.len());
    let (option, what) = rest.split_at(end);
    if what.starts_with(',') {
        // About several of them alike.
        return Refusal {
            option: None,
            what: text,
        };
    }
    let what = what.trim_start_matches([':', ' ']);
    Refusal {
        option: Some(option.to_owned()),
        what: match what.split_once(": want ") {
            Some((value, want)) => format!("{value} (want {want})"),
            None => what.to_owned(),
        },
    }
}

impl Commands {
    /// Files are looked for beside the scenario.
    fn beside_it(&self, setting: &Setting) -> Setting {
        let mut setting = setting.clone();
        for value in &mut setting.values {
            let Scalar::Text(text) = value else { continue };
            // Keys may be those of a key service, at a URL.
            let names_file = NAMES_FILES.contains(&setting.option.as_str());
            if names_file && !text.contains("://") {
                *text = self.folder.join(&*text).display().to_string();
            } else if let Some(file) = text.strip_prefix('@') {
                *text = format!("@{}", self.folder.join(file).display());
            }
        }
        setting
    }

    /// Servers, with lists of them in files beside the scenario.
    pub fn resolved(&self, specs: &[String]) -> Result<Targets, String> {
        let spec = |spec: &String| match spec.strip_prefix('@') {
            Some(file) => format!("@{}", self.folder.join(file).display()).parse(),
            None => spec.parse(),
        };
        let specs: Result<Vec<TargetSpec>, _> = specs.iter().map(spec).collect();
        let specs = specs.map_err(|error| error.to_string())?;
        Targets::resolve(&specs, |file| std::fs::read_to_string(file))
            .map_err(|error| error.to_string())
    }

    /// The options of a peer's server, as typed.
    pub fn peer(&self, name: &str, settings: &[Setting]) -> anyhow::Result<ArgMatches> {
        peer(name, settings).map_err(|refusal| Failure::usage(refusal.what).into())
    }

    /// The words that have what a phase wants beside its result written into files with this stem.
    pub fn beside_result(settings: &[Setting], stem: &Path) -> Vec<String> {
        let wanted = |option: &str| {
            let on = |it: &&Setting| it.option == option && !it.words().is_empty();
            settings.iter().any(|it| on(&it))
        };
        [("samples", "samples.csv"), ("hlog", "hlog")]
            .iter()
            .filter(|(option, _)| wanted(option))
            .map(|(option, ending)| format!("--{option}={}.{ending}", stem.display()))
            .collect()
    }

    /// What a phase asks for, in words that go beyond its settings: servers, and what is about results.
    pub fn asked(
        &self,
        service: &str,
        settings: &[Setting],
        more: &[String],
    ) -> Result<PhaseWork, Refusal> {
        let command = phase_work::definition(service).ok_or_else(|| Refusal {
            option: None,
            what: format!("there is no service {service:?}"),
        })?;
        let about_it = |it: &&Setting| !BESIDE_RESULTS.iter().any(|(name, _)| *name == it.option);
        let settings = settings.iter().filter(about_it);
        let words = settings.flat_map(|setting| self.beside_it(setting).words());
        let words = words.chain(more.iter().cloned()).collect();
        let typed = matched(command, words)?;
        phase_work::asked(service, &typed).map_err(|error| refused(&error))
    }
}

/// What starts a peer, as typed.
fn peer(name: &str, settings: &[Setting]) -> Result<ArgMatches, Refusal> {
    let words = std::iter::once(name.to_owned()).chain(settings.iter().flat_map(Setting::words));
    matched(peers::start_definition(), words.collect())
}

/// A server that is not known yet, where the reader of command lines wants one.
pub const SOME_SERVER: &str = "opc.tcp://localhost:4840";

impl Vocabulary for Commands {
    fn services(&self) -> Vec<String> {
        let all = quick::SERVICES.iter().copied().chain(PUBSUB);
        all.map(str::to_owned).collect()
    }

    fn needs_server(&self, service: &str) -> bool {
        !PUBSUB.contains(&service)
    }

    fn shared(&self) -> Vec<String> {
        quick::SERVICES.iter().map(|it| (*it).to_owned()).collect()
    }

    fn keys(&self, service: &str) -> Vec<Key> {
        let command = phase_work::definition(service);
        command.map_or_else(Vec::new, |command| keys(&command, OF_RESULTS))
    }

    fn start_keys(&self, kind: Kind) -> Vec<Key> {
        let command = match kind {
            Kind::Plant => serve::definition(),
            Kind::Peer => peers::start_definition(),
        };
        keys(&command, OF_SERVERS)
    }

    fn startable(&self, kind: Kind) -> Vec<String> {
        match kind {
            Kind::Plant => Profile::all().map(|(name, _)| name.to_owned()).collect(),
            Kind::Peer => Stack::all()
                .iter()
                .map(|stack| stack.name.to_owned())
                .collect(),
        }
    }

    fn start(&self, kind: Kind, name: &str, settings: &[Setting]) -> Result<(), Refusal> {
        match kind {
            Kind::Plant => {
                let typed = matched(serve::definition(), self.plant_words(name, settings))?;
                serve::check(&typed).map_err(|error| refused(&error))
            }
            Kind::Peer => peer(name, settings).map(drop),
        }
    }

    fn place(&self, kind: Kind, name: &str, settings: &[Setting], on: &str) -> Result<(), Refusal> {
        placed::check(kind, name, settings, on, NAMES_FILES)
    }

    fn targets(&self, specs: &[String]) -> Result<usize, String> {
        self.resolved(specs).map(|targets| targets.len())
    }

    fn phase(&self, service: &str, settings: &[Setting], servers: usize) -> Result<Phase, Refusal> {
        let server = self.needs_server(service).then(|| SOME_SERVER.to_owned());
        let says = |option: &str| {
            let mut all = settings.iter();
            all.any(|it| it.option == option && !it.words().is_empty())
        };
        // Where they go is not known yet, so that the command itself would not see them.
        if says("fleet") && says("samples") {
            return Err(Refusal {
                option: Some("samples".to_owned()),
                what: fleet::ALONE.to_owned(),
            });
        }
        self.asked(service, settings, server.as_slice())?
            .phase(servers)
            .map_err(|error| refused(&error))
    }
}
