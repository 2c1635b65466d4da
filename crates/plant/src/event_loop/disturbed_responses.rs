//! Responses that go astray: late, lost, repeated or out of order, as faults will have it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Duration;

use wire::channel::SendError;
use wire::server::{Connection, RequestId};
use wire::time::Instant;

use super::response::handle_of;
use crate::fault::{MessageFate, RequestFate};

/// A response that is to be sent behind others is sent after this time even if there are none.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// What is to become of a response.
#[derive(Debug, Clone, Copy)]
struct Fate {
    lost: bool,
    more: u32,
    behind: u32,
    delay: Duration,
}

/// Behind which others a response waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Responses of the connection.
    Responses,
    /// Messages of this subscription.
    Messages(u32),
}

/// Something that waits for its time.
#[derive(Debug)]
struct Held {
    due: Instant,
    /// The order among those due at once.
    number: u64,
    id: RequestId,
    what: What,
}

impl Held {
    fn rank(&self) -> (Instant, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

#[derive(Debug)]
enum What {
    /// A request that was not looked at.
    Request(Vec<u8>),
    /// A response that was not sent.
    Response(Vec<u8>),
}

#[derive(Debug)]
struct DelayedResponse {
    left: u32,
    among: Among,
    /// It is sent then at the latest.
    due: Instant,
    id: RequestId,
    body: Vec<u8>,
}

/// What a connection has that is not where it should be.
#[derive(Debug, Default)]
pub struct DisturbedResponses {
    fates: Vec<(RequestId, Fate)>,
    held: BinaryHeap<Reverse<Held>>,
    behind: Vec<DelayedResponse>,
    bytes: usize,
    number: u64,
}

/// What a connection does when time has come.
#[derive(Debug, Default)]
pub struct Released {
    /// A request to be looked at now; what is due behind it is released after that.
    pub request: Option<(RequestId, Vec<u8>)>,
    /// Responses that were not sent after all.
    pub failed: Vec<(RequestId, u32, SendError)>,
}

impl DisturbedResponses {
    /// Whether everything is where it should be.
    pub fn is_empty(&self) -> bool {
        self.fates.is_empty() && self.held.is_empty() && self.behind.is_empty()
    }

    /// How much memory waits here.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Remembers what is to become of a response.
    pub fn expect(&mut self, id: RequestId, fate: &RequestFate) {
        let fate = Fate {
            lost: fate.lost,
            more: fate.more,
            behind: fate.behind,
            delay: fate.delay,
        };
        if fate.lost || fate.more > 0 || fate.behind > 0 || !fate.delay.is_zero() {
            self.fates.push((id, fate));
        }
    }

    /// Whether something is to become of a response.
    pub fn expects(&self, id: RequestId) -> bool {
        self.fates.iter().any(|(known, _)| *known == id)
    }

    /// A response was sent past all this.
    pub fn passed(&mut self, connection: &mut Connection) {
        self.pass(connection, Among::Responses);
    }

    /// Keeps a request until it is its turn.
    pub fn keep(&mut self, id: RequestId, body: Vec<u8>, due: Instant) {
        self.hold(id, What::Request(body), due);
    }

    fn hold(&mut self, id: RequestId, what: What, due: Instant) {
        let (What::Request(body) | What::Response(body)) = &what;
        self.bytes += body.len();
        self.number += 1;
        self.held.push(Reverse(Held {
            due,
            number: self.number,
            id,
            what,
        }));
    }

    /// When something is to be done next.
    pub fn due(&self) -> Option<Instant> {
        let held = self.held.peek().map(|Reverse(held)| held.due);
        let behind = self.behind.iter().map(|behind| behind.due).min();
        [held, behind].into_iter().flatten().min()
    }

    /// Sends a response, or does what is to become of it.
    pub fn respond(
        &mut self,
        connection: &mut Connection,
        id: RequestId,
        message: Option<(u32, MessageFate)>,
        now: Instant,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        let at = self.fates.iter().position(|(known, _)| *known == id);
        let fate = at.map(|at| self.fates.swap_remove(at).1);
        let among = message.map_or(Among::Responses, |(of, _)| Among::Messages(of));
        let mut delay = fate.map_or(Duration::ZERO, |fate| fate.delay);
        let (mut behind, mut copies) = (0, 1);
        if let Some(fate) = fate {
            behind = fate.behind;
            copies = if fate.lost { 0 } else { 1 + fate.more };
        }
        if let Some((_, message)) = message {
            delay += message.delay;
            behind = behind.max(message.behind);
        }
        if copies == 1 && behind == 0 && delay.is_zero() {
            let sent = connection.respond(id, write);
            self.pass(connection, among);
            return sent;
        }
        // Whoever writes may do what was asked meanwhile, and that is done even if nobody hears.
        let mut body = Vec::new();
        write(&mut body);
        let mut sent = Ok(());
        for _ in 0..copies {
            if !delay.is_zero() {
                self.hold(id, What::Response(body.clone()), now + delay);
            } else if behind > 0 {
                self.bytes += body.len();
                self.behind.push(DelayedResponse {
                    left: behind,
                    among,
                    due: now + LONGEST_WAIT,
                    id,
                    body: body.clone(),
                });
            } else {
                sent = connection.respond(id, |out| out.extend_from_slice(&body));
            }
        }
        if copies > 0 && behind == 0 && delay.is_zero() {
            self.pass(connection, among);
        }
        sent
    }

    /// Something was sent: those who waited to be behind it may follow.
    fn pass(&mut self, connection: &mut Connection, among: Among) {
        for behind in &mut self.behind {
            if behind.among == among || behind.among == Among::Responses {
                behind.left = behind.left.saturating_sub(1);
            }
        }
        // A response that became too large for its client since it was made does not exist.
        self.follow(|behind| behind.left == 0, connection, &mut Vec::new());
    }

    fn follow(
        &mut self,
        may: impl Fn(&DelayedResponse) -> bool,
        connection: &mut Connection,
        failed: &mut Vec<(RequestId, u32, SendError)>,
    ) {
        let (go, stay) = std::mem::take(&mut self.behind).into_iter().partition(may);
        self.behind = stay;
        let go: Vec<DelayedResponse> = go;
        for behind in go {
            self.bytes -= behind.body.len();
            send(connection, behind.id, &behind.body, failed);
        }
    }

    /// Sends what is due, up to a request, which it gives.
    pub fn release(&mut self, connection: &mut Connection, now: Instant) -> Released {
        let mut released = Released::default();
        while self
            .held
            .peek()
            .is_some_and(|Reverse(held)| held.due <= now)
        {
            let Some(Reverse(held)) = self.held.pop() else {
                break;
            };
            let id = held.id;
            match held.what {
                What::Request(body) => {
                    self.bytes -= body.len();
                    released.request = Some((id, body));
                    break;
                }
                What::Response(body) => {
                    self.bytes -= body.len();
                    send(connection, id, &body, &mut released.failed);
                    self.pass(connection, Among::Responses);
                }
            }
        }
        self.follow(|behind| behind.due <= now, connection, &mut released.failed);
        released
    }
}

fn send(
    connection: &mut Connection,
    id: RequestId,
    body: &[u8],
    failed: &mut Vec<(RequestId, u32, SendError)>,
) {
    if let Err(error) = connection.respond(id, |out| out.extend_from_slice(body)) {
        failed.push((id, handle_of(body), error));
    }
}
