//! What a record of TLS has to do with: the upgrade, frames, requests of HTTP, or bytes as they are.

use super::{Inner, NORMAL, Opening, Phase, TunnelError};
use crate::Role;
use crate::frame::{Control, Payload};
use crate::http::Sink;
use crate::texts::Texts;
use crate::upgrade::{PROTOCOLS, TEXT_PROTOCOL, read_answer, read_request};

/// Where chunks are written.
pub(super) struct Into<'a> {
    pub(super) place: &'a mut [u8],
    pub(super) written: usize,
}

/// What a record of TLS has to do with.
pub(super) struct Inside<'a> {
    pub(super) phase: &'a mut Phase,
    pub(super) inner: &'a mut Inner,
    pub(super) given: &'a mut Vec<u8>,
    pub(super) ping: &'a mut Option<Payload>,
    pub(super) closes: &'a mut Option<u16>,
    pub(super) answer: &'a mut Vec<u8>,
}

impl Inside<'_> {
    pub(super) fn take(&mut self, record: &[u8], into: &mut Into<'_>) -> Result<(), TunnelError> {
        let done = match self.phase {
            Phase::Open => return self.open(record, into),
            // Nothing is said before the request, and nothing counts after the end.
            Phase::Handshake(Opening::Ask(_)) | Phase::Closed => return Ok(()),
            Phase::Handshake(Opening::Bare) => {
                *self.phase = Phase::Open;
                return self.open(record, into);
            }
            // A request may come in one piece with the end of the handshake.
            Phase::Handshake(Opening::Wait(texts)) => {
                *self.phase = Phase::Upgrade(Opening::Wait(*texts), Vec::new());
                return self.take(record, into);
            }
            Phase::Handshake(Opening::Asked) | Phase::Upgrade(Opening::Asked, _) => {
                *self.phase = Phase::Upgrade(Opening::Asked, Vec::new());
                let taken = self.open(record, into);
                if matches!(&*self.inner, Inner::Http(http) if http.asked().is_some()) {
                    *self.phase = Phase::Open;
                }
                return taken;
            }
            Phase::Upgrade(opening, head) => {
                let before = head.len();
                head.extend_from_slice(record);
                let length = match opening {
                    Opening::Ask(request) => read_answer(head, request)?,
                    Opening::Wait(texts) => {
                        let text = texts.map(|_| TEXT_PROTOCOL);
                        let protocols = PROTOCOLS.into_iter().chain(text);
                        read_request(head, protocols)?.map(|upgrade| {
                            self.answer.extend_from_slice(upgrade.answer.as_bytes());
                            if let (Some(url), Some(longest)) = (upgrade.texts, *texts) {
                                // Servers mask nothing.
                                let texts = Texts::new(Role::Server, url, longest, |_| ());
                                *self.inner = Inner::Texts(Box::new(texts));
                            }
                            upgrade.length
                        })
                    }
                    Opening::Asked | Opening::Bare => Some(before),
                };
                match length {
                    Some(length) => length - before,
                    None => return Ok(()),
                }
            }
        };
        *self.phase = Phase::Open;
        *self.closes = Some(NORMAL);
        self.open(record.get(done..).unwrap_or_default(), into)
    }

    /// Bytes inside TLS once all is open.
    fn open(&mut self, bytes: &[u8], into: &mut Into<'_>) -> Result<(), TunnelError> {
        let mut given = Given {
            given: self.given,
            into,
        };
        match self.inner {
            Inner::Bare => given.put(bytes),
            Inner::Http(http) => http.take(bytes, &mut given)?,
            Inner::Frames(_) => return self.frames(bytes, into),
            Inner::Texts(_) => return self.texts(bytes, into),
        }
        Ok(())
    }

    fn texts(&mut self, mut bytes: &[u8], into: &mut Into<'_>) -> Result<(), TunnelError> {
        let Inner::Texts(texts) = self.inner else {
            return Ok(());
        };
        let mut given = Given {
            given: self.given,
            into,
        };
        let mut plain = vec![0; bytes.len()];
        while !bytes.is_empty() {
            let step = texts.deframer.take(bytes, &mut plain)?;
            bytes = bytes.get(step.taken..).unwrap_or_default();
            let part = plain.get(..step.given).unwrap_or_default();
            texts.take(part, step.ended, &mut given)?;
            if let Some(control) = step.control
                && !control_frame(control, self.ping, self.closes)
            {
                *self.phase = Phase::Closed;
                return Ok(());
            }
        }
        Ok(())
    }

    fn frames(&mut self, mut bytes: &[u8], into: &mut Into<'_>) -> Result<(), TunnelError> {
        let Inner::Frames(frames) = self.inner else {
            return Ok(());
        };
        let deframer = &mut frames.deframer;
        while !bytes.is_empty() {
            let room = match self.given.is_empty() {
                true => into.place.get_mut(into.written..).unwrap_or_default(),
                false => &mut [],
            };
            let step = if room.is_empty() {
                let begin = self.given.len();
                self.given.resize(begin + bytes.len(), 0);
                let place = self.given.get_mut(begin..).unwrap_or_default();
                let step = deframer.take(bytes, place)?;
                self.given.truncate(begin + step.given);
                step
            } else {
                let step = deframer.take(bytes, room)?;
                into.written += step.given;
                step
            };
            bytes = bytes.get(step.taken..).unwrap_or_default();
            if let Some(control) = step.control
                && !control_frame(control, self.ping, self.closes)
            {
                *self.phase = Phase::Closed;
                return Ok(());
            }
        }
        Ok(())
    }
}

/// What a control frame has to be answered with. Whether the connection goes on.
fn control_frame(control: Control, ping: &mut Option<Payload>, closes: &mut Option<u16>) -> bool {
    match control {
        Control::Ping(payload) => *ping = Some(payload),
        Control::Pong => {}
        Control::Close(payload) => {
            // Answered with the same status (RFC 6455, 5.5.1) by whoever closes the socket.
            *closes = Some(payload.code().unwrap_or(NORMAL));
            return false;
        }
    }
    true
}

/// Where chunks go as long as there is room, and after that.
struct Given<'a, 'b> {
    given: &'a mut Vec<u8>,
    into: &'a mut Into<'b>,
}

impl Sink for Given<'_, '_> {
    fn put(&mut self, bytes: &[u8]) {
        let written = self.into.written;
        let room = match self.given.is_empty() {
            true => self.into.place.get_mut(written..).unwrap_or_default(),
            false => &mut [],
        };
        let (now, later) = bytes.split_at(bytes.len().min(room.len()));
        if let Some(place) = room.get_mut(..now.len()) {
            place.copy_from_slice(now);
        }
        self.into.written += now.len();
        self.given.extend_from_slice(later);
    }
}
