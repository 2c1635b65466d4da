//! Connections on their way from the acceptor to the loop where their session lives or is to. No session is bound to
//! them yet: one that has come to a loop stays there, and sessions come to it.

use wire::server::RequestId;

use super::between_loops::MovedConnection;
use super::{EventLoop, Mail, Post, SlotId};

impl EventLoop {
    /// Gives a connection to the loop where its session lives. What was received and not looked
    /// at goes along; a step of its channel that is under way has to come back first.
    pub(super) fn lead(&mut self, id: SlotId, home: &Post, request: RequestId, body: &[u8]) {
        let link = self.responder.connections.links.get_mut(id);
        if let Some(link) = link.filter(|link| link.here.is_engaged()) {
            // What it asks next is looked at where it goes.
            link.here.pause();
            link.here.leaving = Some((request, body.to_vec()));
            return;
        }
        if let Some(link) = self.responder.connections.part_with(id) {
            home.send(Mail::Led(Box::new(MovedConnection {
                link,
                id: request,
                body: body.to_vec(),
            })));
        }
    }

    /// Takes a connection from the acceptor.
    pub(super) fn led(&mut self, led: MovedConnection) {
        let MovedConnection {
            mut link,
            id: request,
            body,
        } = led;
        link.forget_loop();
        if let Some(id) = self
            .responder
            .connections
            .keep(link, &mut self.responder.store.timers)
        {
            self.request(id, request, &body);
            // What it brought along; what it has still to read rings here.
            self.serve(id);
            // What came in part is not waited for without end, even if nothing comes any more.
            let timers = &mut self.responder.store.timers;
            self.responder.connections.schedule(id, timers);
        }
    }

    /// A connection that waited for something to be done before it leaves, leaves. Whether it waited for that.
    pub(super) fn set_off(&mut self, id: SlotId) -> bool {
        let link = self
            .responder
            .connections
            .links
            .get_mut(id)
            .filter(|link| !link.here.is_engaged());
        let Some(link) = link else {
            return false;
        };
        let Some((request, body)) = link.here.leaving.take() else {
            return false;
        };
        // What faults hold back waited for this.
        link.here.release = None;
        self.request(id, request, &body);
        true
    }
}

#[cfg(test)]
mod tests;
