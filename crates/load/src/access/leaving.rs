//! Sessions that are closed at the end of a load, one behind the other.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Session;
use crate::transport::tasks::blocking;

/// Sessions that leave. A server that is away is waited for once, not once for each of its sessions: what a load has
/// measured would be kept up by as much.
#[derive(Debug, Default)]
pub struct Leaving {
    /// Servers that did not answer.
    silent: BTreeSet<usize>,
}

/// What other servers have when one was away.
const SHORT: Duration = Duration::from_millis(500);

impl Leaving {
    /// Closes a session with this server; those of a server that is away lose their socket only.
    pub fn leave(&mut self, server: usize, session: Session) {
        blocking(self.leave_in_turn(server, session));
    }

    /// The same for a task.
    pub async fn leave_in_turn(&mut self, server: usize, session: Session) {
        if self.silent.contains(&server) {
            return;
        }
        let most = match self.silent.is_empty() {
            true => Duration::MAX,
            false => SHORT,
        };
        if !session.leave_within(most).await {
            self.silent.insert(server);
        }
    }
}
