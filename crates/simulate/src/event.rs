//! What is due at a time.

/// What is due, and when. Events of the same time are in the order of what they are and whom they are about, so that
/// the order of a simulation does not depend on the order in which they were planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When.
    pub at: u64,
    /// Kind, epoch and index in one number.
    key: u64,
}

/// What can be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// Something happens to the plant.
    Happens,
    /// It is over.
    Over,
    /// A server's loop updates its variables.
    Update,
    /// A job of publishing is done.
    Published,
    /// A step of connecting is done at the server.
    StepDone,
    /// An answer to a request is ready.
    Answered,
    /// A step's request is at the server.
    StepAsked,
    /// A request is at the server.
    Asked,
    /// A Publish request is at the server that a subscription waits for.
    Token,
    /// A subscription's publishing interval is over.
    Publish,
    /// A notification message is at the client.
    Arrives,
    /// A step's answer is at the client.
    StepTaken,
    /// An answer is at the client.
    Taken,
    /// What was lost on the way down is sent again.
    AgainDown,
    /// What was lost on the way up is sent again.
    AgainUp,
    /// A request is sent again.
    AgainRequest,
    /// A step of connecting is sent again.
    AgainStep,
    /// A client looks whether its server is still there.
    Watchdog,
    /// A client gives an attempt to connect up.
    GiveUp,
    /// A client connects.
    Connect,
    /// A client's next request is due.
    Request,
    /// A look at the whole.
    Look,
}

impl What {
    const ALL: [Self; 22] = [
        Self::Happens,
        Self::Over,
        Self::Update,
        Self::Published,
        Self::StepDone,
        Self::Answered,
        Self::StepAsked,
        Self::Asked,
        Self::Token,
        Self::Publish,
        Self::Arrives,
        Self::StepTaken,
        Self::Taken,
        Self::AgainDown,
        Self::AgainUp,
        Self::AgainRequest,
        Self::AgainStep,
        Self::Watchdog,
        Self::GiveUp,
        Self::Connect,
        Self::Request,
        Self::Look,
    ];
}

impl Event {
    /// An event; `epoch` tells those of an earlier connection, subscription or start apart.
    #[inline]
    pub const fn new(at: u64, what: What, epoch: u16, index: u32) -> Self {
        let key = ((what as u64) << 56) | ((epoch as u64) << 32) | index as u64;
        Self { at, key }
    }

    /// What is due.
    #[inline]
    pub const fn what(self) -> What {
        What::ALL[(self.key >> 56) as usize % What::ALL.len()]
    }

    /// Of which connection, subscription or start.
    #[inline]
    pub const fn epoch(self) -> u16 {
        (self.key >> 32) as u16
    }

    /// The index of whom it is about.
    #[inline]
    pub const fn index(self) -> u32 {
        self.key as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_says_what_it_was_made_of() {
        for (n, what) in What::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, n);
            let event = Event::new(7, what, u16::MAX, u32::MAX);
            assert_eq!(event.what(), what);
            assert_eq!((event.epoch(), event.index()), (u16::MAX, u32::MAX));
        }
    }
}
