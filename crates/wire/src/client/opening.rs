//! Opening and renewing the channel: the OPN exchange, its jobs and its keys.

use std::ops::Range;

use tracing::debug;

use super::Connection;
use crate::channel::asymmetric::{self, OpenHead, Opened, Parties, Unsealed};
use crate::channel::exchange::{OpenRequest, OpenResponse};
use crate::channel::tokens::{Role, Token};
use crate::channel::{ChannelError, Protection};
use crate::frame::Gap;
use crate::job::Job;
use crate::policy::{Ephemeral, Exchanged, Policy, Shared};
use crate::time::{Instant, Now};

/// An OPN request under way.
#[derive(Debug)]
pub(super) struct Exchange {
    request_id: u32,
    /// Ours. Where it is a public key, it is known once the request is sealed.
    nonce: Vec<u8>,
    ephemeral: Option<Ephemeral>,
    pub(super) renew: bool,
    pub(super) deadline: Instant,
    /// Kept free for the request while it is being signed.
    gap: Option<Gap>,
    /// The response is being opened: nothing behind it is read before.
    pub(super) opening: bool,
}

/// The result of a job of a client's connection.
#[derive(Debug)]
pub struct Done(Outcome);

#[derive(Debug)]
enum Outcome {
    Sealed(Result<(Vec<u8>, Option<Ephemeral>), ChannelError>),
    Opened(Result<Answer, ChannelError>),
}

/// What the server answered, and what was agreed on with it.
#[derive(Debug)]
struct Answer {
    opened: Opened,
    response: OpenResponse,
    shared: Option<Shared>,
}

impl Connection {
    /// Starts an OPN exchange: its place in the stream is taken now, its bytes come when they
    /// are signed.
    pub(super) fn open(&mut self, renew: bool, now: Now) {
        let policy = self.config.protection.policy;
        let (own, peer) = (self.config.identity.as_ref(), self.config.server.as_ref());
        let parties = match Parties::of(policy, own, peer) {
            Ok(parties) => parties,
            Err(error) => return self.end(error),
        };
        let mut nonce = vec![0; policy.nonce_len()];
        if policy.curve().is_none() {
            (self.config.random)(&mut nonce);
        }
        // Numbers without a high half are nobody's in the table: a channel is renewed however many requests wait.
        self.opened_as = self.opened_as.checked_add(1).unwrap_or(1);
        let mut request = OpenRequest {
            handle: u32::from(self.opened_as),
            sent: now.utc,
            renew,
            mode: self.config.protection.mode,
            nonce,
            lifetime: self.config.lifetime,
        };
        let mut unsealed = Unsealed {
            channel_id: self.stream.channel_id,
            sequence: 0,
            request_id: request.handle,
            body: request.encode(),
            parties,
        };
        let gap = self.stream.reserve(|sequence| {
            unsealed.sequence = sequence;
            unsealed.sealed_len()
        });
        self.exchange = Some(Exchange {
            request_id: request.handle,
            nonce: request.nonce.clone(),
            ephemeral: None,
            renew,
            deadline: now.mono + self.config.timeout,
            gap: Some(gap),
            opening: false,
        });
        self.span.in_scope(|| {
            debug!(protection = %self.config.protection, renew, "channel asked for");
        });
        // Before anything more is said to a server that is not trusted any more (Part 4, 6.1.3).
        let vouch = self.config.vouch.clone();
        let job = Job::new(move || {
            let judged = vouch.map_or(Ok(()), |vouch| vouch.judge());
            Done(Outcome::Sealed(judged.and_then(|()| {
                // Part 6, 6.8.1: the nonce is a public key, of a pair that is used once.
                let ephemeral = policy.curve().map(Ephemeral::make).transpose()?;
                if let Some(ephemeral) = &ephemeral {
                    request.nonce = ephemeral.public().to_vec();
                    unsealed.body = request.encode();
                }
                Ok((unsealed.seal()?, ephemeral))
            })))
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

    /// Takes the result of a job.
    pub fn complete(&mut self, done: Done, now: Now) {
        if self.exchange.is_none() {
            return;
        }
        let result = match done.0 {
            Outcome::Sealed(sealed) => {
                sealed.and_then(|(chunk, ephemeral)| self.place(&chunk, ephemeral))
            }
            Outcome::Opened(answer) => answer.and_then(|answer| self.opened(answer, now)),
        };
        if let Err(error) = result {
            self.end(error);
        }
    }

    fn place(&mut self, chunk: &[u8], ephemeral: Option<Ephemeral>) -> Result<(), ChannelError> {
        if let (Some(exchange), Some(ephemeral)) = (self.exchange.as_mut(), ephemeral) {
            exchange.nonce = ephemeral.public().to_vec();
            exchange.ephemeral = Some(ephemeral);
        }
        let gap = self.exchange.as_mut().and_then(|e| e.gap.take());
        match gap.map(|gap| self.stream.outbox.fill(gap, chunk)) {
            Some(true) => Ok(()),
            _ => Err(ChannelError::Security(
                "an OPN chunk of another length than foreseen".into(),
            )),
        }
    }

    fn opened(&mut self, answer: Answer, now: Now) -> Result<(), ChannelError> {
        let Answer {
            opened,
            response,
            shared,
        } = answer;
        self.stream.accept(&opened)?;
        let Some(exchange) = self.exchange.take() else {
            return Ok(());
        };
        if opened.request_id != exchange.request_id {
            return Err(ChannelError::Unexpected(
                "an OPN response to another request".into(),
            ));
        }
        let Protection { policy, .. } = self.config.protection;
        if response.nonce.len() < policy.nonce_len() {
            let (want, got) = (policy.nonce_len(), response.nonce.len());
            return Err(ChannelError::Nonce { want, got });
        }
        if policy != Policy::None {
            if self.server_nonce == response.nonce {
                return Err(ChannelError::NonceUsedTwice);
            }
            self.server_nonce.clone_from(&response.nonce);
        }
        if exchange.renew && response.channel_id != self.stream.channel_id {
            return Err(ChannelError::ChannelId {
                want: self.stream.channel_id,
                got: response.channel_id,
            });
        }
        self.stream.channel_id = response.channel_id;
        let exchanged = Exchanged {
            client_nonce: &exchange.nonce,
            server_nonce: &response.nonce,
            shared: shared.as_ref(),
        };
        let token = Token::derive(
            Role::Client,
            self.config.protection,
            &exchanged,
            response.token_id,
            now.mono,
            response.lifetime,
        )?;
        if let Some(log) = &self.config.key_log {
            log.derived(
                self.config.protection,
                &exchanged,
                (response.channel_id, response.token_id),
            );
        }
        self.stream.tokens.add(token, Role::Client);
        self.span.record("channel", response.channel_id);
        self.span.in_scope(|| {
            debug!(
                token = response.token_id,
                lifetime = ?response.lifetime,
                renewed = exchange.renew,
                "channel opened"
            );
        });
        self.opened = Some((response.lifetime, exchange.renew));
        Ok(())
    }

    /// What can be said of the response before a key is touched.
    pub(super) fn open_response(
        &mut self,
        range: Range<usize>,
        now: Now,
    ) -> Result<(), ChannelError> {
        let chunk = self.stream.inbox.chunk(range);
        let Some(exchange) = self.exchange.as_mut().filter(|e| e.gap.is_none()) else {
            let what = "an OPN response that nobody asked for";
            return Err(ChannelError::Unexpected(what.into()));
        };
        let head = OpenHead::parse(chunk)?;
        if head.policy != self.config.protection.policy {
            let what = "an OPN response with another security policy";
            return Err(ChannelError::Unexpected(what.into()));
        }
        let own = self.config.identity.clone();
        let peer = self.config.server.clone();
        // Part 6, 6.7.2.3: the certificates are compared before anything is decrypted.
        if let (Some(sender), Some(server)) = (&head.sender, &peer)
            && !sender.starts_with(server.leaf())
        {
            let what = "the server answered with another certificate than its endpoint names";
            return Err(ChannelError::Security(what.into()));
        }
        if let (Some(receiver), Some(own)) = (&head.receiver, &own)
            && *receiver != own.certificate.thumbprint()
        {
            let what = "the server answered for another certificate than ours";
            return Err(ChannelError::Security(what.into()));
        }
        let chunk = chunk.to_vec();
        exchange.opening = true;
        let ephemeral = exchange.ephemeral.take();
        let job = Job::new(move || {
            let opened = asymmetric::open(&head, &chunk, own.as_ref(), peer.as_ref());
            Done(Outcome::Opened(opened.and_then(|opened| {
                let response = OpenResponse::decode(&opened.body)?;
                let shared = ephemeral
                    .map(|own| own.agree(&response.nonce))
                    .transpose()?;
                Ok(Answer {
                    opened,
                    response,
                    shared,
                })
            })))
        });
        self.dispatch(job, now);
        Ok(())
    }
}
