//! `--samples`: one row for each request.
//!
//! Every core fills a [`Sheet`] of its own and hands full buffers to one thread, which writes them.
//! A core never waits for the disk: between the two there is a queue, and rows for which it has no
//! room are lost and counted. When the file takes no more (disk full), writing stops, the run goes
//! on, and the error is told at the end with the number of rows that are missing.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::Times;

/// Bytes that a core gathers before it hands them over.
const BUFFER: usize = 64 * 1024;

/// So many buffers wait for the disk at most: 16 MiB, three seconds of 100,000 requests each.
const QUEUE: usize = 256;

/// The first line.
const HEADER: &str = "phase,target,planned_ns,sent_ns,completed_ns,status\n";

/// A file of rows that several cores fill.
#[derive(Clone)]
pub struct Samples {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Samples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Samples").finish_non_exhaustive()
    }
}

struct Shared {
    queue: Queue,
    /// Rows for which the queue had no room.
    unqueued: AtomicU64,
    writer: Mutex<Option<JoinHandle<Written>>>,
}

/// Rows on their way to the writer.
struct Full {
    rows: u64,
    bytes: Vec<u8>,
}

/// The way to the writer; nothing in it says that all is told.
enum Queue {
    /// To a file, which may be slow.
    Bounded(SyncSender<Option<Full>>),
    /// To memory, where nothing may be missing.
    Unbounded(mpsc::Sender<Option<Full>>),
}

impl Queue {
    /// Whether there was room.
    fn offer(&self, full: Full) -> bool {
        match self {
            Self::Bounded(queue) => match queue.try_send(Some(full)) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
            },
            Self::Unbounded(queue) => queue.send(Some(full)).is_ok(),
        }
    }

    /// Nothing more comes. Waits for room.
    fn end(&self) {
        // A writer that is not there any more waits for nothing.
        let _ = match self {
            Self::Bounded(queue) => queue.send(None).is_ok(),
            Self::Unbounded(queue) => queue.send(None).is_ok(),
        };
    }
}

/// What the writer did.
#[derive(Default)]
struct Written {
    rows: u64,
    lost: u64,
    error: Option<io::Error>,
}

/// Why rows are missing.
#[derive(Debug, thiserror::Error)]
#[error("samples are incomplete: {lost} of {} rows were not written: {why}", lost + written)]
pub struct Incomplete {
    /// Rows that are in the file.
    pub written: u64,
    /// Rows that are not.
    pub lost: u64,
    /// What stood in the way.
    pub why: Why,
}

/// What stood in the way of rows.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// The operating system said so.
    #[error(transparent)]
    Failed(#[from] io::Error),
    /// Rows came faster than they could be written.
    #[error(
        "the file takes rows more slowly than requests end (want a faster disk, or a lower rate)"
    )]
    Slow,
}

impl Samples {
    /// Begins a file with its header. It may be slow, or stand still: no core waits for it.
    pub fn new(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, rows) = mpsc::sync_channel(QUEUE);
        Self::begin(out, Queue::Bounded(queue), rows)
    }

    /// The same for what keeps rows in memory: none is ever missing.
    pub fn kept(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, rows) = mpsc::channel();
        Self::begin(out, Queue::Unbounded(queue), rows)
    }

    fn begin(
        mut out: impl Write + Send + 'static,
        queue: Queue,
        rows: Receiver<Option<Full>>,
    ) -> io::Result<Self> {
        out.write_all(HEADER.as_bytes())?;
        let writer = std::thread::Builder::new()
            .name("samples".into())
            .spawn(move || write(out, &rows))?;
        Ok(Self {
            shared: Arc::new(Shared {
                queue,
                unqueued: AtomicU64::new(0),
                writer: Mutex::new(Some(writer)),
            }),
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

    /// How many rows were written, once every sheet is dropped. Waits for those that are still on their way.
    pub fn finish(self) -> Result<u64, Incomplete> {
        let Written { rows, lost, error } = self.shared.end();
        let lost = lost + self.shared.unqueued.load(Ordering::Relaxed);
        let why = match error {
            Some(error) => Why::Failed(error),
            None if lost > 0 => Why::Slow,
            None => return Ok(rows),
        };
        Err(Incomplete {
            written: rows,
            lost,
            why,
        })
    }
}

impl Shared {
    /// Waits for the writer.
    fn end(&self) -> Written {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = writer.take() else {
            return Written::default();
        };
        self.queue.end();
        writer.join().unwrap_or_else(|_| Written {
            error: Some(io::Error::other(
                "the thread that writes them ended before its time",
            )),
            ..Written::default()
        })
    }
}

impl Drop for Shared {
    /// What was handed over is written, also when nobody asks what became of it.
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes until nothing more comes, or the file takes no more.
fn write(mut out: impl Write, queue: &Receiver<Option<Full>>) -> Written {
    let mut written = Written::default();
    while let Ok(Some(full)) = queue.recv() {
        if written.error.is_none() {
            written.error = out.write_all(&full.bytes).err();
        }
        match written.error {
            None => written.rows += full.rows,
            Some(_) => written.lost += full.rows,
        }
    }
    if written.error.is_none() {
        written.error = out.flush().err();
    }
    written
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
            let next = Vec::with_capacity(BUFFER);
            self.hand_over(next);
        }
    }

    /// Hands over what there is, and goes on with an empty buffer.
    fn hand_over(&mut self, next: Vec<u8>) {
        let full = Full {
            rows: std::mem::take(&mut self.rows),
            bytes: std::mem::replace(&mut self.buffer, next),
        };
        let (shared, rows) = (&self.samples.shared, full.rows);
        if !shared.queue.offer(full) {
            shared.unqueued.fetch_add(rows, Ordering::Relaxed);
        }
    }
}

impl Drop for Sheet {
    fn drop(&mut self) {
        if self.rows > 0 {
            self.hand_over(Vec::new());
        }
    }
}
