//! Frames over a pipe, for both ends of it: the controller's and the agent's.

use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::Receiver;

use fleet::Stamp;
use fleet::frame::{FrameError, Frames, PREAMBLE};
use load::transport::Clock;
use serde::de::DeserializeOwned;

/// Both clocks of this process, now.
pub fn stamp() -> Stamp {
    let utc = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Stamp {
        mono_ns: Clock::new().mono().as_nanos(),
        utc_ns: utc.map_or(0, |it| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX)),
    }
}

/// Why nothing more comes out of a pipe.
pub enum End {
    /// Whoever wrote is gone.
    Over,
    /// It cannot be read.
    Failed(std::io::Error),
    /// No frames come out of it.
    NotOurs(FrameError),
}

/// Writes frames until there are no more, or nobody takes them.
pub fn write(mut output: impl Write, frames: &Receiver<Vec<u8>>) {
    let mut next = Some(PREAMBLE.to_vec());
    while let Some(frame) = next {
        let written = output.write_all(&frame).and_then(|()| output.flush());
        if written.is_err() {
            return;
        }
        next = frames.recv().ok();
    }
}

/// Reads messages and gives each with the time at which it came, until no more come.
pub fn read<T: DeserializeOwned>(mut input: impl Read, mut each: impl FnMut(T, Stamp)) -> End {
    let mut frames = Frames::default();
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let n = match input.read(&mut bytes) {
            Ok(0) => return End::Over,
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return End::Failed(error),
        };
        let now = stamp();
        frames.push(bytes.get(..n).unwrap_or_default());
        loop {
            match frames.poll() {
                Ok(Some(message)) => each(message, now),
                Ok(None) => break,
                Err(error) => return End::NotOurs(error),
            }
        }
    }
}
