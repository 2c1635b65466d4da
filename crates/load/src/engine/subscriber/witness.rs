//! After the last figure, and before subscriptions are deleted: publishing is switched off, so that nothing is
//! on its way any more, and the server's own counts are read, which go with the subscriptions (Part 5, 6.3.3).

use wire::client::Connection;
use wire::service::Response;
use wire::time::Now;
use wire::types::{ReadResponse, SetPublishingModeRequest, StatusCode};

use super::{PendingRequest, Subscriber};
use crate::diagnostics::{self, About};

/// What a session does between the end of the measurement and the deletion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Witness {
    /// Nothing: it deletes its subscriptions at once.
    #[default]
    None,
    /// It has its subscriptions fall silent, and waits until another session has asked the server.
    Waits,
    /// It asks the server.
    Asks {
        /// About sessions, or about the server alone.
        about: About,
        /// About subscriptions too.
        subscriptions: bool,
    },
}

/// What the server said.
#[derive(Debug, Default)]
pub struct ServerCounts {
    /// Of itself and of sessions.
    pub sessions: Option<Result<ReadResponse, StatusCode>>,
    /// Of subscriptions.
    pub subscriptions: Option<Result<ReadResponse, StatusCode>>,
}

impl Subscriber {
    /// Part 4, 5.14.4: without publishing, no more notifications are sent.
    pub(super) fn quieten(&mut self, connection: &mut Connection, now: Now) {
        if self.quiet || self.asked.any(|asked| *asked == PendingRequest::Quiet) {
            return;
        }
        let ids: Vec<u32> = self.by_id.iter().map(|(id, _)| *id).collect();
        if ids.is_empty() {
            self.quiet = true;
            return;
        }
        let request = SetPublishingModeRequest {
            request_header: self.requests.header(now.utc),
            publishing_enabled: false,
            subscription_ids: Some(ids),
        };
        self.send(connection, request, PendingRequest::Quiet, now);
    }

    /// What is to be asked next.
    pub(super) fn next(&self) -> Option<About> {
        let Witness::Asks {
            about,
            subscriptions,
        } = self.orders.witness
        else {
            return None;
        };
        match (&self.heard.sessions, &self.heard.subscriptions) {
            (None, _) => Some(about),
            // Whoever does not answer once is not asked again.
            (Some(Err(_)), _) => None,
            (_, None) if subscriptions => Some(About::Subscriptions),
            _ => None,
        }
    }

    /// Asks for one after the other: what is counted of the first is not to have the second in it.
    pub(super) fn witness(&mut self, connection: &mut Connection, now: Now) {
        let asked = |asked: &PendingRequest| matches!(asked, PendingRequest::Diagnostics(_));
        if let Some(about) = self.next()
            && !self.asked.any(asked)
        {
            let request = diagnostics::request(about, self.requests.header(now.utc));
            self.send(connection, request, PendingRequest::Diagnostics(about), now);
        }
    }

    pub(super) fn silenced(&mut self, answered: Result<(), StatusCode>) {
        self.quiet = true;
        if let Err(status) = answered
            && super::answer::is(status, StatusCode::BadTimeout)
        {
            self.heard.sessions = Some(Err(status));
        }
    }

    pub(super) fn told(&mut self, about: About, answer: Result<&[u8], StatusCode>) {
        let answer = answer.and_then(|body| match super::answer::decode(body)? {
            Response::Read(response) => Ok(response),
            _ => Err(StatusCode::BadUnknownResponse),
        });
        match about {
            About::Subscriptions => self.heard.subscriptions = Some(answer),
            About::Sessions(_) | About::Server(_) => self.heard.sessions = Some(answer),
        }
    }
}
