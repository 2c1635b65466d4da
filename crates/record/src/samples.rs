//! `--samples`: one row for each request.
//!
//! Every core fills a [`Sheet`] of its own and hands full buffers to the file that all share. When
//! the file takes no more (disk full), writing stops, the run goes on, and the error is told at
//! the end with the number of rows that are missing.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Times;

/// Bytes that a core gathers before it writes.
const BUFFER: usize = 64 * 1024;

/// The first line.
const HEADER: &str = "phase,target,planned_ns,sent_ns,completed_ns,status\n";

/// A file of rows that several cores write.
#[derive(Clone)]
pub struct Samples {
    shared: Arc<Mutex<Shared>>,
}

impl std::fmt::Debug for Samples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Samples").finish_non_exhaustive()
    }
}

struct Shared {
    out: Box<dyn Write + Send>,
    rows: u64,
    lost: u64,
    error: Option<io::Error>,
}

/// Why rows are missing.
#[derive(Debug, thiserror::Error)]
#[error("samples are incomplete: {lost} of {} rows were not written: {source}", lost + written)]
pub struct Incomplete {
    /// Rows that are in the file.
    pub written: u64,
    /// Rows that are not.
    pub lost: u64,
    /// What the operating system said.
    pub source: io::Error,
}

impl Samples {
    /// Begins a file with its header.
    pub fn new(mut out: impl Write + Send + 'static) -> io::Result<Self> {
        out.write_all(HEADER.as_bytes())?;
        Ok(Self {
            shared: Arc::new(Mutex::new(Shared {
                out: Box::new(out),
                rows: 0,
                lost: 0,
                error: None,
            })),
        })
    }

    /// A sheet for one core and phase. `phase` is quoted if it has to be.
    pub fn sheet(&self, phase: &str) -> Sheet {
        let quoted = phase.contains([',', '"', '\n', '\r']);
        let phase = match quoted {
            true => format!("\"{}\"", phase.replace('"', "\"\"")),
            false => phase.to_owned(),
        };
        Sheet {
            samples: self.clone(),
            phase,
            buffer: Vec::with_capacity(BUFFER),
            rows: 0,
        }
    }

    /// How many rows were written, once every sheet is dropped.
    pub fn finish(self) -> Result<u64, Incomplete> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.error.is_none() {
            shared.error = shared.out.flush().err();
        }
        match shared.error.take() {
            None => Ok(shared.rows),
            Some(source) => Err(Incomplete {
                written: shared.rows,
                lost: shared.lost,
                source,
            }),
        }
    }

    fn take(&self, rows: u64, bytes: &[u8]) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.error.is_none() {
            shared.error = shared.out.write_all(bytes).err();
        }
        if shared.error.is_none() {
            shared.rows += rows;
        } else {
            shared.lost += rows;
        }
    }
}

/// The rows of one core.
pub struct Sheet {
    samples: Samples,
    phase: String,
    buffer: Vec<u8>,
    rows: u64,
}

impl Sheet {
    /// One request. `target` is an index into the run's targets.
    pub fn row(&mut self, target: usize, times: Times, status: u32) {
        let Times {
            planned,
            sent,
            completed,
        } = times;
        let phase = &self.phase;
        // Writing to memory does not fail.
        let _ = writeln!(
            self.buffer,
            "{phase},{target},{planned},{sent},{completed},0x{status:08X}"
        );
        self.rows += 1;
        if self.buffer.len() > BUFFER - 256 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.samples.take(self.rows, &self.buffer);
        self.buffer.clear();
        self.rows = 0;
    }
}

impl Drop for Sheet {
    fn drop(&mut self) {
        if self.rows > 0 {
            self.flush();
        }
    }
}
