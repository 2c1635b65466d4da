//! A connection without a system: two queues of bytes, and what a poll would tell of them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ready::Ready;

/// The server's end.
pub struct ServerEnd(Arc<Mutex<PipeState>>);

/// A client's end of a connection in memory.
pub struct ClientEnd(Arc<Mutex<PipeState>>);

#[derive(Default)]
struct PipeState {
    to_server: VecDeque<u8>,
    to_client: VecDeque<u8>,
    /// So many bytes the client's side takes before it reads.
    room: usize,
    /// No more comes from the client, from the server.
    client_closed: bool,
    server_closed: bool,
    /// What happened since the server was told: each change is told once.
    readable: bool,
    writable: bool,
}

/// Both ends of a connection whose client takes `room` bytes before it reads them.
pub fn pair(room: usize) -> (ServerEnd, ClientEnd) {
    let state = Arc::new(Mutex::new(PipeState {
        room,
        ..PipeState::default()
    }));
    (ServerEnd(Arc::clone(&state)), ClientEnd(state))
}

fn lock(state: &Mutex<PipeState>) -> MutexGuard<'_, PipeState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(from: &mut VecDeque<u8>, space: &mut [u8]) -> usize {
    let count = from.len().min(space.len());
    for (place, byte) in space.iter_mut().zip(from.drain(..count)) {
        *place = byte;
    }
    count
}

impl ServerEnd {
    pub fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        let mut state = lock(&self.0);
        match take(&mut state.to_server, space) {
            0 if !state.client_closed => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = lock(&self.0);
        if state.client_closed || state.server_closed {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let room = state.room.saturating_sub(state.to_client.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        state.to_client.extend(taken);
        match taken.len() {
            0 if !bytes.is_empty() => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    pub fn close(&self) {
        lock(&self.0).server_closed = true;
    }

    /// Tells all there is once more: another loop looks at it now.
    pub fn ring(&self) {
        let mut state = lock(&self.0);
        state.writable = true;
        state.readable = !state.to_server.is_empty() || state.client_closed;
    }

    /// What happened since it was asked last.
    pub fn happened(&self) -> Option<Ready> {
        let mut state = lock(&self.0);
        let ready = Ready {
            readable: std::mem::take(&mut state.readable),
            writable: std::mem::take(&mut state.writable),
            due: false,
        };
        (ready.readable || ready.writable).then_some(ready)
    }
}

impl Drop for ServerEnd {
    fn drop(&mut self) {
        self.close();
    }
}

impl ClientEnd {
    /// Sends bytes.
    pub fn send(&self, bytes: &[u8]) {
        let mut state = lock(&self.0);
        state.to_server.extend(bytes);
        state.readable |= !bytes.is_empty();
    }

    /// Takes at most so many bytes of what came.
    pub fn take(&self, most: usize) -> Vec<u8> {
        let mut state = lock(&self.0);
        let count = state.to_client.len().min(most);
        let taken = state.to_client.drain(..count).collect();
        state.writable |= count > 0;
        taken
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&self) -> bool {
        lock(&self.0).server_closed
    }

    /// Bytes that came and were not taken.
    pub fn waiting(&self) -> usize {
        lock(&self.0).to_client.len()
    }
}

impl Drop for ClientEnd {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.client_closed = true;
        // As of a socket that was reset: whoever writes is told, too.
        state.readable = true;
        state.writable = true;
    }
}
