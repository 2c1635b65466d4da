//! After the last figure, and before subscriptions are deleted: publishing is switched off, so that nothing is
//! on its way any more, and the server's own counts are read, which go with the subscriptions (Part 5, 6.3.3).

use wire::service::Response;
use wire::types::{ReadResponse, SetPublishingModeRequest, StatusCode};

use super::answer::{decode, is};
use super::outgoing::Outgoing;
use super::pending::PendingRequest;
use super::subscriptions::Subscriptions;
use crate::diagnostics::{self, DiagnosticsRequest};

/// What a session does between the end of the measurement and the deletion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiagnosticsDuty {
    /// Nothing: it deletes its subscriptions at once.
    #[default]
    None,
    /// It has its subscriptions fall silent, and waits until another session has asked the server.
    Waits,
    /// It asks the server.
    Asks {
        /// About sessions, or about the server alone.
        about: DiagnosticsRequest,
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

/// What is done for it, and how far it is.
#[derive(Debug)]
pub(super) struct ReadingDiagnostics {
    duty: DiagnosticsDuty,
    /// The subscriptions are silent.
    quiet: bool,
    /// What the server said when all was quiet.
    heard: ServerCounts,
}

impl ReadingDiagnostics {
    pub fn new(duty: DiagnosticsDuty) -> Self {
        Self {
            duty,
            quiet: false,
            heard: ServerCounts::default(),
        }
    }

    /// Whether there is anything to do.
    pub fn is_wanted(&self) -> bool {
        self.duty != DiagnosticsDuty::None
    }

    /// Whether the subscriptions are silent, as far as the server was asked for that.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether the server has told what it was asked, as far as it did.
    pub fn is_told(&self) -> bool {
        self.next().is_none()
    }

    /// What the server said, if it was asked.
    pub fn take(&mut self) -> Option<ServerCounts> {
        let asks = matches!(self.duty, DiagnosticsDuty::Asks { .. });
        asks.then(|| std::mem::take(&mut self.heard))
    }

    /// Part 4, 5.14.4: without publishing, no more notifications are sent.
    pub fn quieten(&mut self, out: &mut Outgoing<'_>, subscriptions: &Subscriptions) {
        let asked = |asked: &PendingRequest| *asked == PendingRequest::Quiet;
        if self.quiet || out.pending().any(asked) {
            return;
        }
        if subscriptions.is_empty() {
            self.quiet = true;
            return;
        }
        let request = SetPublishingModeRequest {
            request_header: out.header(),
            publishing_enabled: false,
            subscription_ids: Some(subscriptions.ids()),
        };
        out.send(request, PendingRequest::Quiet);
    }

    /// What is to be asked next.
    fn next(&self) -> Option<DiagnosticsRequest> {
        let DiagnosticsDuty::Asks {
            about,
            subscriptions,
        } = self.duty
        else {
            return None;
        };
        match (&self.heard.sessions, &self.heard.subscriptions) {
            (None, _) => Some(about),
            // Whoever does not answer once is not asked again.
            (Some(Err(_)), _) => None,
            (_, None) if subscriptions => Some(DiagnosticsRequest::Subscriptions),
            _ => None,
        }
    }

    /// Asks for one after the other: what is counted of the first is not to have the second in it.
    pub fn ask(&self, out: &mut Outgoing<'_>) {
        let asked = |asked: &PendingRequest| matches!(asked, PendingRequest::Diagnostics(_));
        if let Some(about) = self.next()
            && !out.pending().any(asked)
        {
            let request = diagnostics::request(about, out.header());
            out.send(request, PendingRequest::Diagnostics(about));
        }
    }

    pub fn silenced(&mut self, answered: Result<(), StatusCode>) {
        self.quiet = true;
        if let Err(status) = answered
            && is(status, StatusCode::BadTimeout)
        {
            self.heard.sessions = Some(Err(status));
        }
    }

    pub fn told(&mut self, about: DiagnosticsRequest, answer: Result<&[u8], StatusCode>) {
        let answer = answer.and_then(|body| match decode(body)? {
            Response::Read(response) => Ok(response),
            _ => Err(StatusCode::BadUnknownResponse),
        });
        match about {
            DiagnosticsRequest::Subscriptions => self.heard.subscriptions = Some(answer),
            DiagnosticsRequest::Sessions(_) | DiagnosticsRequest::Server(_) => {
                self.heard.sessions = Some(answer)
            }
        }
    }
}
