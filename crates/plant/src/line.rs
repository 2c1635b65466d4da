//! The line to a client that the server dials: what became of the last connection.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wire::url::Url;

/// What becomes of the connection at a client that nobody uses yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineState {
    /// There is none.
    Missing,
    /// It is there.
    Idle,
    /// It ended before anybody used it.
    Lost,
    /// The server stops.
    Over,
}

/// The line to one client.
#[derive(Debug)]
pub struct Line {
    client: Url,
    state: Mutex<LineState>,
    changed: Condvar,
}

impl Line {
    /// To this client; there is no connection yet.
    pub fn to(client: Url) -> Self {
        Self {
            client,
            state: Mutex::new(LineState::Missing),
            changed: Condvar::new(),
        }
    }

    /// Where it leads.
    pub fn client(&self) -> &Url {
        &self.client
    }

    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something became of the connection.
    pub fn set(&self, state: LineState) {
        let mut now = self.state();
        if *now != LineState::Over {
            *now = state;
            self.changed.notify_all();
        }
    }

    /// The client said hello over it: the next one is due.
    pub fn used(&self) {
        self.set(LineState::Missing);
    }

    /// It ended without.
    pub fn lost(&self) {
        self.set(LineState::Lost);
    }

    /// Nobody dials any more.
    pub fn end(&self) {
        self.set(LineState::Over);
    }

    /// Waits until it is in another state than this one, or so long.
    pub fn leaves(&self, state: LineState, at_most: Option<Duration>) -> LineState {
        let now = self.state();
        let is_so = |now: &mut LineState| *now == state;
        let now = match at_most {
            None => self
                .changed
                .wait_while(now, is_so)
                .unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                let waited = self.changed.wait_timeout_while(now, time, is_so);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        *now
    }
}

/// A connection to a client, and the line that it is of.
#[derive(Debug)]
pub struct Dialled {
    pub socket: mio::net::TcpStream,
    pub line: Arc<Line>,
}
