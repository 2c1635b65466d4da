//! The controller's side of a broker: a thread that finds agents, takes them and carries what both say.

use std::thread::JoinHandle;

use async_nats::Client;
use fleet::FromAgent;
use fleet::frame::{Frames, PREAMBLE};
use fleet::line::Arrived;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use super::login::Login;
use super::pump::{Out, pump};
use super::{ANSWER, Claim, Claimed, WaitingAgent, call, runtime};
use crate::fleet::carrier::CarrierEvent;
use crate::fleet::pipe::stamp;
use crate::fleet::result_folder;

/// What an agent says, and its end.
type Tell = Box<dyn Fn(CarrierEvent<FromAgent>) + Send>;

/// An agent that is to be had.
struct Wanted {
    tag: String,
    name: String,
    out: UnboundedReceiver<Out>,
    tell: Tell,
}

/// Where frames for an agent go.
#[derive(Debug)]
pub struct Sender(UnboundedSender<Out>);

impl Sender {
    /// Sends a frame.
    pub fn send(&self, frame: Vec<u8>) {
        // One that is gone has said so.
        let _ = self.0.send(Out::Bytes(frame));
    }

    /// Nothing more is sent.
    pub fn close(&self) {
        let _ = self
            .0
            .send(Out::End("the controller needs it no more".into()));
    }
}

/// Agents that are to be had, and then the thread that speaks with them.
#[derive(Default)]
pub struct Station {
    wanted: Vec<Wanted>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Station {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Station").finish_non_exhaustive()
    }
}

impl Station {
    /// This agent is wanted; what it says is told.
    pub fn want(
        &mut self,
        tag: &str,
        name: &str,
        tell: impl Fn(CarrierEvent<FromAgent>) + Send + 'static,
    ) -> Sender {
        let (send, out) = unbounded_channel();
        let sender = Sender(send);
        sender.send(PREAMBLE.to_vec());
        self.wanted.push(Wanted {
            tag: tag.to_owned(),
            name: name.to_owned(),
            out,
            tell: Box::new(tell),
        });
        sender
    }

    /// Speaks with all that are wanted.
    pub fn open(&mut self) -> std::io::Result<()> {
        let wanted = std::mem::take(&mut self.wanted);
        if wanted.is_empty() {
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("broker".into());
        self.thread = Some(thread.spawn(move || {
            let work = async {
                let login = Login::usual()?;
                let client = login.connect("uaperf controller").await?;
                anyhow::Ok((login, client))
            };
            match runtime() {
                Ok(runtime) => runtime.block_on(async {
                    match work.await {
                        Ok((login, client)) => carry(&client, &login, wanted).await,
                        Err(error) => fail(wanted, &format!("{error:#}")),
                    }
                }),
                Err(error) => fail(wanted, &error.to_string()),
            }
        })?);
        Ok(())
    }

    /// Waits until all that was said has been carried, which has its own end.
    pub fn close(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn fail(wanted: Vec<Wanted>, why: &str) {
    for it in wanted {
        (it.tell)(CarrierEvent::End(why.to_owned()));
    }
}

async fn carry(client: &Client, login: &Login, mut wanted: Vec<Wanted>) {
    let mut lines = JoinSet::new();
    while let Some(tag) = wanted.first().map(|it| it.tag.clone()) {
        let (these, others) = wanted.into_iter().partition(|it: &Wanted| it.tag == tag);
        wanted = others;
        let free = |here: &[WaitingAgent], name: &str| {
            here.iter().position(|it| it.free && it.name == name)
        };
        let enough = |here: &[WaitingAgent]| {
            these
                .iter()
                .all(|it: &Wanted| free(here, &it.name).is_some())
        };
        let mut here = match call(client, login, &tag, enough).await {
            Ok(here) => here,
            Err(error) => {
                fail(these, &format!("{error:#}"));
                continue;
            }
        };
        for it in these {
            let taken = match free(&here, &it.name) {
                Some(place) => take(client, login, &here.remove(place)).await,
                None if here.iter().any(|other| other.name == it.name) => {
                    Err("it is at work for another controller".to_owned())
                }
                None => Err(format!(
                    "it does not wait under the tag {tag} ({})",
                    login.place()
                )),
            };
            match taken {
                Ok((messages, to)) => {
                    let arrived = arrivals(it.tell);
                    lines.spawn(pump(client.clone(), messages, to, it.out, arrived));
                }
                Err(why) => (it.tell)(CarrierEvent::End(why)),
            }
        }
    }
    while lines.join_next().await.is_some() {}
}

/// Takes an agent: the subject on which it speaks, and that on which it listens.
async fn take(
    client: &Client,
    login: &Login,
    here: &WaitingAgent,
) -> Result<(async_nats::Subscriber, String), String> {
    let line = result_folder::name();
    let from = login.subject(&["line", &line, "controller"]);
    let to = login.subject(&["line", &line, "agent"]);
    let messages = client
        .subscribe(from)
        .await
        .map_err(|error| error.to_string())?;
    let claim = serde_json::to_vec(&Claim { line }).map_err(|error| error.to_string())?;
    let subject = login.subject(&["agent", &here.id]);
    let answer = timeout(
        ANSWER + Duration::from_secs(2),
        client.request(subject, claim.into()),
    );
    let answer = answer.await.map_err(|_| "it does not answer".to_owned())?;
    let answer = answer.map_err(|error| error.to_string())?;
    match serde_json::from_slice(&answer.payload) {
        Ok(Claimed { why: None }) => Ok((messages, to)),
        Ok(Claimed { why: Some(why) }) => Err(why),
        Err(error) => Err(format!("it does not speak as an agent does: {error}")),
    }
}

/// Bytes as they come, told as messages.
fn arrivals(tell: Tell) -> impl FnMut(Arrived) + Send {
    let mut frames = Frames::default();
    let mut ended = false;
    move |it| {
        let now = stamp();
        let end = match it {
            _ if ended => None,
            Arrived::End(why) => Some(why),
            Arrived::Bytes(bytes) => {
                frames.push(&bytes);
                loop {
                    match frames.poll() {
                        Ok(Some(message)) => tell(CarrierEvent::Message(message, now)),
                        Ok(None) => break None,
                        Err(error) => break Some(error.to_string()),
                    }
                }
            }
        };
        if let Some(why) = end {
            ended = true;
            tell(CarrierEvent::End(why));
        }
    }
}
