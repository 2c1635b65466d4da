//! The thread that writes a capture, in whole blocks: what stops the program leaves a file that can be read.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::block;
use crate::conversation::SegmentWriter;
use crate::keys;
use crate::queue::{Event, Queue};

/// So much is written at once while there is more.
const AT_ONCE: usize = 256 * 1024;

/// What became of a recording.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Packets in the file.
    pub packets: u64,
    /// How long it is.
    pub bytes: u64,
    /// Bytes of connections that are not in it.
    pub missed: u64,
    /// It is as long as it may be.
    pub full: bool,
    /// Why the capture could not be written to the end.
    pub error: Option<io::Error>,
    /// Why the keys could not be.
    pub key_error: Option<io::Error>,
}

/// Both files.
pub struct Writer {
    capture: File,
    keys: File,
    longest: u64,
    queue: Arc<Queue>,
    /// Whole blocks that are not written yet.
    blocks: Vec<u8>,
    /// Bytes of connections in them.
    carried: u64,
    /// Packets in them.
    packets: u64,
    /// Nothing more is written.
    over: bool,
    outcome: Outcome,
}

impl Writer {
    /// Begins the capture.
    pub fn begin(capture: File, keys: File, longest: u64, queue: Arc<Queue>) -> io::Result<Self> {
        let mut this = Self {
            capture,
            keys,
            longest,
            queue,
            blocks: Vec::new(),
            carried: 0,
            packets: 0,
            over: false,
            outcome: Outcome::default(),
        };
        let program = concat!("uaperf ", env!("CARGO_PKG_VERSION"));
        block::section(&mut this.blocks, program);
        block::interface(&mut this.blocks);
        this.capture.write_all(&this.blocks)?;
        this.outcome.bytes = this.blocks.len() as u64;
        this.blocks.clear();
        Ok(this)
    }

    /// Writes until the end is told.
    pub fn run(mut self, events: &Receiver<Event>) -> Outcome {
        while let Ok(event) = events.recv() {
            let mut next = Some(event);
            while let Some(event) = next {
                self.queue.took(&event);
                if let Event::Finish = event {
                    self.flush();
                    return self.outcome;
                }
                self.take(event);
                next = match self.blocks.len() < AT_ONCE {
                    true => events.try_recv().ok(),
                    false => None,
                };
            }
            self.flush();
        }
        self.outcome
    }

    fn take(&mut self, event: Event) {
        let bytes = match &event {
            Event::Carried { bytes, .. } => bytes.len() as u64,
            _ => 0,
        };
        if self.over {
            return self.queue.close(bytes);
        }
        let before = self.blocks.len();
        let packets = self.draw(event);
        if self.outcome.bytes + self.blocks.len() as u64 > self.longest {
            self.blocks.truncate(before);
            self.over = true;
            self.outcome.full = true;
            return self.queue.close(bytes);
        }
        self.packets += packets;
        self.carried += bytes;
    }

    /// Writes an event as blocks, and tells how many packets they have.
    fn draw(&mut self, event: Event) -> u64 {
        let out = &mut self.blocks;
        match event {
            Event::Opened { at, ends, first } => {
                SegmentWriter { out, at, ends }.open(first);
                3
            }
            Event::Carried {
                at,
                ends,
                from,
                next,
                bytes,
            } => SegmentWriter { out, at, ends }.carry(from, next, &bytes),
            Event::Closed {
                at,
                ends,
                first,
                next,
            } => {
                SegmentWriter { out, at, ends }.close(first, next);
                3
            }
            Event::Keys(keys) => {
                let lines = keys::lines(&keys);
                block::secrets(out, &lines);
                if self.outcome.key_error.is_none() {
                    self.outcome.key_error = self.keys.write_all(lines.as_bytes()).err();
                }
                0
            }
            Event::Finish => 0,
        }
    }

    fn flush(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        match self.capture.write_all(&self.blocks) {
            Ok(()) => {
                self.outcome.bytes += self.blocks.len() as u64;
                self.outcome.packets += self.packets;
            }
            Err(error) => {
                // A block that is there in part would make a reader complain. What is no file cannot be cut.
                let _ = self.capture.set_len(self.outcome.bytes);
                self.outcome.error = Some(error);
                self.over = true;
                self.queue.close(self.carried);
            }
        }
        self.blocks.clear();
        self.carried = 0;
        self.packets = 0;
    }
}
