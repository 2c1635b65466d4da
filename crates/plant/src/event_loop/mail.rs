//! What loops, helpers and the server tell a loop.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use mio::Waker;
use wire::server;
use wire::session::server::Activation;
use wire::time::Instant;
use wire::types::{CreateSessionResponse, StatusCode};

use super::between_loops::{
    Caller, Checked, Decoded, ForeignActivation, ForeignAnswer, Moved, MovedConnection, Secured,
    Wanted,
};
use super::{Account, EventLoop, PendingRequest, SlotId};
use crate::line::Dialled;

/// What others tell a loop.
pub enum Mail {
    /// A step of a channel is done.
    Channel(SlotId, server::Done),
    /// A client's certificate was judged.
    Judged(SlotId, Result<(), StatusCode>),
    /// A long request was decoded.
    Decoded(SlotId, Box<Decoded>),
    /// The certificates that a client asked about were judged.
    Checked(SlotId, Box<Checked>),
    /// The response to a CreateSession request is signed, or not.
    Created(
        PendingRequest,
        SlotId,
        Result<Box<CreateSessionResponse>, StatusCode>,
    ),
    /// The user of an ActivateSession request is known, or not.
    Proven(Caller, SlotId, Result<Box<Activation>, StatusCode>),
    /// A session that lives here is to be activated over a connection of another loop.
    Activate(Box<ForeignActivation>),
    /// A session was activated over a connection of this loop, and moves to it.
    Moved(Box<Moved>),
    /// A session of another loop was not.
    NotActivated(PendingRequest, StatusCode),
    /// There are too many sessions: the oldest that was never activated is to end.
    MakeRoom,
    /// There are too many connections: the oldest without a session are to end.
    EndIdle,
    /// A client was dialled.
    Dialled(Box<Dialled>),
    /// A connection over TLS has been opened.
    Secured(Box<Secured>),
    /// A connection whose session lives here or is to, with the request that says so.
    Led(Box<MovedConnection>),
    /// Another loop wants subscriptions that live here.
    Wanted(Wanted),
    /// What another loop was asked for.
    Given(ForeignAnswer),
    /// The server stands still until then.
    Stall(Instant),
    /// The server begins anew after this time.
    Restart(Duration),
    /// A fault cuts connections.
    Cut(u32),
    /// Faults were added or cleared.
    Faults,
    /// The server stops.
    Stop,
}

/// Where a loop's mail is put.
#[derive(Clone)]
pub struct Post {
    pub(super) sender: Sender<Mail>,
    pub(super) waker: Arc<Waker>,
}

impl Post {
    /// Puts something in and wakes the loop.
    pub fn send(&self, mail: Mail) {
        if self.sender.send(mail).is_ok() {
            // A loop that cannot be woken has ended.
            let _ = self.waker.wake();
        }
    }
}

impl EventLoop {
    /// Does what others told it, but for what is of connections without a session. Whether there was anything.
    pub(super) fn read_mail(&mut self) -> bool {
        let mut any = false;
        while let Some(mail) = self.loops.next_mail() {
            if let Some(mail) = self.responder.connections.put_off(mail, self.loops.index()) {
                self.open(mail);
            }
            any = true;
        }
        any
    }

    /// Does what a letter says.
    pub(super) fn open(&mut self, mail: Mail) {
        let now = self.responder.now;
        match mail {
            Mail::Channel(id, done) => {
                if let Some(link) = self.responder.connections.links.get_mut(id) {
                    link.connection.complete(done, now);
                    link.here.busy = link.here.busy.saturating_sub(1);
                    self.responder.connections.take_job(id);
                    self.serve(id);
                }
            }
            Mail::Judged(id, judged) => {
                if let Some(link) = self.responder.connections.links.get_mut(id) {
                    link.noted = judged.is_err();
                    link.connection.decide(judged, now);
                    link.here.busy = link.here.busy.saturating_sub(1);
                    self.responder.connections.take_job(id);
                    self.serve(id);
                }
            }
            Mail::Decoded(link, decoded) => self.goes_on_with(link, *decoded),
            Mail::Checked(link, checked) => self.checked(link, *checked),
            Mail::Created(asked, session, result) => {
                self.responder.created(asked, session, result);
                self.flush(asked.link);
            }
            Mail::Proven(caller, session, result) => {
                self.proven(caller, session, result);
                if caller.core == self.loops.index() {
                    self.flush(caller.asked.link);
                }
            }
            Mail::Activate(wish) => self.grant(*wish),
            Mail::Moved(moved) => self.arrived(*moved),
            Mail::NotActivated(asked, status) => {
                self.responder.connections.proved(asked.link);
                self.responder.fault(Account::NOBODY, asked, status);
                self.flush(asked.link);
            }
            Mail::MakeRoom => {
                self.responder.end_oldest_unused();
            }
            Mail::EndIdle => {
                self.responder.end_idle();
            }
            Mail::Dialled(dialled) => self.dialled(*dialled),
            Mail::Secured(secured) => self.secured(*secured),
            Mail::Led(led) => self.led(*led),
            Mail::Wanted(wanted) => self.give(wanted),
            Mail::Given(given) => self.given(given),
            Mail::Stall(until) => self.stand_still(until),
            Mail::Restart(away) => self.begin_anew(away),
            Mail::Cut(fault) => self.responder.connections.cut_some(fault, now),
            Mail::Faults => self.responder.schedule_faults(),
            Mail::Stop => self.stop(),
        }
    }
}
