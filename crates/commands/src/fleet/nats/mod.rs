//! A broker between controllers and agents that only dial out: NATS. One thread with a runtime of its own speaks with it;
//! what it carries are the bytes of a pipe, as segments that go once more when the broker was away ([`pump`]).
//!
//! Subjects: `uaperf.TENANT.call.TAG` asks who waits under a tag, `uaperf.TENANT.agent.ID` takes one of them,
//! `uaperf.TENANT.line.LOAD.*` are the two ways of the line to it, `uaperf.TENANT.inbox.*` are answers.

mod login;
mod pump;
mod remote_agent;
mod station;

use std::io;

use async_nats::Client;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Duration, Instant, timeout_at};

pub use login::is_private;
pub use remote_agent::{Args, run};
pub use station::{Sender, Station};

use self::login::Login;
use super::spec::Spec;
use crate::failure::Failure;

/// Agents that wait at a broker answer within so long.
const ANSWER: Duration = Duration::from_secs(1);

/// An agent that waits.
#[derive(Debug, Serialize, Deserialize)]
struct WaitingAgent {
    name: String,
    /// Of its process.
    id: String,
    free: bool,
}

/// Takes an agent.
#[derive(Debug, Serialize, Deserialize)]
struct Claim {
    /// The name of the line between both.
    line: String,
}

/// What it says to that.
#[derive(Debug, Serialize, Deserialize)]
struct Claimed {
    /// Why it is not to be had, if so.
    why: Option<String>,
}

/// The runtime of the one thread that speaks with a broker.
fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Who waits under a tag; `enough` says when nobody else is waited for.
async fn call(
    client: &Client,
    login: &Login,
    tag: &str,
    enough: impl Fn(&[WaitingAgent]) -> bool,
) -> anyhow::Result<Vec<WaitingAgent>> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await?;
    let subject = login.subject(&["call", tag]);
    client
        .publish_with_reply(subject, inbox, Vec::new().into())
        .await?;
    let until = Instant::now() + ANSWER;
    let mut here: Vec<WaitingAgent> = Vec::new();
    while !enough(&here)
        && let Ok(Some(answer)) = timeout_at(until, answers.next()).await
    {
        // A broker says so when nobody listens; whoever speaks otherwise is no agent.
        if let Ok(it) = serde_json::from_slice::<WaitingAgent>(&answer.payload)
            && !here.iter().any(|other| other.id == it.id)
        {
            here.push(it);
        }
    }
    here.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    Ok(here)
}

/// In the place of a tag the agents that wait under it, each by its name.
pub fn resolved(specs: &[Spec]) -> anyhow::Result<Vec<Spec>> {
    if specs.iter().all(|it| it.tag().is_none()) {
        return Ok(specs.to_vec());
    }
    let login = Login::usual()?;
    runtime()?.block_on(async {
        let client = login.connect("uaperf").await?;
        let mut named = Vec::new();
        for spec in specs {
            let Some(tag) = spec.tag() else {
                named.push(spec.clone());
                continue;
            };
            let here = call(&client, &login, tag, |_| false).await?;
            let free: Vec<&WaitingAgent> = here.iter().filter(|it| it.free).collect();
            if free.is_empty() {
                let what = match here.len() {
                    0 => format!("no agent waits under the tag {tag}"),
                    n => format!("no agent is free under the tag {tag}: {n} are at work"),
                };
                let what = format!("{what} ({})", login.place());
                let hint = format!("on its host: uaperf agent --nats URL --tag {tag} --allow-from FILE --targets HOST");
                return Err(Failure::new(what).hint(hint).into());
            }
            named.extend(free.into_iter().map(|it| spec.named(&it.name)));
        }
        Ok(named)
    })
}
