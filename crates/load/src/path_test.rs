//! The way to a server, tested before a load: how long messages of a size take, and how many bytes go through.
//!
//! Any server does: requests are Reads of its state that carry a filling in their header (`auditEntryId`, Part 4, 7.32),
//! answers are as many values of its status as are asked for. So there is the server's own time in each round trip,
//! little of it in what goes up, and more in what comes down.

use std::time::{Duration, Instant};

use wire::types::{NodeId, ReadRequest, ReadValueId, TimestampsToReturn, VariableId};

use crate::access::Session;
use crate::transport::CallError;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the server.
    Up,
    /// From it.
    Down,
}

/// Round trips of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trips {
    /// Bytes of a request, with its frames.
    pub request_bytes: u64,
    /// Bytes of a response, likewise.
    pub response_bytes: u64,
    /// How long each took, the shortest first.
    pub took: Vec<Duration>,
}

/// What went through in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Through {
    /// Bytes to the server.
    pub sent: u64,
    /// Bytes from it.
    pub received: u64,
    /// In how long.
    pub took: Duration,
}

/// A Read that carries so much.
fn request(way: Way, amount: usize) -> ReadRequest {
    let (filling, node, count) = match way {
        Way::Up => (amount, VariableId::Server_ServerStatus_State, 1),
        Way::Down => (0, VariableId::Server_ServerStatus, amount.max(1)),
    };
    let mut request = ReadRequest {
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![ReadValueId::from(NodeId::from(node)); count]),
        ..ReadRequest::default()
    };
    request.request_header.audit_entry_id = "x".repeat(filling).into();
    request
}

/// Makes round trips one after the other: for so long, or so many. `amount` is the filling in bytes on the way up, and
/// the number of values on the way down.
pub fn trips(
    session: &mut Session,
    way: Way,
    amount: usize,
    (length, most): (Duration, usize),
) -> Result<Trips, CallError> {
    let mut took = Vec::new();
    let before = session.link().carried();
    let end = Instant::now() + length;
    while took.is_empty() || took.len() < most && Instant::now() < end {
        let request = request(way, amount);
        let began = Instant::now();
        session.call(request)?;
        took.push(began.elapsed());
    }
    let after = session.link().carried();
    let each = |bytes: u64| bytes / took.len() as u64;
    let (sent, received) = (
        each(after.sent - before.sent),
        each(after.received - before.received),
    );
    took.sort_unstable();
    Ok(Trips {
        request_bytes: sent,
        response_bytes: received,
        took,
    })
}

/// Sends as much as goes through, over all sessions at once. Each has one request on its way.
pub fn flood(
    sessions: &mut [Session],
    way: Way,
    amount: usize,
    length: Duration,
) -> Result<Through, CallError> {
    let carried = |all: &[Session]| {
        all.iter().fold((0, 0), |(sent, received), it| {
            let it = it.link().carried();
            (sent + it.sent, received + it.received)
        })
    };
    let before = carried(sessions);
    let began = Instant::now();
    let end = began + length;
    std::thread::scope(|scope| {
        let one = |session: &mut Session| -> Result<(), CallError> {
            while Instant::now() < end {
                session.call(request(way, amount))?;
            }
            Ok(())
        };
        let threads: Vec<_> = sessions
            .iter_mut()
            .map(|session| scope.spawn(move || one(session)))
            .collect();
        threads.into_iter().try_for_each(|it| {
            // A thread that panicked sent nothing.
            it.join().unwrap_or(Ok(()))
        })
    })?;
    let took = began.elapsed();
    let after = carried(sessions);
    Ok(Through {
        sent: after.0 - before.0,
        received: after.1 - before.1,
        took,
    })
}
