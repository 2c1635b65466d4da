//! Opening and renewing the channel: the OPN exchange, its jobs and its keys.

use std::ops::Range;

use tracing::debug;

use super::{Config, Connection, ConnectionState, Event};
use crate::channel::asymmetric::{self, OpenHead, Opened, Parties, Unsealed};
use crate::channel::established::{Established, Numbers};
use crate::channel::exchange::{OpenRequest, OpenResponse};
use crate::channel::secure::SecureChannel;
use crate::channel::tokens::{Role, Token, Tokens};
use crate::channel::{ChannelError, Protection};
use crate::frame::{Gap, Outbox};
use crate::job::Job;
use crate::policy::{Ephemeral, Exchanged, Policy, Shared};
use crate::time::{Instant, Now};

/// What a client knows while its channel is being opened.
#[derive(Debug)]
pub(super) struct Opening {
    /// Who protects OPN messages; none with policy None.
    parties: Option<Parties>,
    pub(super) exchange: Exchange,
}

/// An OPN request under way.
#[derive(Debug)]
pub(super) struct Exchange {
    request_id: u32,
    pub(super) deadline: Instant,
    step: OpeningStep,
}

#[derive(Debug)]
enum OpeningStep {
    /// The request is being signed, and its place kept free.
    Sealing(Gap),
    /// The server is to answer it.
    Asked(Share),
    /// The response is being opened: nothing behind it is read before.
    Unsealing,
}

impl Exchange {
    /// Whether nothing that follows may be read yet.
    pub(super) fn blocks(&self) -> bool {
        matches!(self.step, OpeningStep::Unsealing)
    }
}

/// What a client brings for new keys.
#[derive(Debug)]
enum Share {
    Nonce(Vec<u8>),
    /// Part 6, 6.8.1: the nonce is a public key, of a pair that is used once.
    Pair(Ephemeral),
}

impl Share {
    fn nonce(&self) -> &[u8] {
        match self {
            Self::Nonce(nonce) => nonce,
            Self::Pair(pair) => pair.public(),
        }
    }

    fn agree(&self, peer: &[u8]) -> Result<Option<Shared>, ChannelError> {
        match self {
            Self::Nonce(_) => Ok(None),
            Self::Pair(pair) => Ok(Some(pair.agree(peer)?)),
        }
    }
}

/// The result of a job of a client's connection.
#[derive(Debug)]
pub struct Done(Outcome);

#[derive(Debug)]
enum Outcome {
    Sealed(Result<(Vec<u8>, Share), ChannelError>),
    Opened(Result<Answer, ChannelError>),
}

/// What the server answered, and what was agreed on with it.
#[derive(Debug)]
struct Answer {
    opened: Opened,
    response: OpenResponse,
    share: Share,
    shared: Option<Shared>,
}

/// What an OPN request is for, beside what the configuration says.
struct Wanted<'a> {
    /// The channel to renew; none asks for a new one.
    renews: Option<u32>,
    request_id: u16,
    parties: Option<&'a Parties>,
}

/// Starts an OPN exchange: its place in the stream is taken now, its bytes come when they
/// are signed.
fn ask(
    config: &mut Config,
    (numbers, outbox): (&mut Numbers, &mut Outbox),
    wanted: &Wanted<'_>,
    now: Now,
) -> (Exchange, Job<Done>) {
    let Protection { policy, mode } = config.protection;
    let mut nonce = vec![0; policy.nonce_len()];
    if policy.curve().is_none() {
        (config.random)(&mut nonce);
    }
    let mut request = OpenRequest {
        handle: u32::from(wanted.request_id),
        sent: now.utc,
        renew: wanted.renews.is_some(),
        mode,
        nonce,
        lifetime: config.lifetime,
    };
    let mut unsealed = Unsealed {
        channel_id: wanted.renews.unwrap_or(0),
        sequence: 0,
        request_id: request.handle,
        body: request.encode(),
        parties: wanted.parties.cloned(),
    };
    let gap = numbers.reserve(outbox, |sequence| {
        unsealed.sequence = sequence;
        unsealed.sealed_len()
    });
    let exchange = Exchange {
        request_id: request.handle,
        deadline: now.mono + config.timeout,
        step: OpeningStep::Sealing(gap),
    };
    // Before anything more is said to a server that is not trusted any more (Part 4, 6.1.3).
    let check_certificate = config.check_certificate.clone();
    let job = Job::new(move || {
        let judged =
            check_certificate.map_or(Ok(()), |check_certificate| check_certificate.judge());
        Done(Outcome::Sealed(judged.and_then(|()| {
            let share = match policy.curve() {
                None => Share::Nonce(request.nonce),
                Some(curve) => {
                    let pair = Ephemeral::make(curve)?;
                    request.nonce = pair.public().to_vec();
                    unsealed.body = request.encode();
                    Share::Pair(pair)
                }
            };
            Ok((unsealed.seal()?, share))
        })))
    });
    (exchange, job)
}

/// Numbers without a high half are nobody's in the table of requests: a channel is renewed however many of them wait.
fn next(request_id: &mut u16) -> u16 {
    *request_id = request_id.checked_add(1).unwrap_or(1);
    *request_id
}

impl Connection {
    /// Asks for a channel.
    pub(super) fn open(&mut self, now: Now) {
        let protection = self.config.protection;
        let (own, peer) = (self.config.identity.as_ref(), self.config.server.as_ref());
        let parties = match Parties::of(protection.policy, own, peer) {
            Ok(parties) => parties,
            Err(error) => return self.end(error),
        };
        let mut numbers = Numbers::of(protection);
        let wanted = Wanted {
            renews: None,
            request_id: next(&mut self.opened_as),
            parties: parties.as_ref(),
        };
        let way = (&mut numbers, &mut self.stream.outbox);
        let (exchange, job) = ask(&mut self.config, way, &wanted, now);
        let opening = Opening { parties, exchange };
        self.state = ConnectionState::Channel(SecureChannel::Opening(numbers, opening));
        self.span.in_scope(|| {
            debug!(%protection, renew = false, "channel asked for");
        });
        self.dispatch(job, now);
    }

    /// Renews the channel now, whatever its age. Nothing happens if that is under way already.
    pub fn renew(&mut self, now: Now) {
        let ConnectionState::Channel(channel) = &mut self.state else {
            return;
        };
        let SecureChannel::Open(established) = channel else {
            return;
        };
        let (id, numbers, parties) = established.opn();
        let wanted = Wanted {
            renews: Some(id),
            request_id: next(&mut self.opened_as),
            parties,
        };
        let way = (numbers, &mut self.stream.outbox);
        let (exchange, job) = ask(&mut self.config, way, &wanted, now);
        channel.begin(exchange);
        self.span.in_scope(|| {
            debug!(protection = %self.config.protection, renew = true, "channel asked for");
        });
        self.dispatch(job, now);
    }

    /// Work that costs nothing is done at once.
    fn dispatch(&mut self, job: Job<Done>, now: Now) {
        if self.config.protection.policy == Policy::None {
            self.complete(job.run(), now);
        } else {
            self.job = Some(job);
        }
    }

    /// Takes the result of a job; one of a connection that has ended meanwhile changes nothing.
    pub fn complete(&mut self, done: Done, now: Now) {
        let result = match done.0 {
            Outcome::Sealed(sealed) => sealed.and_then(|(chunk, share)| self.place(&chunk, share)),
            Outcome::Opened(answer) => answer.and_then(|answer| self.opened(answer, now)),
        };
        if let Err(error) = result {
            self.end(error);
        }
    }

    /// Puts the signed request into its place.
    fn place(&mut self, chunk: &[u8], share: Share) -> Result<(), ChannelError> {
        let Some((_, exchange)) = self.state.exchange_mut() else {
            return Ok(());
        };
        match std::mem::replace(&mut exchange.step, OpeningStep::Asked(share)) {
            OpeningStep::Sealing(gap) => self.stream.place(gap, chunk),
            _ => Ok(()),
        }
    }

    /// The server has answered: there are new keys.
    fn opened(&mut self, answer: Answer, now: Now) -> Result<(), ChannelError> {
        let Answer {
            opened,
            response,
            share,
            shared,
        } = answer;
        let ConnectionState::Channel(channel) = &mut self.state else {
            return Ok(());
        };
        channel.accept(&opened)?;
        let (SecureChannel::Opening(_, Opening { exchange, .. })
        | SecureChannel::Renewing(_, exchange)) = channel
        else {
            return Ok(());
        };
        if opened.request_id != exchange.request_id {
            return Err(ChannelError::Unexpected(
                "an OPN response to another request".into(),
            ));
        }
        let protection = self.config.protection;
        channel.check_nonce(protection.policy, &response.nonce)?;
        let renewed = channel.established().is_some();
        if renewed && response.channel_id != channel.id() {
            return Err(ChannelError::ChannelId {
                want: channel.id(),
                got: response.channel_id,
            });
        }
        let exchanged = Exchanged {
            client_nonce: share.nonce(),
            server_nonce: &response.nonce,
            shared: shared.as_ref(),
        };
        let token = Token::derive(
            Role::Client,
            protection,
            &exchanged,
            response.token_id,
            now.mono,
            response.lifetime,
        )?;
        if let Some(log) = &self.config.key_log {
            log.derived(
                protection,
                &exchanged,
                (response.channel_id, response.token_id),
            );
        }
        *channel = match std::mem::take(channel) {
            SecureChannel::Opening(numbers, Opening { parties, .. }) => {
                let tokens = Tokens::new(token, Role::Client);
                let id = response.channel_id;
                let mut established = Established::new(id, numbers, parties, tokens);
                established.note_nonce(response.nonce);
                SecureChannel::Open(Box::new(established))
            }
            SecureChannel::Renewing(mut established, _) => {
                established.tokens.add(token);
                established.note_nonce(response.nonce);
                SecureChannel::Open(established)
            }
            other => other,
        };
        self.span.record("channel", response.channel_id);
        self.span.in_scope(|| {
            debug!(
                token = response.token_id,
                lifetime = ?response.lifetime,
                renewed,
                "channel opened"
            );
        });
        self.event = Some(Event::Opened {
            channel_id: response.channel_id,
            lifetime: response.lifetime,
            renewed,
        });
        Ok(())
    }

    /// What can be said of the response before a key is touched.
    pub(super) fn open_response(
        &mut self,
        range: Range<usize>,
        now: Now,
    ) -> Result<(), ChannelError> {
        let chunk = self.stream.inbox.chunk(range);
        let exchange = self.state.exchange_mut();
        let asked = exchange.and_then(|(parties, exchange)| {
            match std::mem::replace(&mut exchange.step, OpeningStep::Unsealing) {
                OpeningStep::Asked(share) => Some((share, parties.cloned())),
                _ => None,
            }
        });
        let Some((share, parties)) = asked else {
            let what = "an OPN response that nobody asked for";
            return Err(ChannelError::Unexpected(what.into()));
        };
        let head = OpenHead::parse(chunk)?;
        if head.policy() != self.config.protection.policy {
            let what = "an OPN response with another security policy";
            return Err(ChannelError::Unexpected(what.into()));
        }
        // Part 6, 6.7.2.3: the certificates are compared before anything is decrypted.
        if let (Some(by), Some(parties)) = (&head.secured_by, &parties) {
            if !by.sender.starts_with(parties.peer().leaf()) {
                let what = "the server answered with another certificate than its endpoint names";
                return Err(ChannelError::Security(what.into()));
            }
            if by.receiver != parties.own().thumbprint() {
                let what = "the server answered for another certificate than ours";
                return Err(ChannelError::Security(what.into()));
            }
        }
        let chunk = chunk.to_vec();
        let job = Job::new(move || {
            let opened = asymmetric::open(&head, &chunk, parties.as_ref());
            Done(Outcome::Opened(opened.and_then(|opened| {
                let response = OpenResponse::decode(&opened.body)?;
                let shared = share.agree(&response.nonce)?;
                Ok(Answer {
                    opened,
                    response,
                    share,
                    shared,
                })
            })))
        });
        self.dispatch(job, now);
        Ok(())
    }
}

impl ConnectionState {
    /// The OPN request under way, and who protects it.
    fn exchange_mut(&mut self) -> Option<(Option<&Parties>, &mut Exchange)> {
        match self {
            Self::Channel(SecureChannel::Opening(_, opening)) => {
                Some((opening.parties.as_ref(), &mut opening.exchange))
            }
            Self::Channel(SecureChannel::Renewing(established, exchange)) => {
                Some((established.parties(), exchange))
            }
            _ => None,
        }
    }
}
