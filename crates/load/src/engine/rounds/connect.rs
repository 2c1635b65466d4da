//! Rounds of connecting: to a session, back to one, to another token of its channel.

use std::net::IpAddr;
use std::time::Duration;

use plan::unit::duration::nanos;
use plan::{Connect, ConnectKind};
use wire::types::StatusCode;
use wire::url::Transport;

use super::client::Client;
use super::recorder::Note;
use super::round::Round;
use crate::access::{Access, AccessError, Opening, Session};
use crate::transport::{Steps, TransportStep};

/// A server that was told that a channel is closed is to close the socket; this long is waited for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// One round. A client that comes out of it without a session has lost it.
pub async fn round(
    client: &mut Client<'_>,
    plan: &Connect,
    round: &mut Round<'_>,
) -> Result<(), StatusCode> {
    if plan.kind.begins_open() && client.session.is_none() && client.detached.is_none() {
        client.open().await.map_err(|error| error.status())?;
    }
    let session = match plan.kind {
        ConnectKind::Storm | ConnectKind::Churn => open(client, round).await,
        ConnectKind::Reconnect => come_back(client, round).await,
        ConnectKind::Renewal => renew(client, round).await,
    };
    let mut session = session?;
    for _ in 0..plan.reads {
        let read = async {
            let read = session.read_state_in_turn().await;
            read.map_err(|error| error.status())
        };
        round.step("read", read).await?;
    }
    client.session = Some(session);
    Ok(())
}

async fn open(client: &Client<'_>, round: &mut Round<'_>) -> Result<Session, StatusCode> {
    let (access, opening) = (&client.target.access, &client.target.opening);
    let (began, mut steps) = (round.t(), Steps::new());
    let index = client.seat.index as usize;
    let opened = access.open_as_in_turn(index, opening, &mut steps).await;
    let failed = opened.as_ref().err().map(AccessError::status);
    let order = order(
        access,
        opening,
        &[TransportStep::CreateSession, TransportStep::ActivateSession],
    );
    note(round, access, began, &steps, &order, failed);
    opened.map_err(|error| error.status())
}

/// Drops the socket as a broken cable does, and brings the session back over a new channel.
async fn come_back(client: &mut Client<'_>, round: &mut Round<'_>) -> Result<Session, StatusCode> {
    if let Some(session) = client.session.take() {
        let (socket, connection, detached) = session.take_apart();
        drop((socket, connection));
        client.detached = Some(Box::new(detached));
    }
    let Some(detached) = client.detached.take() else {
        return Err(StatusCode::BadSessionIdInvalid);
    };
    let (access, opening) = (&client.target.access, &client.target.opening);
    let (began, mut steps) = (round.t(), Steps::new());
    let index = client.seat.index as usize;
    let back = access.resume_in_turn(index, opening, *detached, &mut steps);
    let back = back.await;
    let failed = back.as_ref().err().map(|(error, _)| error.status());
    let order = order(access, opening, &[TransportStep::ActivateSession]);
    note(round, access, began, &steps, &order, failed);
    back.map_err(|(error, detached)| {
        client.detached = detached;
        error.status()
    })
}

async fn renew(client: &mut Client<'_>, round: &mut Round<'_>) -> Result<Session, StatusCode> {
    let Some(mut session) = client.session.take() else {
        return Err(StatusCode::BadSessionIdInvalid);
    };
    let renewed = round.step("renew channel", async {
        let renewed = session.renew_in_turn().await;
        renewed.map_err(|error| AccessError::from(error).status())
    });
    renewed.await?;
    Ok(session)
}

/// The steps to a channel, and those behind it.
fn order(access: &Access, opening: &Opening, behind: &[TransportStep]) -> Vec<TransportStep> {
    let mut order = vec![TransportStep::Lookup, TransportStep::Connect];
    order.extend(access.proxy.is_some().then_some(TransportStep::Proxy));
    match access.url.transport() {
        Transport::Tcp => {}
        Transport::Wss => order.extend([TransportStep::Tls, TransportStep::Upgrade]),
        Transport::Https => order.push(TransportStep::Tls),
    }
    // Neither HTTP nor messages in JSON have a channel of their own.
    if access.url.transport() != Transport::Https && !access.json {
        order.push(TransportStep::Hello);
        order.extend(
            opening
                .is_checked()
                .then_some(TransportStep::CheckCertificate),
        );
        order.push(TransportStep::OpenChannel);
    }
    order.extend_from_slice(behind);
    order
}

/// Writes down steps that were taken one after the other, and the one that failed behind them.
fn note(
    round: &mut Round<'_>,
    access: &Access,
    began: u64,
    steps: &Steps,
    order: &[TransportStep],
    failed: Option<StatusCode>,
) {
    let (now, mut at) = (round.t(), began);
    let host = access.url.host().trim_matches(['[', ']']);
    let named = host.parse::<IpAddr>().is_err();
    for (step, took) in steps {
        let ended = at + nanos(*took);
        // An address is its own name: there is nothing to look up.
        if *step != TransportStep::Lookup || named {
            round.notes.push(Note {
                step: step.name(),
                began: at,
                ended,
                status: StatusCode::Good,
                values: 1,
            });
        }
        at = ended;
    }
    // A connection that the server made has no first steps, and a check may have more than one.
    let place = |taken: &(TransportStep, Duration)| order.iter().position(|it| *it == taken.0);
    let next = steps.iter().rev().find_map(place).map_or(0, |it| it + 1);
    if let Some(status) = failed
        && let Some(step) = order.get(next)
    {
        round.notes.push(Note {
            step: step.name(),
            began: at,
            ended: now.max(at),
            status,
            values: 0,
        });
    }
}

/// Closes the session, then the channel.
pub async fn leave(client: &mut Client<'_>, round: &mut Round<'_>) {
    let Some(session) = client.session.take() else {
        return;
    };
    let mut open = None;
    // Both steps are written down; nobody waits for what they say.
    let close = async {
        let (link, ended) = session.end_in_turn().await;
        open = Some(link);
        ended.map_err(|error| error.status())
    };
    let _ = round.step("close session", close).await;
    if let Some(link) = open {
        let close = async {
            let left = link.leave_in_turn(PATIENCE).await;
            left.map_err(|error| AccessError::from(error).status())
        };
        let _ = round.step("close channel", close).await;
    }
}
