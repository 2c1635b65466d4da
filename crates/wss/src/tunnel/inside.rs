//! What a record of TLS has to do with: the upgrade, frames, requests of HTTP, or bytes as they are.

use super::{Inner, NORMAL, Opening, Phase, TunnelError};
use crate::frame::{Control, Payload};
use crate::http::Sink;
use crate::upgrade::{read_answer, read_request};

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
            Phase::Handshake(Opening::Wait) => {
                *self.phase = Phase::Upgrade(Opening::Wait, Vec::new());
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
                    Opening::Ask(request) => read_answer(head, &request.accept)?,
                    Opening::Wait => read_request(head)?.map(|(length, answer)| {
                        self.answer.extend_from_slice(answer.as_bytes());
                        length
                    }),
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
            match step.control {
                Some(Control::Ping(payload)) => *self.ping = Some(payload),
                Some(Control::Close(payload)) => {
                    // Answered with the same status (RFC 6455, 5.5.1) by whoever closes the socket.
                    *self.closes = Some(payload.code().unwrap_or(NORMAL));
                    *self.phase = Phase::Closed;
                    return Ok(());
                }
                Some(Control::Pong) | None => {}
            }
        }
        Ok(())
    }
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
