//! The packets of a pcap or pcapng file, of either byte order.

use std::io::{self, ErrorKind, Read};

use crate::block::{BYTE_ORDER, ENHANCED_PACKET, INTERFACE, SECTION, SIMPLE_PACKET};

/// A packet or block is larger in no capture: no interface has frames of this size.
const MOST: u32 = 16 << 20;

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file itself cannot be.
    #[error("cannot read it: {0}")]
    File(#[from] io::Error),
    /// It is something else.
    #[error("is no capture (want pcap or pcapng)")]
    NotACapture,
    /// It says something that cannot be.
    #[error("is broken at byte {at}: {what}")]
    Broken {
        /// Where.
        at: u64,
        /// What.
        what: &'static str,
    },
}

/// What is known of a packet beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The type of its link (LINKTYPE_).
    pub link: u32,
    /// When it was captured, in nanoseconds since 1970, if the file says so.
    pub at: Option<u64>,
    /// Whether all of it was.
    pub whole: bool,
}

/// A capture that is read.
pub struct Captures<R> {
    source: R,
    /// Bytes that were taken from it.
    taken: u64,
    swapped: bool,
    form: Form,
    torn: bool,
}

enum Form {
    Pcap {
        link: u32,
        /// Nanoseconds of a unit behind the seconds.
        unit: u64,
    },
    Pcapng(Vec<Interface>),
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u32,
    snap: u32,
    resolution: Resolution,
    /// Seconds that are added.
    offset: i64,
}

/// Units of a second.
#[derive(Debug, Clone, Copy)]
enum Resolution {
    Tenth(u32),
    Half(u32),
}

impl Resolution {
    fn nanos(self, units: u64) -> u64 {
        let per_second: u128 = match self {
            Self::Tenth(power) => 10u128.pow(power),
            Self::Half(power) => 1 << power,
        };
        let nanos = u128::from(units) * 1_000_000_000 / per_second;
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

impl<R: Read> Captures<R> {
    /// Finds out what kind of file it is.
    pub fn begin(source: R) -> Result<Self, CaptureError> {
        let mut this = Self {
            source,
            taken: 0,
            swapped: false,
            form: Form::Pcapng(Vec::new()),
            torn: false,
        };
        let mut magic = [0; 4];
        if !this.more(&mut magic)? {
            return Err(CaptureError::NotACapture);
        }
        let (swapped, unit) = match u32::from_le_bytes(magic) {
            SECTION => {
                // The length of the block is in the byte order that follows it.
                let mut head = [0; 8];
                this.exactly(&mut head)?;
                this.section(head)?;
                return Ok(this);
            }
            0xa1b2_c3d4 => (false, 1000),
            0xa1b2_3c4d => (false, 1),
            0xd4c3_b2a1 => (true, 1000),
            0x4d3c_b2a1 => (true, 1),
            _ => return Err(CaptureError::NotACapture),
        };
        this.swapped = swapped;
        let mut rest = [0; 20];
        this.exactly(&mut rest)?;
        // The upper bits say how long a frame check sequence is.
        let link = this.u32_at(&rest, 16) & 0x0fff_ffff;
        this.form = Form::Pcap { link, unit };
        Ok(this)
    }

    /// `pcap` or `pcapng`.
    pub fn format(&self) -> &'static str {
        match self.form {
            Form::Pcap { .. } => "pcap",
            Form::Pcapng(_) => "pcapng",
        }
    }

    /// Whether the file ended in the middle of a packet.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// The next packet, its bytes in `bytes`.
    pub fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Packet>, CaptureError> {
        match self.form {
            Form::Pcap { link, unit } => {
                let mut head = [0; 16];
                if !self.more(&mut head)? {
                    return Ok(None);
                }
                let (seconds, units) = (self.u32_at(&head, 0), self.u32_at(&head, 4));
                let (here, was) = (self.u32_at(&head, 8), self.u32_at(&head, 12));
                if here > MOST {
                    return Err(self.broken("a packet that is too long"));
                }
                if !self.body(here, bytes)? {
                    return Ok(None);
                }
                Ok(Some(Packet {
                    link,
                    at: Some(u64::from(seconds) * 1_000_000_000 + u64::from(units) * unit),
                    whole: here >= was,
                }))
            }
            Form::Pcapng(_) => self.next_block(bytes),
        }
    }

    fn next_block(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Packet>, CaptureError> {
        loop {
            let mut head = [0; 8];
            if !self.more(&mut head)? {
                return Ok(None);
            }
            let kind = self.u32_at(&head, 0);
            if kind == SECTION {
                let mut rest = [0; 4];
                self.exactly(&mut rest)?;
                let [_, _, _, _, a, b, c, d] = head;
                let [e, f, g, h] = rest;
                self.section([a, b, c, d, e, f, g, h])?;
                continue;
            }
            let len = self.u32_at(&head, 4);
            if len < 12 || !len.is_multiple_of(4) || len > MOST {
                return Err(self.broken("a block with an impossible length"));
            }
            if !self.body(len - 8, bytes)? {
                return Ok(None);
            }
            // The length once more.
            bytes.truncate(bytes.len().saturating_sub(4));
            match kind {
                INTERFACE => {
                    let interface = self.interface(bytes)?;
                    if let Form::Pcapng(all) = &mut self.form {
                        all.push(interface);
                    }
                }
                ENHANCED_PACKET => return self.enhanced(bytes).map(Some),
                SIMPLE_PACKET => return self.simple(bytes).map(Some),
                // Names, statistics, secrets.
                _ => {}
            }
        }
    }

    /// Behind the type of a section's block: its length, the byte order, and the rest, which says nothing about
    /// packets.
    fn section(&mut self, head: [u8; 8]) -> Result<(), CaptureError> {
        let [a, b, c, d, order @ ..] = head;
        self.swapped = match u32::from_le_bytes(order) {
            BYTE_ORDER => false,
            it if it.swap_bytes() == BYTE_ORDER => true,
            _ => return Err(self.broken("a section without a byte order")),
        };
        let len = self.u32_at(&[a, b, c, d], 0);
        if !(28..=MOST).contains(&len) {
            return Err(self.broken("a section with an impossible length"));
        }
        // Interfaces are counted anew in each section.
        self.form = Form::Pcapng(Vec::new());
        let mut rest = Vec::new();
        self.body(len - 12, &mut rest)?;
        Ok(())
    }

    fn interface(&self, body: &[u8]) -> Result<Interface, CaptureError> {
        if body.len() < 8 {
            return Err(self.broken("an interface without a type"));
        }
        let mut interface = Interface {
            link: u32::from(self.u16_at(body, 0)),
            snap: self.u32_at(body, 4),
            resolution: Resolution::Tenth(6),
            offset: 0,
        };
        let mut options = body.get(8..).unwrap_or_default();
        while options.len() >= 4 {
            let (code, len) = (
                self.u16_at(options, 0),
                usize::from(self.u16_at(options, 2)),
            );
            let Some(value) = options.get(4..4 + len) else {
                return Err(self.broken("an interface whose options are longer than it"));
            };
            match (code, value) {
                (0, _) => break,
                (9, &[resolution]) => {
                    let power = u32::from(resolution & 0x7f);
                    // A finer one has no nanoseconds in 64 bits.
                    interface.resolution = match resolution & 0x80 {
                        0 => Resolution::Tenth(power.min(19)),
                        _ => Resolution::Half(power.min(63)),
                    };
                }
                (14, value) if value.len() == 8 => {
                    let (low, high) = match self.swapped {
                        false => (self.u32_at(value, 0), self.u32_at(value, 4)),
                        true => (self.u32_at(value, 4), self.u32_at(value, 0)),
                    };
                    interface.offset = (u64::from(high) << 32 | u64::from(low)).cast_signed();
                }
                _ => {}
            }
            // The last one may lack what fills it up.
            options = options
                .get(4 + len.next_multiple_of(4)..)
                .unwrap_or_default();
        }
        Ok(interface)
    }

    fn enhanced(&self, bytes: &mut Vec<u8>) -> Result<Packet, CaptureError> {
        let head: [u8; 20] = match bytes.first_chunk() {
            Some(head) => *head,
            None => return Err(self.broken("a packet without a length")),
        };
        let word = |at| self.u32_at(&head, at);
        let of = self.of(word(0))?;
        let units = u64::from(word(4)) << 32 | u64::from(word(8));
        let (here, was) = (word(12), word(16));
        let end = 20 + here as usize;
        if bytes.len() < end {
            return Err(self.broken("a packet that is longer than its block"));
        }
        bytes.truncate(end);
        bytes.drain(..20);
        let since = of.resolution.nanos(units);
        Ok(Packet {
            link: of.link,
            at: since.checked_add_signed(of.offset.saturating_mul(1_000_000_000)),
            whole: here >= was,
        })
    }

    /// A packet of the first interface, without a time.
    fn simple(&self, bytes: &mut Vec<u8>) -> Result<Packet, CaptureError> {
        let of = self.of(0)?;
        if bytes.len() < 4 {
            return Err(self.broken("a packet without a length"));
        }
        let was = self.u32_at(bytes, 0);
        let here = match of.snap {
            0 => was,
            snap => was.min(snap),
        };
        bytes.truncate(4 + here as usize);
        bytes.drain(..4);
        Ok(Packet {
            link: of.link,
            at: None,
            whole: bytes.len() >= was as usize,
        })
    }

    fn of(&self, interface: u32) -> Result<Interface, CaptureError> {
        let all = match &self.form {
            Form::Pcapng(all) => all.as_slice(),
            Form::Pcap { .. } => &[],
        };
        let found = all.get(interface as usize).copied();
        found.ok_or_else(|| self.broken("a packet of an interface that was not described"))
    }

    fn broken(&self, what: &'static str) -> CaptureError {
        CaptureError::Broken {
            at: self.taken,
            what,
        }
    }

    /// Fills it; false at the end of the file, which is torn if it has begun.
    fn more(&mut self, into: &mut [u8]) -> io::Result<bool> {
        let mut have = 0;
        while let Some(rest) = into.get_mut(have..).filter(|rest| !rest.is_empty()) {
            match self.source.read(rest) {
                Ok(0) => {
                    self.torn = have > 0;
                    return Ok(false);
                }
                Ok(n) => have += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.taken += have as u64;
        Ok(true)
    }

    /// So many bytes; false if the file ends in them.
    fn body(&mut self, len: u32, into: &mut Vec<u8>) -> io::Result<bool> {
        into.clear();
        // No more memory than there are bytes.
        let mut source = self.source.by_ref().take(u64::from(len));
        let got = source.read_to_end(into)?;
        self.taken += got as u64;
        self.torn = got < len as usize;
        Ok(!self.torn)
    }

    /// A header that has to be there.
    fn exactly(&mut self, into: &mut [u8]) -> Result<(), CaptureError> {
        match self.more(into)? {
            true => Ok(()),
            false => Err(self.broken("it ends in its header")),
        }
    }

    fn u32_at(&self, bytes: &[u8], at: usize) -> u32 {
        let four = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let word = four.map_or(0, |it| u32::from_le_bytes(*it));
        if self.swapped {
            word.swap_bytes()
        } else {
            word
        }
    }

    fn u16_at(&self, bytes: &[u8], at: usize) -> u16 {
        let two = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let half = two.map_or(0, |it| u16::from_le_bytes(*it));
        if self.swapped {
            half.swap_bytes()
        } else {
            half
        }
    }
}
