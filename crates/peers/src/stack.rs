//! What a stack is: a value that says everything needed to install and start it.

use std::path::PathBuf;

use crate::security::Security;
use crate::{place, process};

/// One vendor's implementation at one version, with our server and client on top of it.
#[derive(Debug)]
pub struct Stack {
    /// The name used on command lines and in folder names: `asyncua`.
    pub name: &'static str,
    /// The name people know it by, when it is another one.
    pub title: &'static str,
    /// The pinned version.
    pub version: &'static str,
    /// The language that it is written in.
    pub language: &'static str,
    /// Programs that must be there to build or run it.
    pub tools: &'static [&'static Tool],
    /// Our sources, unpacked before the first step.
    pub sources: &'static [Source],
    /// How to install it, in order, in its folder. Each must be repeatable.
    pub steps: &'static [InstallStep],
    /// The command line of the server, without the arguments that every peer takes.
    pub server: &'static [&'static str],
    /// The command line of the client, likewise.
    pub client: &'static [&'static str],
    /// The command line of its publisher and subscriber; empty where it has no PubSub.
    pub pubsub: &'static [&'static str],
    /// What its server offers.
    pub offers: Security,
    /// What its client can use.
    pub speaks: Security,
    /// Where it differs from the specification or from the others.
    pub quirks: &'static [Quirk],
}

/// A file of ours that belongs to a stack, as it was when this crate was built.
#[derive(Debug)]
pub struct Source {
    /// Where it goes, relative to the stack's folder, with `/` between its parts.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// One command of an installation.
#[derive(Debug)]
pub struct InstallStep {
    /// What it does, for people: `install asyncua 2.1.0`.
    pub what: &'static str,
    /// The command. Words may contain `{dir}` (the stack's folder), `{scripts}` (where a Python
    /// environment keeps its programs) and `{exe}` (the ending of a program's name).
    pub command: &'static [&'static str],
    /// Environment variables to set; values are expanded like words.
    pub env: &'static [(&'static str, &'static str)],
}

/// A program that must be there before a stack can be installed or run.
#[derive(Debug)]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// A command that succeeds when it is there.
    pub check: &'static [&'static str],
    /// Whether servers and clients need it too, or only the installation.
    pub when_running: bool,
    /// What to type to get it.
    pub cure: &'static str,
}

impl Tool {
    /// Runs the check: what it printed first, or what went wrong.
    pub fn check(&self) -> Result<String, String> {
        process::first_line_of(self.check)
    }

    fn is_there(&self) -> bool {
        self.check().is_ok()
    }

    fn is_on_path(&self) -> bool {
        self.check
            .first()
            .is_some_and(|program| process::on_path(program).is_some())
    }
}

/// Behaviour that someone who measures or tests against a stack should know.
#[derive(Debug)]
pub struct Quirk {
    /// What it does.
    pub what: &'static str,
    /// The clause of the specification that decides, where there is one.
    pub clause: Option<&'static str>,
}

/// How far a stack is from being usable.
#[derive(Debug)]
pub enum StackState {
    /// These tools are not there.
    Missing(Vec<&'static Tool>),
    /// Nothing is in the way of installing it.
    NotInstalled,
    /// Servers and clients can be started.
    Installed,
    /// The last attempt to install it failed.
    Broken {
        /// The step that failed and why.
        reason: String,
        /// What it printed.
        log: PathBuf,
    },
}

impl Stack {
    /// What its tools say of themselves, compilers and runtimes with their versions; of those that are there.
    pub fn tools_here(&self) -> Vec<String> {
        let all = self.tools.iter();
        all.filter_map(|tool| Some(format!("{}: {}", tool.name, tool.check().ok()?)))
            .collect()
    }

    /// The folder that it is installed in.
    pub fn dir(&self) -> PathBuf {
        place::home().join(format!("{}-{}", self.name, self.version))
    }

    /// Looks at the disk and, where needed, for the tools.
    pub fn state(&self) -> StackState {
        if self.is_installed() {
            // A tool that is only found by its name is good enough here: this is asked
            // before each start.
            let missing = self.tools_where(|tool| tool.when_running && !tool.is_on_path());
            return match missing.is_empty() {
                true => StackState::Installed,
                false => StackState::Missing(missing),
            };
        }
        let missing = self.tools_where(|tool| !tool.is_there());
        if !missing.is_empty() {
            return StackState::Missing(missing);
        }
        match self.failure() {
            Some(reason) => StackState::Broken {
                reason,
                log: self.install_log(),
            },
            None => StackState::NotInstalled,
        }
    }

    fn tools_where(&self, wanted: impl Fn(&Tool) -> bool) -> Vec<&'static Tool> {
        let tools = self.tools.iter().copied();
        tools.filter(|tool| wanted(tool)).collect()
    }

    /// A number that changes with the embedded sources and the steps, so that an installation
    /// made from older ones is noticed. FNV-1a: the same in every build of this crate.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        add(self.version);
        for source in self.sources {
            add(source.path);
            add(source.text);
        }
        for step in self.steps {
            step.command.iter().for_each(|word| add(word));
            step.env.iter().for_each(|(name, value)| {
                add(name);
                add(value);
            });
        }
        format!("{hash:016x}")
    }

    /// Replaces the placeholders of one word of a command.
    pub(crate) fn expand(&self, word: &str) -> String {
        let (scripts, exe) = match platform::System::IS_WINDOWS {
            true => ("Scripts", ".exe"),
            false => ("bin", ""),
        };
        word.replace("{dir}", &self.dir().to_string_lossy())
            .replace("{scripts}", scripts)
            .replace("{exe}", exe)
    }
}
