//! Which services a server has: each is sent a request that changes nothing, and what the answer says of it counts.
//!
//! Most requests are empty, which a server that has the service refuses (`BadNothingToDo`), or name a subscription that is not
//! there. One subscription is made and deleted. Services that open and close what this goes through are there; registering at
//! a discovery server would change its list, so that is not tried.

use serde::Serialize;
use wire::service::Service;
use wire::types::{self, CreateSubscriptionRequest, DeleteSubscriptionsRequest, StatusCode};

use super::open;
use crate::access::{Access, AccessError, Session};
use crate::transport::{CallError, Steps};

/// A service, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// The set of Part 4 that it belongs to.
    pub set: &'static str,
    /// Its name.
    pub service: &'static str,
    /// Whether the server has it.
    pub found: Presence,
    /// The code or the words that this was seen by.
    pub answer: String,
}

/// Whether a service is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// The server did it, or looked at it and refused.
    There,
    /// The server says that it has no such service.
    Missing,
    /// The answer does not tell, or there was none.
    Unclear,
}

type Ask = fn(&mut Session) -> Result<(), CallError>;

/// A service of a set, and how it is asked for.
struct Row {
    set: &'static str,
    service: &'static str,
    /// None where what this goes through has it in use.
    ask: Option<Ask>,
}

macro_rules! rows {
    ($($set:literal: $($service:literal $how:tt),*;)*) => {
        &[$($(Row { set: $set, service: $service, ask: rows!(@ $how) },)*)*]
    };
    (@ used) => { None };
    (@ subscribe) => { Some(subscribe as Ask) };
    (@ $request:ident) => { Some(ask::<types::$request> as Ask) };
}

const ROWS: &[Row] = rows! {
    "Discovery":
        "FindServers" FindServersRequest,
        "FindServersOnNetwork" FindServersOnNetworkRequest,
        "GetEndpoints" used;
    "Session":
        "CreateSession" used,
        "ActivateSession" used,
        "CloseSession" used,
        "Cancel" CancelRequest;
    "NodeManagement":
        "AddNodes" AddNodesRequest,
        "AddReferences" AddReferencesRequest,
        "DeleteNodes" DeleteNodesRequest,
        "DeleteReferences" DeleteReferencesRequest;
    "View":
        "Browse" BrowseRequest,
        "BrowseNext" BrowseNextRequest,
        "TranslateBrowsePathsToNodeIds" TranslateBrowsePathsToNodeIdsRequest,
        "RegisterNodes" RegisterNodesRequest,
        "UnregisterNodes" UnregisterNodesRequest;
    "Query":
        "QueryFirst" QueryFirstRequest,
        "QueryNext" QueryNextRequest;
    "Attribute":
        "Read" used,
        "HistoryRead" HistoryReadRequest,
        "Write" WriteRequest,
        "HistoryUpdate" HistoryUpdateRequest;
    "Method":
        "Call" CallRequest;
    "MonitoredItem":
        "CreateMonitoredItems" CreateMonitoredItemsRequest,
        "ModifyMonitoredItems" ModifyMonitoredItemsRequest,
        "SetMonitoringMode" SetMonitoringModeRequest,
        "SetTriggering" SetTriggeringRequest,
        "DeleteMonitoredItems" DeleteMonitoredItemsRequest;
    "Subscription":
        "CreateSubscription" subscribe,
        "ModifySubscription" ModifySubscriptionRequest,
        "SetPublishingMode" SetPublishingModeRequest,
        "Republish" RepublishRequest,
        "TransferSubscriptions" TransferSubscriptionsRequest,
        "DeleteSubscriptions" DeleteSubscriptionsRequest,
        // Last: some servers keep it until there is a subscription, and nothing comes behind it then.
        "Publish" PublishRequest;
};

fn ask<S: Service + Default>(session: &mut Session) -> Result<(), CallError> {
    session.call(S::default()).map(drop)
}

/// Makes a subscription without items that says nothing, and deletes it.
fn subscribe(session: &mut Session) -> Result<(), CallError> {
    let made = session.call(CreateSubscriptionRequest {
        requested_publishing_interval: 10_000.0,
        requested_lifetime_count: 30,
        requested_max_keep_alive_count: 10,
        ..Default::default()
    })?;
    let ids = Some(vec![made.subscription_id]);
    // Where it cannot be deleted it ends with the session.
    let _ = session.call(DeleteSubscriptionsRequest {
        subscription_ids: ids,
        ..Default::default()
    });
    Ok(())
}

/// Tries all of them, in a session of its own, or in several where the server ends one for being asked.
///
/// # Errors
/// There is no session.
pub fn services(access: &Access) -> Result<Vec<Tried>, AccessError> {
    let opening = access.discover()?;
    let mut session = open(access, &opening, &mut Steps::new())?;
    let mut all = Vec::with_capacity(ROWS.len());
    for row in ROWS {
        let answer = row.ask.map(|ask| ask(&mut session));
        let is_over = matches!(
            answer,
            Some(Err(CallError::Link(_)
                | CallError::Send(_)
                | CallError::TimedOut(_)))
        );
        let (found, answer) = told(row, answer);
        all.push(Tried {
            set: row.set,
            service: row.service,
            found,
            answer,
        });
        // What comes late would be taken for the next answer's neighbour.
        if is_over {
            session = open(access, &opening, &mut Steps::new())?;
        }
    }
    session.close(&mut Steps::new())?;
    Ok(all)
}

/// What an answer says of its service.
fn told(row: &Row, answer: Option<Result<(), CallError>>) -> (Presence, String) {
    let error = match answer {
        None => return (Presence::There, "in use".to_owned()),
        Some(Ok(())) => return (Presence::There, "Good".to_owned()),
        Some(Err(error)) => error,
    };
    let found = match &error {
        CallError::Service(it) => match it.status() {
            StatusCode::BadServiceUnsupported
            | StatusCode::BadNotImplemented
            | StatusCode::BadNotSupported => Presence::Missing,
            StatusCode::BadUserAccessDenied | StatusCode::BadUnexpectedError => Presence::Unclear,
            _ => Presence::There,
        },
        // Something of it came back.
        CallError::Decode(_) => Presence::There,
        // Nothing is due without a subscription, and it may be kept until there is one.
        CallError::TimedOut(_) if row.service == "Publish" => Presence::There,
        _ => Presence::Unclear,
    };
    let text = match &error {
        CallError::Service(it) => it.status().sub_code().to_string(),
        other => other.to_string(),
    };
    (found, text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use wire::service;

    use super::*;

    fn row(service: &str) -> &'static Row {
        ROWS.iter().find(|it| it.service == service).unwrap()
    }

    #[test]
    fn an_answer_says_whether_a_service_is_there() {
        let refused = |code| {
            let fault = service::Fault {
                status: code,
                diagnostics: Default::default(),
                strings: Vec::new(),
            };
            let error = CallError::Service(Box::new(fault).into());
            told(row("QueryFirst"), Some(Err(error))).0
        };
        assert_eq!(
            refused(StatusCode::BadServiceUnsupported),
            Presence::Missing
        );
        assert_eq!(refused(StatusCode::BadNothingToDo), Presence::There);
        assert_eq!(refused(StatusCode::BadUserAccessDenied), Presence::Unclear);
        let late = || Some(Err(CallError::TimedOut(Duration::from_secs(1))));
        assert_eq!(told(row("Publish"), late()).0, Presence::There);
        assert_eq!(told(row("Read"), late()).0, Presence::Unclear);
    }
}
