//! Opening and renewing the channel: trust, the OPN exchange, its jobs and its keys.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use opcua_types::StatusCode;
use tracing::debug;

use super::{Connection, ConnectionState, Event};
use crate::certificate::Certificate;
use crate::channel::asymmetric::{self, OpenHead, Opened, Parties, Unsealed, check_key};
use crate::channel::established::{Established, Numbers};
use crate::channel::exchange::{OpenRequest, OpenResponse};
use crate::channel::secure::SecureChannel;
use crate::channel::tokens::{Role, Token, Tokens};
use crate::channel::{ChannelError, Protection};
use crate::frame::Gap;
use crate::job::Job;
use crate::policy::{Curve, Ephemeral, Exchanged, Policy, Shared};
use crate::time::{Instant, Now};

/// What a server knows while its channel is being opened.
#[derive(Debug)]
pub(super) struct Opening {
    /// Until then it has to be open.
    pub(super) deadline: Instant,
    pub(super) request: Request,
}

/// The OPN request that is to open the channel.
#[derive(Debug)]
pub(super) enum Request {
    /// It did not come yet.
    Awaited,
    /// The caller has been asked.
    Trust(Box<UnverifiedOpen>),
    /// It is being decrypted: nothing behind it is read before. Who protects the channel is trusted; none with policy
    /// None.
    Decrypting(Option<Parties>),
}

/// OPN messages that go while the channel is open.
#[derive(Debug)]
pub(super) enum Exchange {
    /// The caller has been asked about a renewal.
    Trust(Box<UnverifiedOpen>),
    /// A request to renew is being decrypted: nothing behind it is read before.
    Decrypting,
    /// The response is being signed, and its place kept free.
    Sealing(Gap),
}

/// An OPN request whose certificate is to be trusted.
#[derive(Debug)]
pub(super) struct UnverifiedOpen {
    head: OpenHead,
    chunk: Vec<u8>,
    parties: Parties,
}

impl Request {
    /// Whether nothing that follows may be read yet.
    pub(super) fn blocks(&self) -> bool {
        match self {
            Self::Awaited => false,
            Self::Trust(_) | Self::Decrypting(_) => true,
        }
    }

    /// What the caller was asked about, taken out.
    fn asked(&mut self) -> Option<Box<UnverifiedOpen>> {
        match std::mem::replace(self, Self::Awaited) {
            Self::Trust(asked) => Some(asked),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl Exchange {
    /// Whether nothing that follows may be read yet.
    pub(super) fn blocks(&self) -> bool {
        match self {
            Self::Sealing(_) => false,
            Self::Trust(_) | Self::Decrypting => true,
        }
    }

    /// What the caller was asked about, taken out.
    fn asked(&mut self) -> Option<Box<UnverifiedOpen>> {
        match std::mem::replace(self, Self::Decrypting) {
            Self::Trust(asked) => Some(asked),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// The result of a job of a server's connection.
#[derive(Debug)]
pub struct Done(Outcome);

#[derive(Debug)]
enum Outcome {
    Opened(Policy, Result<(Opened, Option<Agreed>), ChannelError>),
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
        let asked = match &mut self.state {
            ConnectionState::Channel(SecureChannel::Opening(_, opening)) => opening.request.asked(),
            ConnectionState::Channel(SecureChannel::Renewing(_, exchange)) => exchange.asked(),
            _ => None,
        };
        let Some(asked) = asked else {
            return;
        };
        let UnverifiedOpen {
            head,
            chunk,
            parties,
        } = *asked;
        match trusted {
            Ok(()) => self.open(head, chunk, Some(parties), now),
            Err(status) => self.fail(ChannelError::Certificate(status)),
        }
    }

    fn open(&mut self, head: OpenHead, chunk: Vec<u8>, parties: Option<Parties>, now: Now) {
        let ConnectionState::Channel(channel) = &mut self.state else {
            return;
        };
        match channel {
            SecureChannel::Opening(_, Opening { request, .. }) => {
                *request = Request::Decrypting(parties.clone());
            }
            channel => channel.begin(Exchange::Decrypting),
        }
        let policy = head.policy();
        let job = Job::new(move || {
            let opened = asymmetric::open(&head, &chunk, parties.as_ref());
            let opened = opened.and_then(|opened| {
                let agreed = policy.curve().map(|curve| agree(curve, &opened));
                Ok((opened, agreed.transpose()?))
            });
            Done(Outcome::Opened(policy, opened))
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

    /// Takes the result of a job; one of a connection that has ended meanwhile changes nothing.
    pub fn complete(&mut self, done: Done, now: Now) {
        let ConnectionState::Channel(channel) = &mut self.state else {
            return;
        };
        let result = match (channel, done.0) {
            (
                SecureChannel::Opening(
                    _,
                    Opening {
                        request: Request::Decrypting(_),
                        ..
                    },
                )
                | SecureChannel::Renewing(_, Exchange::Decrypting),
                Outcome::Opened(policy, opened),
            ) => opened.and_then(|opened| self.answer(policy, opened, now)),
            (
                channel @ SecureChannel::Renewing(_, Exchange::Sealing(_)),
                Outcome::Sealed(sealed),
            ) => match channel.settle() {
                Some(Exchange::Sealing(gap)) => {
                    sealed.and_then(|chunk| self.stream.place(gap, &chunk))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.fail(error);
        }
    }

    /// Grants what an OPN request asks for, or not.
    fn answer(
        &mut self,
        policy: Policy,
        (opened, agreed): (Opened, Option<Agreed>),
        now: Now,
    ) -> Result<(), ChannelError> {
        let request = OpenRequest::decode(&opened.body)?;
        let protection = Protection {
            policy,
            mode: request.mode,
        };
        let offered = self.offers(protection);
        let ConnectionState::Channel(channel) = &mut self.state else {
            return Ok(());
        };
        let renewed = channel.established().is_some();
        if request.renew != renewed {
            return Err(ChannelError::Refused(StatusCode::BadRequestTypeInvalid));
        }
        if !protection.is_consistent() || !offered {
            return Err(ChannelError::Mode(protection.to_string()));
        }
        if let SecureChannel::Opening(numbers, _) = channel {
            *numbers = Numbers::of(protection);
        } else if channel.protection() != protection {
            return Err(ChannelError::Mode(protection.to_string()));
        }
        channel.accept(&opened)?;
        channel.check_nonce(policy, &request.nonce)?;
        let (nonce, shared) = match agreed {
            Some(agreed) => (agreed.public, Some(agreed.shared)),
            None => {
                let mut nonce = vec![0; policy.nonce_len()];
                (self.config.random)(&mut nonce);
                (nonce, None)
            }
        };
        let lifetime = revise(&self.config.lifetime, request.lifetime);
        let token_id = match channel.established() {
            Some(established) => established.tokens.newest().id.checked_add(1).unwrap_or(1),
            None => 1,
        };
        let response = OpenResponse {
            handle: request.handle,
            sent: now.utc,
            channel_id: self.config.channel_id,
            token_id,
            lifetime,
            nonce,
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
        let mut established = match std::mem::take(channel) {
            SecureChannel::Renewing(mut established, _) => {
                established.tokens.add(token);
                established
            }
            SecureChannel::Opening(
                numbers,
                Opening {
                    request: Request::Decrypting(parties),
                    ..
                },
            ) => {
                let tokens = Tokens::new(token, Role::Server);
                let id = self.config.channel_id;
                Box::new(Established::new(id, numbers, parties, tokens))
            }
            other => {
                *channel = other;
                return Ok(());
            }
        };
        established.note_nonce(request.nonce);
        let (id, numbers, parties) = established.opn();
        let mut unsealed = Unsealed {
            channel_id: id,
            sequence: 0,
            request_id: opened.request_id,
            body: response.encode(),
            parties: parties.cloned(),
        };
        let gap = numbers.reserve(&mut self.stream.outbox, |sequence| {
            unsealed.sequence = sequence;
            unsealed.sealed_len()
        });
        *channel = SecureChannel::Renewing(established, Exchange::Sealing(gap));
        self.span.in_scope(|| {
            debug!(%protection, token = token_id, ?lifetime, renewed, "channel opened");
        });
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

    /// Everything that can be said before a key is touched.
    pub(super) fn open_request(
        &mut self,
        range: Range<usize>,
        now: Now,
    ) -> Result<Option<Event<'static>>, ChannelError> {
        let chunk = self.stream.inbox.chunk(range).to_vec();
        let ConnectionState::Channel(channel) = &mut self.state else {
            return Ok(None);
        };
        // Of a channel that is open, what is asked for are new keys.
        let known = match &*channel {
            SecureChannel::Opening(_, opening) if !opening.request.blocks() => None,
            SecureChannel::Open(established) => Some(established),
            _ => {
                let what = "an OPN request while another one is being answered";
                return Err(ChannelError::Unexpected(what.into()));
            }
        };
        let head = OpenHead::parse(&chunk)?;
        if head.channel_id != channel.id() {
            return Err(ChannelError::ChannelId {
                want: channel.id(),
                got: head.channel_id,
            });
        }
        let policy = head.policy();
        if known.is_some() && policy != channel.protection().policy {
            return Err(ChannelError::Policy(policy.to_string()));
        }
        let Some(by) = &head.secured_by else {
            self.open(head, chunk, None, now);
            return Ok(None);
        };
        let offered = |offer: &Protection| offer.policy == policy;
        if !self.config.protections.iter().any(offered) {
            return Err(ChannelError::Policy(policy.to_string()));
        }
        let own = self.config.identities.of(policy);
        let own = own.filter(|own| own.certificate.thumbprint() == by.receiver);
        let Some(own) = own else {
            let what = "the chunk is encrypted for another certificate than ours";
            return Err(ChannelError::Security(what.into()));
        };
        let peer = Certificate::from_der(&by.sender)
            .map_err(|_| ChannelError::Certificate(StatusCode::BadCertificateInvalid))?;
        check_key(policy, &peer)?;
        let before = known.and_then(|it| it.parties()).map(Parties::peer);
        if before.is_some_and(|before| *before != peer) {
            let what = "a renewal with another certificate";
            return Err(ChannelError::Security(what.into()));
        }
        let parties = by.parties(own, &peer);
        let renews = known.is_some();
        let asked = Box::new(UnverifiedOpen {
            head,
            chunk,
            parties,
        });
        match channel {
            SecureChannel::Opening(_, opening) => opening.request = Request::Trust(asked),
            channel => channel.begin(Exchange::Trust(asked)),
        }
        Ok(Some(Event::Certificate {
            certificate: peer,
            policy,
            renews,
        }))
    }
}

/// Part 4, 5.6.2.2: a requested lifetime of 0 leaves the choice to the server.
fn revise(granted: &RangeInclusive<Duration>, requested: Duration) -> Duration {
    let (least, most) = (*granted.start(), *granted.end());
    if requested.is_zero() {
        most
    } else {
        requested.max(least).min(most)
    }
}
