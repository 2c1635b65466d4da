//! Datagrams that go to the kernel together: one call for all of them costs less than one for each.

use std::io;
use std::net::UdpSocket;

use platform::datagram::Sender;

/// So many go together at most. What a message says of its time is older by what the others took.
pub use platform::datagram::MOST;

/// What became of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Those that were taken.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that were not.
    pub refused: u64,
    /// Those that were kept back on purpose.
    pub dropped: u64,
    /// Of `messages` those that were sent once more on purpose.
    pub copies: u64,
}

impl Sent {
    /// Of one message.
    pub fn one(taken: bool, bytes: usize) -> Self {
        match taken {
            true => Self {
                messages: 1,
                bytes: bytes as u64,
                ..Self::default()
            },
            false => Self {
                refused: 1,
                ..Self::default()
            },
        }
    }

    /// Together with others.
    pub fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.refused += other.refused;
        self.dropped += other.dropped;
        self.copies += other.copies;
    }
}

/// A socket, and datagrams that wait for others.
#[derive(Debug)]
pub struct Batch {
    socket: UdpSocket,
    slots: Vec<Vec<u8>>,
    /// How many of them wait.
    filled: usize,
    /// What stands before each of them on its way.
    header: Vec<u8>,
    many: Sender,
}

impl Batch {
    /// What is sent has this before it: nothing if it is datagrams, else the header of frames.
    pub fn new(socket: UdpSocket, header: Vec<u8>) -> Self {
        Self {
            socket,
            slots: vec![Vec::new(); MOST],
            filled: 0,
            header,
            many: Sender::default(),
        }
    }

    /// Where the next one is written. There is always room behind [`push`](Self::push).
    pub fn slot(&mut self) -> Option<&mut Vec<u8>> {
        self.slots.get_mut(self.filled)
    }

    /// It is written. When there is no more room all are sent.
    pub fn push(&mut self) -> io::Result<Sent> {
        debug_assert!(self.filled < self.slots.len());
        self.filled += 1;
        match self.filled < self.slots.len() {
            true => Ok(Sent::default()),
            false => self.flush(),
        }
    }

    /// Sends those that wait.
    pub fn flush(&mut self) -> io::Result<Sent> {
        let mut done = Sent::default();
        let all = self.slots.get(..self.filled).unwrap_or_default();
        self.filled = 0;
        let mut at = 0;
        while let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) {
            let taken = match self.many.send(&self.socket, &self.header, rest) {
                Ok(taken) => taken.clamp(1, rest.len()),
                // Nobody listens there; the error is of an earlier datagram, and this one was not sent.
                Err(error) if is_refused(&error) => {
                    done.refused += 1;
                    at += 1;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let sent = rest.iter().take(taken);
            done.messages += taken as u64;
            done.bytes += sent.map(|it| it.len() as u64).sum::<u64>();
            at += taken;
        }
        Ok(done)
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock
    ) || platform::error::is_queue_full(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(batch: &mut Batch, n: u8) -> Sent {
        let slot = batch.slot().unwrap();
        slot.clear();
        slot.extend(std::iter::repeat_n(n, usize::from(n) + 1));
        batch.push().unwrap()
    }

    #[test]
    fn datagrams_that_go_together_come_as_they_were_one_by_one() {
        let to = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to.local_addr().unwrap()).unwrap();
        let mut batch = Batch::new(socket, Vec::new());
        let mut sent = Sent::default();
        for n in 0..70 {
            sent.add(fill(&mut batch, n));
        }
        assert_eq!(sent.messages, 64, "two whole ones");
        sent.add(batch.flush().unwrap());
        sent.add(batch.flush().unwrap());
        assert_eq!((sent.messages, sent.refused), (70, 0));
        assert_eq!(sent.bytes, (1..=70).sum::<u64>());
        let mut buffer = [0; 128];
        for n in 0..70u8 {
            let len = to.recv(&mut buffer).unwrap();
            assert_eq!(len, usize::from(n) + 1);
            assert!(buffer[..len].iter().all(|it| *it == n));
        }
    }

    #[test]
    fn what_is_refused_and_what_is_sent_is_all_there_was() {
        let gone = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = gone.local_addr().unwrap();
        drop(gone);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(at).unwrap();
        let mut batch = Batch::new(socket, Vec::new());
        let mut sent = Sent::default();
        for n in 0..96 {
            sent.add(fill(&mut batch, n));
        }
        sent.add(batch.flush().unwrap());
        assert_eq!(sent.messages + sent.refused, 96);
        assert!(sent.refused > 0, "{sent:?}");
    }
}
