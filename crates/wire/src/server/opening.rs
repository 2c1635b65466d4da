//! Opening and renewing the channel: trust, the OPN exchange, its jobs and its keys.

use std::ops::Range;
use std::time::Duration;

use opcua_types::StatusCode;
use tracing::debug;

use super::{Connection, Event};
use crate::certificate::Certificate;
use crate::channel::asymmetric::{self, OpenHead, Opened, Parties, Unsealed, check_key};
use crate::channel::exchange::{OpenRequest, OpenResponse};
use crate::channel::tokens::{Role, Token};
use crate::channel::{ChannelError, Protection};
use crate::frame::Gap;
use crate::job::Job;
use crate::policy::{Curve, Ephemeral, Exchanged, Policy, Shared};
use crate::time::Now;

/// An OPN request on its way through trust, decryption and the signing of its response.
#[derive(Debug)]
pub(super) enum Exchange {
    /// The caller has been asked.
    Trust {
        head: OpenHead,
        chunk: Vec<u8>,
        peer: Certificate,
    },
    /// It is being decrypted: nothing behind it is read before.
    Opening,
    /// The response is being signed, and its place kept free.
    Sealing(Gap),
}

/// The result of a job of a server's connection.
#[derive(Debug)]
pub struct Done(Outcome);

#[derive(Debug)]
enum Outcome {
    Opened(OpenHead, Result<(Opened, Option<Agreed>), ChannelError>),
    Sealed(Result<Vec<u8>, ChannelError>),
}

/// What came of ephemeral keys: our public one, and what both sides know now.
#[derive(Debug)]
struct Agreed {
    public: Vec<u8>,
    shared: Shared,
}

/// Part 6, 6.8.1: the client's nonce is a public key. Ours is made to answer it, and not used again.
fn agree(curve: Curve, opened: &Opened) -> Result<Agreed, ChannelError> {
    let request = OpenRequest::decode(&opened.body)?;
    let own = Ephemeral::make(curve)?;
    Ok(Agreed {
        shared: own.agree(&request.nonce)?,
        public: own.public().to_vec(),
    })
}

impl Connection {
    /// The caller's word on a client's certificate. An error code is kept here; the client is
    /// told no more than that security checks failed.
    pub fn decide(&mut self, trusted: Result<(), StatusCode>, now: Now) {
        let Some(Exchange::Trust { head, chunk, peer }) = self.exchange.take() else {
            return;
        };
        match trusted {
            Ok(()) => {
                self.peer = Some(peer);
                self.open(head, chunk, now);
            }
            Err(status) => self.fail(ChannelError::Certificate(status)),
        }
    }

    fn open(&mut self, head: OpenHead, chunk: Vec<u8>, now: Now) {
        self.exchange = Some(Exchange::Opening);
        let policy = head.policy;
        let own = self.config.identities.of(policy).cloned();
        let peer = self.peer.clone();
        let job = Job::new(move || {
            let opened = asymmetric::open(&head, &chunk, own.as_ref(), peer.as_ref());
            let opened = opened.and_then(|opened| {
                let agreed = policy.curve().map(|curve| agree(curve, &opened));
                Ok((opened, agreed.transpose()?))
            });
            Done(Outcome::Opened(head, opened))
        });
        self.dispatch(policy, job, now);
    }

    /// Work that costs nothing is done at once.
    fn dispatch(&mut self, policy: Policy, job: Job<Done>, now: Now) {
        if policy == Policy::None {
            self.complete(job.run(), now);
        } else {
            self.job = Some(job);
        }
    }

    /// Takes the result of a job.
    pub fn complete(&mut self, done: Done, now: Now) {
        let result = match (self.exchange.take(), done.0) {
            (Some(Exchange::Opening), Outcome::Opened(head, opened)) => {
                opened.and_then(|opened| self.answer(&head, opened, now))
            }
            (Some(Exchange::Sealing(gap)), Outcome::Sealed(sealed)) => {
                sealed.and_then(|chunk| match self.stream.outbox.fill(gap, &chunk) {
                    true => Ok(()),
                    false => Err(ChannelError::Security(
                        "an OPN chunk of another length than foreseen".into(),
                    )),
                })
            }
            // The connection has ended meanwhile.
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.fail(error);
        }
    }

    /// Grants what an OPN request asks for, or not.
    fn answer(
        &mut self,
        head: &OpenHead,
        (opened, agreed): (Opened, Option<Agreed>),
        now: Now,
    ) -> Result<(), ChannelError> {
        let request = OpenRequest::decode(&opened.body)?;
        let policy = head.policy;
        let protection = Protection {
            policy,
            mode: request.mode,
        };
        let renewed = self.stream.channel_id != 0;
        if request.renew != renewed {
            return Err(ChannelError::Refused(StatusCode::BadRequestTypeInvalid));
        }
        if !protection.is_consistent() || !self.offers(protection) {
            return Err(ChannelError::Mode(protection.to_string()));
        }
        if !renewed {
            self.stream.protect(protection);
        } else if protection != self.stream.protection() {
            return Err(ChannelError::Mode(protection.to_string()));
        }
        self.stream.accept(&opened)?;
        if request.nonce.len() < policy.nonce_len() {
            let (want, got) = (policy.nonce_len(), request.nonce.len());
            return Err(ChannelError::Nonce { want, got });
        }
        if policy != Policy::None {
            if self.client_nonce == request.nonce {
                return Err(ChannelError::NonceUsedTwice);
            }
            self.client_nonce.clone_from(&request.nonce);
        }
        let (nonce, shared) = match agreed {
            Some(agreed) => (agreed.public, Some(agreed.shared)),
            None => {
                let mut nonce = vec![0; policy.nonce_len()];
                (self.config.random)(&mut nonce);
                (nonce, None)
            }
        };
        let lifetime = self.revise(request.lifetime);
        let token_id = self.next_token;
        self.next_token = self.next_token.checked_add(1).unwrap_or(1);
        self.stream.channel_id = self.config.channel_id;
        let response = OpenResponse {
            handle: request.handle,
            sent: now.utc,
            channel_id: self.config.channel_id,
            token_id,
            lifetime,
            nonce,
        };
        let mut unsealed = Unsealed {
            channel_id: self.config.channel_id,
            sequence: 0,
            request_id: opened.request_id,
            body: response.encode(),
            parties: Parties::of(
                policy,
                self.config.identities.of(policy),
                self.peer.as_ref(),
            )?,
        };
        let exchanged = Exchanged {
            client_nonce: &request.nonce,
            server_nonce: &response.nonce,
            shared: shared.as_ref(),
        };
        let token = Token::derive(
            Role::Server,
            protection,
            &exchanged,
            token_id,
            now.mono,
            lifetime,
        )?;
        if let Some(log) = &self.config.key_log {
            let channel_and_token = (self.config.channel_id, token_id);
            log.derived(protection, &exchanged, channel_and_token);
        }
        let gap = self.stream.reserve(|sequence| {
            unsealed.sequence = sequence;
            unsealed.sealed_len()
        });
        self.span.in_scope(|| {
            debug!(%protection, token = token_id, ?lifetime, renewed, "channel opened");
        });
        self.exchange = Some(Exchange::Sealing(gap));
        self.stream.tokens.add(token, Role::Server);
        self.event = Some(Event::Opened {
            protection,
            lifetime,
            renewed,
        });
        let job = Job::new(move || Done(Outcome::Sealed(unsealed.seal())));
        self.dispatch(policy, job, now);
        Ok(())
    }

    fn offers(&self, protection: Protection) -> bool {
        protection == Protection::NONE || self.config.protections.contains(&protection)
    }

    /// Part 4, 5.6.2.2: a requested lifetime of 0 leaves the choice to the server.
    fn revise(&self, requested: Duration) -> Duration {
        let (least, most) = (*self.config.lifetime.start(), *self.config.lifetime.end());
        if requested.is_zero() {
            most
        } else {
            requested.max(least).min(most)
        }
    }

    /// Everything that can be said before a key is touched.
    pub(super) fn open_request(
        &mut self,
        range: Range<usize>,
        now: Now,
    ) -> Result<Option<Event<'static>>, ChannelError> {
        let chunk = self.stream.inbox.chunk(range).to_vec();
        if self.exchange.is_some() {
            let what = "an OPN request while another one is being answered";
            return Err(ChannelError::Unexpected(what.into()));
        }
        let head = OpenHead::parse(&chunk)?;
        if head.channel_id != self.stream.channel_id {
            return Err(ChannelError::ChannelId {
                want: self.stream.channel_id,
                got: head.channel_id,
            });
        }
        let renews = self.stream.channel_id != 0;
        if renews && head.policy != self.stream.protection().policy {
            return Err(ChannelError::Policy(head.policy.to_string()));
        }
        let Some(sender) = &head.sender else {
            self.open(head, chunk, now);
            return Ok(None);
        };
        let offered = |offer: &Protection| offer.policy == head.policy;
        if !self.config.protections.iter().any(offered) {
            return Err(ChannelError::Policy(head.policy.to_string()));
        }
        let own = self.config.identities.of(head.policy);
        let own = own.map(|identity| identity.certificate.thumbprint());
        if head.receiver != own {
            let what = "the chunk is encrypted for another certificate than ours";
            return Err(ChannelError::Security(what.into()));
        }
        let peer = Certificate::from_der(sender)
            .map_err(|_| ChannelError::Certificate(StatusCode::BadCertificateInvalid))?;
        check_key(head.policy, &peer)?;
        if renews && self.peer.as_ref() != Some(&peer) {
            let what = "a renewal with another certificate";
            return Err(ChannelError::Security(what.into()));
        }
        let asked = Event::Certificate {
            certificate: peer.clone(),
            policy: head.policy,
            renews,
        };
        self.exchange = Some(Exchange::Trust { head, chunk, peer });
        Ok(Some(asked))
    }
}
