//! Messages as bytes: a length and what [`postcard`] makes of a message. Each side begins with a line that says what
//! follows, so that somebody who is no agent is known by its first words.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// How a stream begins.
pub const PREAMBLE: &[u8] = b"uaperf fleet 1\n";

/// The longest message: a share that names a million nodes one by one.
pub const MOST: usize = 64 << 20;

/// Bytes of results in one message.
pub const PART: usize = 256 << 10;

/// Bytes of the length.
const HEAD: usize = 4;

/// Why bytes are no messages.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Somebody else is at the other end, or a login shell talks first.
    #[error("it does not speak as an agent of uaperf does: it said {said:?}")]
    Mismatched {
        /// How it begins.
        said: String,
    },
    /// More than a message may have.
    #[error("a message of {length} bytes (want at most {MOST})")]
    TooLong {
        /// What its length says.
        length: usize,
    },
    /// A message that is none.
    #[error("a message that cannot be read: {0}")]
    Broken(String),
}

/// A message as a frame.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let broken = |error: postcard::Error| FrameError::Broken(error.to_string());
    let mut frame = postcard::to_extend(message, vec![0; HEAD]).map_err(broken)?;
    let length = frame.len() - HEAD;
    if length > MOST {
        return Err(FrameError::TooLong { length });
    }
    if let Some(head) = frame.first_chunk_mut::<HEAD>() {
        *head = (length as u32).to_le_bytes();
    }
    Ok(frame)
}

/// A value that travels inside a message.
pub fn pack(value: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    postcard::to_allocvec(value).map_err(|error| FrameError::Broken(error.to_string()))
}

/// Such a value again.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    postcard::from_bytes(bytes).map_err(|error| FrameError::Broken(error.to_string()))
}

/// A stream of frames, as it comes in.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// So many of them are done with.
    taken: usize,
    greeted: bool,
}

/// So much of what an unknown sender says is repeated.
const SAID: usize = 60;

impl Frames {
    /// More came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, if it is here.
    pub fn poll<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let rest = match self.greeted {
            true => rest,
            false => {
                let known = rest.len().min(PREAMBLE.len());
                if rest.get(..known) != PREAMBLE.get(..known) {
                    let said = rest.get(..rest.len().min(SAID)).unwrap_or_default();
                    return Err(FrameError::Mismatched {
                        said: String::from_utf8_lossy(said).trim().to_owned(),
                    });
                }
                let Some(rest) = rest.get(PREAMBLE.len()..) else {
                    return Ok(None);
                };
                self.greeted = true;
                self.taken += PREAMBLE.len();
                rest
            }
        };
        let Some((head, rest)) = rest.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MOST {
            return Err(FrameError::TooLong { length });
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let message = unpack(body)?;
        self.taken += HEAD + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::clock::Stamp;
    use crate::message::{FromAgent, Share, ToAgent};
    use plan::Seat;
    use proptest::prelude::*;

    fn messages() -> Vec<ToAgent> {
        let asked = Stamp {
            mono_ns: 5,
            utc_ns: -7,
        };
        vec![
            ToAgent::Hello {
                version: "0.1.0".into(),
                orphan_ns: 10,
            },
            ToAgent::Clock { asked },
            ToAgent::Share(Share {
                seats: vec![Seat {
                    target: 1,
                    index: 300,
                }],
                task: vec![0; 1000],
                proof: None,
            }),
            ToAgent::Start { at_ns: u64::MAX },
            ToAgent::Stop,
            ToAgent::Taken,
            ToAgent::Leave,
        ]
    }

    fn stream() -> Vec<u8> {
        let frames = messages().into_iter().flat_map(|it| encode(&it).unwrap());
        PREAMBLE.iter().copied().chain(frames).collect()
    }

    proptest! {
        #[test]
        fn messages_arrive_however_the_bytes_are_cut(cuts in prop::collection::vec(1..50usize, 1..50)) {
            let mut frames = Frames::default();
            let mut came = Vec::new();
            let bytes = stream();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                frames.push(now);
                rest = later;
                while let Some(message) = frames.poll::<ToAgent>().unwrap() {
                    came.push(message);
                }
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(came, messages());
        }

        #[test]
        fn any_bytes_are_messages_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = Frames::default();
            frames.push(PREAMBLE);
            frames.push(&bytes);
            while let Ok(Some(_)) = frames.poll::<FromAgent>() {}
        }
    }

    #[test]
    fn whoever_says_something_else_first_is_named_with_what_it_said() {
        let mut frames = Frames::default();
        frames.push(b"Welcome to plc1");
        let error = frames.poll::<FromAgent>().unwrap_err().to_string();
        assert!(error.ends_with("it said \"Welcome to plc1\""), "{error}");
    }

    #[test]
    fn a_length_beyond_the_most_is_refused_before_its_bytes_come() {
        let mut frames = Frames::default();
        frames.push(PREAMBLE);
        frames.push(&u32::MAX.to_le_bytes());
        let error = frames.poll::<FromAgent>().unwrap_err();
        assert!(matches!(error, FrameError::TooLong { .. }));
    }
}
