//! A process looked at often: what can be had for a few microseconds.

use std::fs::File;
use std::time::Instant;

use platform::System;
use platform::file::read_again;
use platform::process::page_bytes;

use crate::clock::process_cpu;
use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::process::Sample;
use crate::stat::Stat;

/// A process that is looked at every few milliseconds. Its file stays open: opening it costs as much as
/// reading it, and a process that is given the same id later is never taken for it.
#[derive(Debug)]
pub struct Pulse {
    id: u32,
    path: String,
    file: File,
    /// Memory alone: a tenth of the time that the line takes of a process with many threads.
    memory: File,
    page_bytes: u64,
}

/// What a process had spent up to a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Beat {
    /// When it was asked.
    pub at: Instant,
    /// CPU, user and system, of all threads, those that have ended too.
    pub cpu_ns: Figure<u64>,
    /// The part of it in user space, in ticks of 10 ms.
    pub user_ns: Figure<u64>,
    /// The part of it in the kernel, likewise.
    pub system_ns: Figure<u64>,
    /// Memory in RAM.
    pub rss_bytes: Figure<u64>,
    /// Threads.
    pub threads: Figure<u64>,
    /// Page faults that needed no disk.
    pub minor_faults: Figure<u64>,
    /// Page faults that did.
    pub major_faults: Figure<u64>,
}

impl Pulse {
    /// Of a process.
    pub fn of(id: u32) -> Figure<Self> {
        let path = format!("/proc/{id}/stat");
        let pulse = Self {
            id,
            file: open(&path, id)?,
            memory: open(&format!("/proc/{id}/statm"), id)?,
            path,
            page_bytes: page_bytes().ok_or_else(NotAvailable::here)?,
        };
        pulse.beat()?;
        Ok(pulse)
    }

    /// The id of the process.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// CPU and memory by now and nothing else, or that it has ended.
    pub fn glance(&self) -> Figure<Sample> {
        let at = Instant::now();
        let cpu = process_cpu(Some(self.id));
        let text = read(&self.memory, self.id)?;
        // Pages: all that is mapped, and what of it is in RAM.
        let mut words = text.split_whitespace();
        if files::number(&mut words, "statm")? == 0 {
            return Err(NotAvailable::because("the process has ended"));
        }
        let rss = files::number(&mut words, "statm");
        let closer = || Err(NotAvailable::because("found at closer looks only"));
        Ok(Sample {
            at,
            took: at.elapsed(),
            cpu_ns: cpu.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX)),
            user_ns: closer(),
            system_ns: closer(),
            waited_ns: closer(),
            rss_bytes: rss.map(|pages| pages * self.page_bytes),
            peak_rss_bytes: closer(),
            threads: closer(),
            voluntary_switches: closer(),
            involuntary_switches: closer(),
            minor_faults: closer(),
            major_faults: closer(),
            descriptors: closer(),
        })
    }

    /// What it has spent by now, or that it has ended.
    pub fn beat(&self) -> Figure<Beat> {
        let at = Instant::now();
        let cpu = process_cpu(Some(self.id));
        let text = read(&self.file, self.id)?;
        let stat = Stat::of(&text, &self.path)?;
        Ok(Beat {
            at,
            cpu_ns: cpu.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX)),
            user_ns: stat.ticks(14),
            system_ns: stat.ticks(15),
            rss_bytes: stat.field(24).map(|pages| pages * self.page_bytes),
            threads: stat.field(20),
            minor_faults: stat.field(10),
            major_faults: stat.field(12),
        })
    }
}

fn ended(id: u32) -> NotAvailable {
    NotAvailable::because(format!("process {id} has ended"))
}

fn open(path: &str, id: u32) -> Figure<File> {
    match System::IS_LINUX {
        true => File::open(path).map_err(|_| ended(id)),
        false => Err(NotAvailable::here()),
    }
}

fn read(file: &File, id: u32) -> Figure<String> {
    // The line has 52 numbers and a name: some 350 bytes.
    let mut buffer = [0; 2048];
    let read = read_again(file, &mut buffer).map_err(|_| ended(id))?;
    let bytes = buffer.get(..read).unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}
