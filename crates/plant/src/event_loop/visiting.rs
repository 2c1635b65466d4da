//! Sessions that are activated over a connection of another loop: the session moves there, with all that it has.
//!
//! So all sessions of a connection live where its socket is, and none of them loses what the others have. Who wants
//! in is proven where the session is: a request that is refused moves nothing.

use std::sync::Arc;

use wire::types::StatusCode;

use super::between_loops::{Caller, ForeignActivation, Moved, Welcome};
use super::{Account, EventLoop, Mail, SlotId};
use crate::space;

/// A session that is to move once nothing is under way for it.
pub struct Departure {
    session: SlotId,
    caller: Caller,
    welcome: Welcome,
}

impl EventLoop {
    /// Another loop has a connection that wants to activate a session.
    pub(super) fn grant(&mut self, wish: ForeignActivation) {
        let token = space::raw(&wish.request.request_header.authentication_token);
        let result = match self.responder.store.sessions.find(token) {
            Ok(session) => self.activate(session, wish.caller, wish.channel, &wish.request),
            // It moved on meanwhile, perhaps even to where it is wanted.
            Err(status) => match self.loops.home_of(token, &self.shared.homes) {
                Some(home) => {
                    home.send(Mail::Activate(Box::new(wish)));
                    return;
                }
                None => Err(status),
            },
        };
        if let Err(status) = result {
            self.turn_down(wish.caller, status);
        }
    }

    /// Tells whoever wanted to activate a session that it is not.
    pub(super) fn turn_down(&mut self, caller: Caller, status: StatusCode) {
        match self.loops.other(caller.core) {
            Some(home) => home.send(Mail::NotActivated(caller.asked, status)),
            None => self.responder.fault(Account::NOBODY, caller.asked, status),
        }
    }

    /// Sends a session to the loop of the connection that it was activated over. Subscriptions that were asked for are
    /// waited for, so that they find it.
    pub(super) fn depart(&mut self, session: SlotId, caller: Caller, welcome: Welcome) {
        self.responder.unseat(session);
        if self.moves.has_for(session) {
            self.moves.departures.push(Departure {
                session,
                caller,
                welcome,
            });
            return;
        }
        let Some(home) = self.loops.get(caller.core).cloned() else {
            return;
        };
        let Some((held, subscriptions)) = self.responder.store.part_with(session) else {
            return self.turn_down(caller, StatusCode::BadSessionIdInvalid);
        };
        let key = held.key;
        let records: Vec<_> = subscriptions
            .iter()
            .map(|subscription| Arc::clone(&subscription.record))
            .collect();
        let moved = Moved {
            asked: caller.asked,
            session: held,
            subscriptions,
            welcome,
        };
        // Whoever asks there finds the session in the mail before the question.
        let (homes, register) = (&self.shared.homes, &self.shared.register);
        homes.moves(key, caller.core, || {
            register.moves(&records, caller.core, || {
                home.send(Mail::Moved(Box::new(moved)));
            });
        });
    }

    /// Sends those on their way that waited for subscriptions.
    pub(super) fn depart_again(&mut self) {
        for waiting in std::mem::take(&mut self.moves.departures) {
            self.depart(waiting.session, waiting.caller, waiting.welcome);
        }
    }

    /// Takes a session in that was activated over a connection of this loop.
    pub(super) fn arrived(&mut self, moved: Moved) {
        let Moved {
            asked,
            session,
            subscriptions,
            welcome,
        } = moved;
        let id = self.responder.store.take_in(session, subscriptions);
        self.responder.seat(id, asked, welcome);
        self.flush(asked.link);
    }
}
