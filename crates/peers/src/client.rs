//! A peer's client: run once against a server with the bench address space, it says what it saw.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use platform::child;
use serde::{Deserialize, Serialize};

use crate::security::{Mode, Policy};
use crate::server::FirstRun;
use crate::stack::{Stack, StackState};
use crate::{place, process};

/// The steps that a client can be asked for, in their order.
pub const STEPS: &[&str] = &["connect", "read", "write", "browse", "call", "subscribe"];

/// The steps that judge a server, done only when named. python-opcua's client has none of them.
pub const JUDGING: &[&str] = &["dump", "watch", "cut", "keys"];

/// How a client connects and what it does.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The security policy.
    pub policy: Policy,
    /// The message security mode.
    pub mode: Mode,
    /// User name and password.
    pub user: Option<(String, String)>,
    /// User certificate (DER) and key (PEM).
    pub user_certificate: Option<(PathBuf, PathBuf)>,
    /// Application certificate (DER) and key (PEM), in place of its own.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Its certificates; the stack's own folder when not given.
    pub pki: Option<PathBuf>,
    /// The steps to do; all of [`STEPS`] when empty.
    pub steps: Vec<&'static str>,
    /// Where a judging step writes what it saw.
    pub out: Option<PathBuf>,
    /// How many updates the steps `watch` and `cut` wait for.
    pub updates: u32,
    /// The port of loopback that the step `cut` connects to when its connection may be cut.
    pub cut: Option<u16>,
    /// The port of loopback at which it awaits the server, which dials it (async-opcua).
    pub listen_reverse: Option<u16>,
    /// How long the whole may take.
    pub patience: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            policy: Policy::None,
            mode: Mode::None,
            user: None,
            user_certificate: None,
            certificate: None,
            pki: None,
            steps: Vec::new(),
            out: None,
            updates: 50,
            cut: None,
            listen_reverse: None,
            // Longer than clients give themselves, so that they can say what they waited for.
            patience: Duration::from_secs(75),
        }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It has to be installed first.
    #[error("{0} is not installed; try: uaperf peers install {0}")]
    NotInstalled(&'static str),
    /// It did not end by itself.
    #[error("{stack}'s client did not end within {} s\n{tail}", .after.as_secs())]
    Silent {
        /// The stack.
        stack: &'static str,
        /// How long it was waited for.
        after: Duration,
        /// The end of its log.
        tail: String,
    },
    /// Its last line was not a report.
    #[error("{stack}'s client ended with {end} and printed no report ({reason}): {line}\n{tail}")]
    NoReport {
        /// The stack.
        stack: &'static str,
        /// Its exit status.
        end: String,
        /// What is wrong with the last line.
        reason: String,
        /// The last line.
        line: String,
        /// The end of its log.
        tail: String,
    },
    /// The system refused something.
    #[error("{stack}'s client: {source}")]
    System {
        /// The stack.
        stack: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// What a client saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientReport {
    /// The stack.
    pub stack: String,
    /// The version that ran, as it says itself.
    pub version: String,
    /// What came of each step that was asked for.
    pub steps: Steps,
    /// The first thing that went wrong.
    pub error: Option<String>,
}

/// The steps of a report; one that was not asked for is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// Channel, session, activation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Connect>,
    /// All bench variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Read>,
    /// A Double and an Int32, read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Outcome>,
    /// From Objects down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browse: Option<Browse>,
    /// The method `echo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// The counter of 100 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<Subscribe>,
    /// The whole address space, to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dump: Option<Outcome>,
    /// All scalars, to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch: Option<Outcome>,
    /// The counter of 100 ms over a cut of the connection, to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Outcome>,
    /// The keys of a security group of PubSub, to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Outcome>,
}

/// Whether a step was as expected, and if not, why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// As expected.
    pub ok: bool,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The outcome of connecting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connect {
    /// Whether it went well.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Milliseconds until the session was activated.
    #[serde(default)]
    pub ms: Option<f64>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// Whether it went well.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Scalars by `i=…`; nothing where a value was null.
    #[serde(default)]
    pub values: BTreeMap<String, Option<f64>>,
    /// Arrays by `i=…`: length, and sum of the elements modulo 65536.
    #[serde(default)]
    pub arrays: BTreeMap<String, (u64, u64)>,
}

/// What was found by browsing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Browse {
    /// Whether it went well.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Distinct nodes of `urn:bench`.
    #[serde(default)]
    pub count: Option<u64>,
}

/// What the method gave back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Whether it went well.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The output argument.
    #[serde(default)]
    pub result: Option<f64>,
}

/// What the subscription brought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subscribe {
    /// Whether it went well.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How many values came.
    #[serde(default)]
    pub notifications: u64,
    /// The values, in the order in which they came.
    #[serde(default)]
    pub values: Vec<f64>,
}

impl Steps {
    /// The outcomes of the steps that were asked for, by name and in order.
    pub fn outcomes(&self) -> Vec<(&'static str, &Outcome)> {
        let all = [
            self.connect.as_ref().map(|s| &s.outcome),
            self.read.as_ref().map(|s| &s.outcome),
            self.write.as_ref(),
            self.browse.as_ref().map(|s| &s.outcome),
            self.call.as_ref().map(|s| &s.outcome),
            self.subscribe.as_ref().map(|s| &s.outcome),
            self.dump.as_ref(),
            self.watch.as_ref(),
            self.cut.as_ref(),
            self.keys.as_ref(),
        ];
        let named = STEPS.iter().chain(JUDGING).copied().zip(all);
        named.filter_map(|(name, o)| Some((name, o?))).collect()
    }
}

impl ClientReport {
    /// Whether every step that was asked for went well.
    pub fn all_ok(&self) -> bool {
        self.error.is_none() && self.steps.outcomes().iter().all(|(_, o)| o.ok)
    }
}

/// A peer's client. It is a process that lives for one [`Client::run`].
#[derive(Debug)]
pub struct Client;

impl Client {
    /// Runs a stack's client against a server. A report with failed steps is a report: an error
    /// is only what left none.
    pub fn run(
        stack: &'static Stack,
        url: &str,
        options: &ClientOptions,
    ) -> Result<ClientReport, ClientError> {
        if !matches!(stack.state(), StackState::Installed) {
            return Err(ClientError::NotInstalled(stack.name));
        }
        let name = stack.name;
        Self::run_installed(stack, url, options).map_err(|source| ClientError::System {
            stack: name,
            source,
        })?
    }

    fn run_installed(
        stack: &'static Stack,
        url: &str,
        options: &ClientOptions,
    ) -> io::Result<Result<ClientReport, ClientError>> {
        let pki = match &options.pki {
            Some(dir) => dir.clone(),
            None => stack.dir().join("pki").join("client"),
        };
        fs::create_dir_all(&pki)?;
        let pki = std::path::absolute(pki)?;
        let run = place::new_run(&format!("{}-client", stack.name))?;
        let (out, log) = (run.join("report"), run.join("log"));
        // Without security most clients make no certificate, so nothing is learnt from that.
        let first = match options.policy {
            Policy::None => None,
            _ => Some(FirstRun::of(&pki)?),
        };
        let mut child = process::command(process::tied(arguments(stack, url, options, &pki)))
            .current_dir(&run)
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&log)?)
            .spawn()?;
        let Some(status) = child::wait(&mut child, options.patience)? else {
            child::end(&mut child, Duration::from_secs(1));
            return Ok(Err(ClientError::Silent {
                stack: stack.name,
                after: options.patience,
                tail: process::tail(&log, 15),
            }));
        };
        if let Some(first) = first {
            first.done();
        }
        let text = String::from_utf8_lossy(&fs::read(&out)?).into_owned();
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        let line = line.unwrap_or_default();
        Ok(
            serde_json::from_str(line).map_err(|e| ClientError::NoReport {
                stack: stack.name,
                end: status.to_string(),
                reason: e.to_string(),
                line: line.chars().take(300).collect(),
                tail: process::tail(&log, 15),
            }),
        )
    }
}

fn arguments(
    stack: &Stack,
    url: &str,
    options: &ClientOptions,
    pki: &std::path::Path,
) -> Vec<String> {
    let path = |p: &PathBuf| p.to_string_lossy().into_owned();
    let mut words: Vec<String> = stack.client.iter().map(|word| stack.expand(word)).collect();
    words.push(url.to_owned());
    let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
    add("--pki", pki.to_string_lossy().into_owned());
    add("--policy", options.policy.name().into());
    add("--mode", options.mode.name().into());
    if let Some((user, password)) = &options.user {
        add("--user", user.clone());
        add("--password", password.clone());
    }
    if let Some((cert, key)) = &options.certificate {
        add("--cert", path(cert));
        add("--key", path(key));
    }
    if let Some((cert, key)) = &options.user_certificate {
        add("--user-cert", path(cert));
        add("--user-key", path(key));
    }
    if !options.steps.is_empty() {
        add("--do", options.steps.join(","));
    }
    if let Some(out) = &options.out {
        add("--out", path(out));
        add("--updates", options.updates.to_string());
    }
    if let Some(port) = options.cut {
        add("--cut", port.to_string());
    }
    if let Some(port) = options.listen_reverse {
        add("--listen-reverse", port.to_string());
    }
    words
}
