//! The agent's side of a broker: it waits for controllers under its tags. For each load it starts `uaperf agent --pipe`, as an
//! ssh server would, and carries what both say; it takes one at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::{Client, Message};
use fleet::line::Arrived;
use futures_util::StreamExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::login::Login;
use super::pump::{Out, pump};
use super::{Claim, Claimed, WaitingAgent, runtime};
use crate::failure::Failure;
use crate::fleet::result_folder;
use crate::fleet::spec::{is_name, is_word};
use crate::screen::tell;
use crate::settings;

/// Where it waits.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "outpost")]
pub struct Args {
    /// Wait at this broker, nats://HOST:PORT or tls://HOST:PORT, for controllers with --fleet nats:TAG; secrets come from the
    /// environment (docs/fleet.md)
    #[arg(long, value_name = "URL", conflicts_with = "pipe", requires_all = ["tag", "allow_from"])]
    pub nats: Option<String>,
    /// Wait under these names
    #[arg(long, value_name = "TAG", value_delimiter = ',', requires = "nats", value_parser = tag)]
    tag: Vec<String>,
    /// Be one of these, whom other tenants of the broker do not hear [default: UAPERF_NATS_TENANT, or default]
    #[arg(long, value_name = "NAME", requires = "nats")]
    tenant: Option<String>,
    /// Be called so [default: the host's name]
    #[arg(long, value_name = "NAME", requires = "nats", value_parser = name)]
    name: Option<String>,
}

fn tag(text: &str) -> Result<String, String> {
    match is_word(text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "{text:?} is no tag (want letters, digits, - and _)"
        )),
    }
}

fn name(text: &str) -> Result<String, String> {
    match is_name(text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "{text:?} is no name (want letters, digits, -, _ and dots between them)"
        )),
    }
}

/// Waits for loads until it is ended. `words` are those of the agents that it starts.
pub fn run(args: &Args, words: &[std::ffi::OsString]) -> anyhow::Result<ExitCode> {
    // Whoever runs it was given one; none at all is no broker, and is said to be none.
    let url = args.nats.as_deref().unwrap_or_default();
    let login = Login::of(url, args.tenant.as_deref())?;
    let host = || gethostname::gethostname().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or_else(host);
    if !is_name(&name) {
        let what = format!("the host's name {name:?} is no name for an agent");
        return Err(Failure::usage(what).hint("--name NAME").into());
    }
    runtime()?.block_on(async {
        let away = |why: &str| tell!("{why}; it is waited for");
        let client = login.wait(&format!("uaperf agent {name}"), away).await?;
        let outpost = RemoteAgent {
            client,
            login,
            name,
            id: result_folder::name(),
            tags: args.tag.clone(),
            words: words.to_vec(),
        };
        outpost.wait().await
    })
}

struct RemoteAgent {
    client: Client,
    login: Login,
    name: String,
    id: String,
    tags: Vec<String>,
    words: Vec<std::ffi::OsString>,
}

impl RemoteAgent {
    async fn wait(self) -> anyhow::Result<ExitCode> {
        let mut calls = self
            .client
            .subscribe(self.login.subject(&["call", "*"]))
            .await?;
        let mut claims = self
            .client
            .subscribe(self.login.subject(&["agent", &self.id]))
            .await?;
        self.client.flush().await?;
        tell!(
            "agent {} waits for loads under {}, {}",
            self.name,
            self.tags.join(", "),
            self.login.place()
        );
        platform::memory::unmap_code();
        let mut work: Option<JoinHandle<()>> = None;
        let free =
            |work: &Option<JoinHandle<()>>| work.as_ref().is_none_or(JoinHandle::is_finished);
        loop {
            tokio::select! {
                call = calls.next() => match call {
                    Some(call) => self.answer(&call, free(&work)).await,
                    None => return Err(Failure::new("the broker's client ended").into()),
                },
                claim = claims.next() => {
                    if let Some(claim) = claim
                        && let Some(started) = self.claimed(&claim, free(&work)).await
                    {
                        work = Some(started);
                    }
                }
            }
        }
    }

    async fn answer(&self, call: &Message, free: bool) {
        let tag = call.subject.rsplit('.').next().unwrap_or_default();
        let here = WaitingAgent {
            name: self.name.clone(),
            id: self.id.clone(),
            free,
        };
        if let (true, Some(to), Ok(here)) = (
            self.tags.iter().any(|it| it == tag),
            call.reply.clone(),
            serde_json::to_vec(&here),
        ) {
            // Whoever called calls again when nothing comes.
            let _ = self.client.publish(to, here.into()).await;
        }
    }

    async fn claimed(&self, claim: &Message, free: bool) -> Option<JoinHandle<()>> {
        let (work, why) = match (free, serde_json::from_slice::<Claim>(&claim.payload)) {
            (false, _) => (
                None,
                Some("it is at work for another controller".to_owned()),
            ),
            (true, Ok(claim)) if result_folder::is_name(&claim.line) => {
                match self.start(&claim.line).await {
                    Ok(work) => (Some(work), None),
                    Err(error) => (None, Some(format!("it could not be started: {error:#}"))),
                }
            }
            (true, _) => (None, Some("the claim cannot be read".to_owned())),
        };
        if let (Some(to), Ok(answer)) = (claim.reply.clone(), serde_json::to_vec(&Claimed { why }))
        {
            let _ = self.client.publish(to, answer.into()).await;
        }
        work
    }

    /// An agent, and the line to who claimed it.
    async fn start(&self, line: &str) -> anyhow::Result<JoinHandle<()>> {
        let from = self.login.subject(&["line", line, "agent"]);
        let to = self.login.subject(&["line", line, "controller"]);
        let messages = self.client.subscribe(from).await?;
        let (send, out) = unbounded_channel();
        let input = agent(&self.words, send)?;
        let mut input = Some(input);
        let arrived = move |it| match it {
            Arrived::Bytes(bytes) => {
                // An agent that is gone says so by its output.
                let _ = input.as_ref().map(|input| input.send(bytes));
            }
            Arrived::End(_) => input = None,
        };
        Ok(tokio::spawn(pump(
            self.client.clone(),
            messages,
            to,
            out,
            arrived,
        )))
    }
}

/// Starts an agent: gives where its input goes; its output and its end are sent.
fn agent(
    words: &[std::ffi::OsString],
    out: UnboundedSender<Out>,
) -> anyhow::Result<std::sync::mpsc::Sender<Vec<u8>>> {
    let mut command = settings::this_program()?;
    command.args(["agent", "--pipe"]).args(words);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    platform::process::apart(&mut command);
    let mut child = command.spawn()?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(mut stdout), Some(stderr)) = streams else {
        return Err(Failure::new("it has no pipes").into());
    };
    let (input, bytes) = std::sync::mpsc::channel::<Vec<u8>>();
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("to agent").spawn(move || {
        while let Ok(bytes) = bytes.recv() {
            if stdin
                .write_all(&bytes)
                .and_then(|()| stdin.flush())
                .is_err()
            {
                return;
            }
        }
    })?;
    let last = Arc::new(Mutex::new(String::new()));
    let said = Arc::clone(&last);
    let errors = thread("errors of agent").spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            tell!("{line}");
            *said.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    })?;
    thread("from agent").spawn(move || {
        let mut bytes = vec![0; fleet::line::SEGMENT];
        while let Ok(n) = stdout.read(&mut bytes)
            && n > 0
        {
            let _ = out.send(Out::Bytes(bytes.get(..n).unwrap_or_default().to_vec()));
        }
        let _ = errors.join();
        let _ = child.wait();
        let last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let why = match last.as_str() {
            "" => "its process ended".to_owned(),
            last => format!("its process ended; it said: {last}"),
        };
        let _ = out.send(Out::End(why));
    })?;
    Ok(input)
}
