//! Connections on their way from the acceptor to the loop where their session lives or is to. No session is bound to
//! them yet: one that has come to a loop stays there, and sessions come to it.

use wire::server::RequestId;

use super::between_loops::Led;
use super::link::Link;
use super::{EventLoop, Mail, Post, SlotId};

impl EventLoop {
    /// Gives a connection to the loop where its session lives. What was received and not looked
    /// at goes along; a step of its channel that is under way has to come back first.
    pub(super) fn lead(&mut self, id: SlotId, home: &Post, request: RequestId, body: &[u8]) {
        let busy = |link: &Link| link.busy > 0;
        if self.links.get(id).is_some_and(busy) {
            if let Some(link) = self.links.get_mut(id) {
                // What it asks next is looked at where it goes.
                link.paused = true;
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
            link.socket.deregister(self.poll.registry());
            home.send(Mail::Led(Box::new(Led {
                link,
                id: request,
                body: body.to_vec(),
            })));
        }
    }

    /// Takes a connection from the acceptor.
    pub(super) fn led(&mut self, led: Led) {
        let Led {
            mut link,
            id: request,
            body,
        } = led;
        link.paused = false;
        link.timer = None;
        link.release = None;
        link.waiting = None;
        link.unwritten = false;
        link.forget_sessions();
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
