//! Connections on their way to the loop where their session lives.

use wire::server::RequestId;

use super::link::Link;
use super::{Core, Mail, Post, SlotId};

/// A connection on its way to another loop.
pub struct Moved {
    link: Link,
    id: RequestId,
    body: Vec<u8>,
}

impl Moved {
    /// Whether a session was activated over it.
    pub fn is_known(&self) -> bool {
        self.link.known
    }
}

impl Core {
    /// Gives a connection to the loop where its session lives. What was received and not looked
    /// at goes along; a step of its channel that is under way has to come back first.
    pub(super) fn move_link(&mut self, id: SlotId, home: &Post, request: RequestId, body: &[u8]) {
        let busy = |link: &Link| link.busy > 0;
        if self.links.get(id).is_some_and(busy) {
            if let Some(link) = self.links.get_mut(id) {
                link.leaving = Some((request, body.to_vec()));
            }
            return;
        }
        if self.scratch.is_empty() {
            // It was lent this loop's memory to read into.
            self.take_back(id);
        }
        if let Some(mut link) = self.links.remove(id) {
            // A socket that is not registered here is none that rings here.
            let _ = self.poll.registry().deregister(&mut link.socket);
            home.send(Mail::Moved(Box::new(Moved {
                link,
                id: request,
                body: body.to_vec(),
            })));
        }
    }

    /// Takes a connection from another loop.
    pub(super) fn moved(&mut self, moved: Moved) {
        let Moved {
            mut link,
            id: request,
            body,
        } = moved;
        link.timer = None;
        link.release = None;
        link.waiting = None;
        link.unwritten = false;
        if let Some(id) = self.keep(link) {
            self.request(id, request, &body);
            // What it brought along; what it has still to read rings here.
            self.serve(id);
        }
    }

    /// A step of a channel came back: whoever waited for it to leave, leaves.
    pub(super) fn unbusy(&mut self, id: SlotId) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        link.busy = link.busy.saturating_sub(1);
        if link.busy == 0
            && let Some((request, body)) = link.leaving.take()
        {
            self.request(id, request, &body);
        }
    }
}
