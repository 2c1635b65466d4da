//! What a server has to refuse: each is shown to it once.

use std::fmt::Display;

use pki::Key;
use pki::make::Request;
use record::security::{Outcome, Refusal};
use wire::policy::Policy;
use wire::session::client::SessionError;
use wire::types::{
    ActivateSessionRequest, AnonymousIdentityToken, ApplicationDescription, CloseSessionRequest,
    CreateSessionRequest, ExtensionObject, RequestHeader, StatusCode, UserTokenType,
};

use crate::access::{
    Access, AccessError, Credentials, Endpoint, Opening, Security, identity, key_kind,
};
use crate::transport::{CallError, Link, LinkError, Steps, TransportStep};

/// Nobody has this name, and so nobody is locked out by a wrong password.
const NOBODY: &str = "uaperf-nobody";

/// Shows the server what it has to refuse.
pub(super) fn all(access: &Access, endpoints: &[Endpoint]) -> Vec<Refusal> {
    let secured = endpoints
        .iter()
        .filter(|it| it.protection.is_some_and(|it| it.policy != Policy::None))
        .max_by_key(|it| it.protection.map(|it| (it.mode, it.policy)));
    let mut all = Vec::new();
    match secured {
        Some(endpoint) => {
            let access = Access {
                security: exactly(endpoint),
                user: Credentials::Anonymous,
                ..access.clone()
            };
            let unknown = unknown_client(&access, endpoint, "an unknown client certificate", None);
            let expired = match unknown.outcome {
                Outcome::Accepted => unknown_client(&access, endpoint, EXPIRED, Some(2)),
                _ => not_tried(EXPIRED, "an unknown one is refused before its dates count"),
            };
            all.extend([unknown, expired, other_uri(&access, endpoint)]);
        }
        None => {
            let why = "no endpoint asks for certificates";
            all.extend(
                ["an unknown client certificate", EXPIRED, OTHER_URI].map(|it| not_tried(it, why)),
            );
        }
    }
    all.push(unprotected(access, endpoints));
    all.push(nobody(access, endpoints));
    all
}

const EXPIRED: &str = "an expired client certificate";
const OTHER_URI: &str = "a certificate of another application URI";
const UNPROTECTED: &str = "a session without protection, which is not offered";

fn exactly(endpoint: &Endpoint) -> Security {
    endpoint
        .protection
        .map_or(Security::Best, Security::Exactly)
}

fn not_tried(what: &str, why: impl Display) -> Refusal {
    Refusal {
        what: what.to_owned(),
        outcome: Outcome::NotTried,
        told: why.to_string(),
    }
}

fn accepted(what: &str, told: &str) -> Refusal {
    Refusal {
        what: what.to_owned(),
        outcome: Outcome::Accepted,
        told: told.to_owned(),
    }
}

fn refused(what: &str, step: &str, status: StatusCode) -> Refusal {
    Refusal {
        what: what.to_owned(),
        outcome: Outcome::Refused,
        told: format!("{} at {step}", status.sub_code()),
    }
}

/// A certificate that is made for this, and thrown away. With `days`, one that expired so long ago.
fn unknown_client(
    access: &Access,
    endpoint: &Endpoint,
    what: &str,
    expired_days: Option<u32>,
) -> Refusal {
    const URI: &str = "urn:uaperf:unknown";
    let today = access.today();
    let mut request = Request::application(URI).host("localhost");
    if let Some(days) = expired_days {
        request = request
            .from(today.plus_days(-2 * i64::from(days)))
            .days(days);
    }
    let policy = endpoint.protection.map_or(Policy::None, |it| it.policy);
    let made = Key::make(key_kind(policy))
        .map_err(|error| error.to_string())
        .and_then(|key| {
            let certificate = request.self_signed(&key, today);
            let certificate = certificate.map_err(|error| error.to_string())?;
            identity(&pki::Identity::new(certificate, key)).map_err(|error| error.to_string())
        });
    match made {
        Ok(identity) => try_it(access, endpoint, what, |opening| {
            opening.posing(URI, Some(identity))
        }),
        Err(error) => not_tried(what, error),
    }
}

/// Our own certificate, and a URI that is not the one in it (Part 4, 6.1.3: BadCertificateUriInvalid).
fn other_uri(access: &Access, endpoint: &Endpoint) -> Refusal {
    try_it(access, endpoint, OTHER_URI, |opening| {
        opening.posing("urn:uaperf:another", None)
    })
}

/// Opens a session as far as certificates matter: the user comes after them.
fn try_it(
    access: &Access,
    endpoint: &Endpoint,
    what: &str,
    change: impl FnOnce(Opening) -> Opening,
) -> Refusal {
    let kind = UserTokenType::Anonymous;
    let anonymous = endpoint.tokens().is_empty() || endpoint.token(kind).is_some();
    let access = Access {
        // Somebody has to be named; that nobody of this name exists shows after the certificate.
        user: match anonymous {
            true => Credentials::Anonymous,
            false => wrong_user(),
        },
        ..access.clone()
    };
    let opening = match access.discover() {
        Ok(opening) => change(opening),
        Err(error) => return not_tried(what, error),
    };
    match access.open(&opening, &mut Steps::new()) {
        Ok(session) => {
            session.leave();
            accepted(what, "a session was activated")
        }
        Err(error) => match (at(&error), error.status()) {
            (Some(TransportStep::ActivateSession), status) if is_of_user(status) => {
                accepted(what, "a channel was opened and a session created")
            }
            (Some(step), status) => refused(what, step.name(), status),
            (None, _) => not_tried(what, error),
        },
    }
}

fn is_of_user(status: StatusCode) -> bool {
    let of_user = [
        StatusCode::BadUserAccessDenied,
        StatusCode::BadIdentityTokenInvalid,
        StatusCode::BadIdentityTokenRejected,
    ];
    of_user.iter().any(|it| it.sub_code() == status.sub_code())
}

/// Where the server said no; none where something else went wrong.
fn at(error: &AccessError) -> Option<TransportStep> {
    match error {
        AccessError::Link(LinkError::ClosedAt(step)) => Some(*step),
        AccessError::Link(LinkError::Channel(_)) => Some(TransportStep::OpenChannel),
        AccessError::Call {
            step,
            error: CallError::Service(_) | CallError::Link(_),
        } => Some(*step),
        AccessError::Session(SessionError::Refused { service, .. }) => Some(match *service {
            "CreateSession" => TransportStep::CreateSession,
            _ => TransportStep::ActivateSession,
        }),
        _ => None,
    }
}

/// A session over a channel without protection. Such a channel every server opens, for discovery.
fn unprotected(access: &Access, endpoints: &[Endpoint]) -> Refusal {
    let offered = |it: &&Endpoint| it.protection.is_some_and(|it| it.policy == Policy::None);
    if endpoints.iter().any(|it| offered(&it)) {
        return not_tried(UNPROTECTED, "it is offered");
    }
    let mut link = match Link::open(&access.url, &access.reaching(), &mut Steps::new()) {
        Ok(link) => link,
        Err(error) => return not_tried(UNPROTECTED, error),
    };
    let first = endpoints.first().map(|it| &it.description);
    let asked = CreateSessionRequest {
        client_description: ApplicationDescription {
            // A request for an application is made with one.
            application_uri: access.own.application_uri().unwrap_or_default().into(),
            ..Default::default()
        },
        server_uri: Default::default(),
        endpoint_url: first.map_or_else(Default::default, |it| it.endpoint_url.clone()),
        session_name: NOBODY.into(),
        requested_session_timeout: 10_000.0,
        ..Default::default()
    };
    let null = wire::types::NodeId::null();
    let made = match link.call(&null, asked) {
        Ok(made) => made,
        Err(error) => return refused_by(UNPROTECTED, TransportStep::CreateSession, &error),
    };
    let status = made.response_header.service_result;
    if status.is_bad() {
        return refused(UNPROTECTED, TransportStep::CreateSession.name(), status);
    }
    let token = made.authentication_token;
    let anonymous = |it: &Endpoint| Some(it.token(UserTokenType::Anonymous)?.policy_id.clone());
    let policy_id = endpoints.iter().find_map(anonymous);
    let activated = link.call(
        &token,
        ActivateSessionRequest {
            user_identity_token: ExtensionObject::from_message(AnonymousIdentityToken {
                policy_id: policy_id.unwrap_or_else(|| "anonymous".into()),
            }),
            ..Default::default()
        },
    );
    match activated {
        Ok(response) if response.response_header.service_result.is_bad() => {
            let status = response.response_header.service_result;
            refused(UNPROTECTED, TransportStep::ActivateSession.name(), status)
        }
        Ok(_) => {
            // Whether it is closed in good order is of no interest.
            let _ = link.call(
                &token,
                CloseSessionRequest {
                    request_header: RequestHeader::default(),
                    delete_subscriptions: true,
                },
            );
            accepted(UNPROTECTED, "a session was activated")
        }
        Err(error) => refused_by(UNPROTECTED, TransportStep::ActivateSession, &error),
    }
}

fn refused_by(what: &str, step: TransportStep, error: &CallError) -> Refusal {
    match error {
        CallError::Service(_) | CallError::Link(_) => refused(what, step.name(), error.status()),
        _ => not_tried(what, error),
    }
}

/// A user that there is not, whom nobody can lock out.
pub(crate) fn wrong_user() -> Credentials {
    Credentials::UserName {
        name: NOBODY.to_owned(),
        password: "no such password".to_owned().into(),
    }
}

/// A user that nobody made, over the best protection that takes user names.
fn nobody(access: &Access, endpoints: &[Endpoint]) -> Refusal {
    const WHAT: &str = "a user that does not exist";
    let takes = |it: &&Endpoint| it.token(UserTokenType::UserName).is_some();
    let best = endpoints
        .iter()
        .filter(|it| it.protection.is_some())
        .filter(takes)
        .max_by_key(|it| it.protection.map(|it| (it.mode, it.policy)));
    let Some(endpoint) = best else {
        return not_tried(WHAT, "no endpoint takes user names");
    };
    let access = Access {
        security: exactly(endpoint),
        user: wrong_user(),
        // Of a user that does not exist nothing is given away.
        plain_password: true,
        ..access.clone()
    };
    let opening = match access.discover() {
        Ok(opening) => opening,
        Err(error) => return not_tried(WHAT, error),
    };
    match access.open(&opening, &mut Steps::new()) {
        Ok(session) => {
            session.leave();
            accepted(WHAT, "a session was activated")
        }
        Err(error) => match (at(&error), error.status()) {
            (Some(step @ TransportStep::ActivateSession), status) => {
                refused(WHAT, step.name(), status)
            }
            _ => not_tried(WHAT, error),
        },
    }
}
