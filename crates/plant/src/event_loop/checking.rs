//! Certificates that are checked for others: by helpers, since authorities may have to be asked. What the connection asks
//! next waits meanwhile, so that each has one such request under way.

use std::sync::Arc;

use wire::channel::Protection;
use wire::server::RequestId;
use wire::types::{CallRequest, StatusCode};

use super::between_loops::Checked;
use super::connection_state::HelperTask;
use super::{Account, EventLoop, Mail, PendingRequest, Responder, SlotId};
use crate::diagnostics::Service;
use crate::service::check;
use crate::service::steps::Making;
use crate::space;

impl EventLoop {
    /// The certificates of a request were judged.
    pub(super) fn checked(&mut self, link: SlotId, checked: Checked) {
        let Some(there) = self.responder.connections.links.get_mut(link) else {
            return;
        };
        there.here.helper_task = HelperTask::None;
        there.here.busy = there.here.busy.saturating_sub(1);
        self.responder.work_recorder.look_at(there);
        let (id, handle) = (checked.id, checked.request.request_header.request_handle);
        let token = space::raw(&checked.request.request_header.authentication_token);
        let account = self.responder.account(token, Some(Service::Call));
        let asked = PendingRequest { link, id, handle };
        if let Err(status) = self.responder.answer_checked(account, asked, checked) {
            self.responder.fault(account, asked, status);
        }
        if let Some(there) = self.responder.connections.links.get_mut(link) {
            self.responder.work_recorder.leave(there);
        }
        self.flush(link);
    }
}

impl Responder {
    /// Has the certificates of a request judged. Gives it back if it has none, or is to be refused anyway.
    pub(super) fn have_checked(
        &mut self,
        link: SlotId,
        id: RequestId,
        mut request: CallRequest,
        bytes: usize,
    ) -> Result<Option<CallRequest>, StatusCode> {
        if !self.shared.config.check_revocation {
            return Ok(Some(request));
        }
        let shared = Arc::clone(&self.shared);
        let methods = request.methods_to_call.as_ref().map_or(0, Vec::len);
        let token = space::raw(&request.request_header.authentication_token);
        let session = self.session_for(token, link)?;
        let post = self.connections.post.clone();
        let (Some(there), Some(session)) = (
            self.connections.links.get_mut(link),
            self.store.sessions.get_mut(session),
        ) else {
            return Ok(Some(request));
        };
        if methods > shared.config.limits.methods_per_call {
            return Ok(Some(request));
        }
        let signed = there.connection.protection() != Protection::NONE;
        let Some(checks) = check::wanted(&shared.space, &mut request, session.rights, signed)
        else {
            return Ok(Some(request));
        };
        let mut held = Making::default();
        held.is(bytes, &session.budget)?;
        there.here.helper_task = HelperTask::Proving;
        there.here.busy += 1;
        let asks = shared.config.trust.asks_for_others();
        let work = move || {
            let judge = |certificate: &[u8]| shared.config.trust.check(certificate);
            let checks = checks.into_iter();
            let outcomes = checks.map(|check| Some(check?.outcome(judge)));
            let outcomes = outcomes.collect();
            let checked = Checked {
                id,
                request,
                outcomes,
                bytes,
                held,
            };
            post.send(Mail::Checked(link, Box::new(checked)));
        };
        match asks {
            true => self.connections.pool.wait_for_others(work),
            false => self.connections.pool.submit(work),
        }
        Ok(None)
    }

    fn answer_checked(
        &mut self,
        account: Account,
        asked: PendingRequest,
        mut checked: Checked,
    ) -> Result<(), StatusCode> {
        let header = &checked.request.request_header;
        // What is left of it has its own share of the session's memory.
        drop(checked.held);
        // It may have ended meanwhile.
        let number = self.session_for(space::raw(&header.authentication_token), asked.link)?;
        let context = self.store.context(&self.shared, number, self.now);
        let mut context = context.ok_or(StatusCode::BadSessionIdInvalid)?;
        let steps = context.call_knowing(&mut checked.request, checked.outcomes)?;
        self.take_steps(account, asked, number, (steps, checked.bytes))
    }
}
