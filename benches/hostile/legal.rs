//! Requests that the protocol allows and that are large, and clients that have memory taken for what they do not finish.

use std::collections::VecDeque;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use load::access::{DetachedSession, Session};
use load::attack::legal::{self as shared, browse, items, subscription};
use load::attack::raw;
use wire::client::Connection;
use wire::types::{
    ActivateSessionRequest, AttributeId, CallMethodRequest, CallRequest, DataValue, NodeId,
    NumericRange, ObjectId, PublishRequest, ReadRequest, ReadValueId, StatusCode,
    TimestampsToReturn, UAString, Variant, WriteRequest, WriteValue,
};

use crate::attack::{BENCH, cycle, ready, refused, session};
use crate::serve;

const SLOW: usize = 50;
/// An array of 100 KB.
const LARGE: u32 = 3014;
/// Clients of each kind.
const CLIENTS: usize = 4;
/// Those that begin a message and do not end it.
const UNFINISHED: usize = 500;

/// Threads, each with a session for as long as it lasts, that do something over and over.
fn each(url: &str, work: impl Fn(&mut Session) -> Option<()> + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let Some(mut session) = session(url) else {
                        refused();
                        std::thread::sleep(Duration::from_millis(10));
                        continue;
                    };
                    while work(&mut session).is_some() {
                        cycle();
                        ready();
                    }
                }
            });
        }
    });
}

/// What is refused is no large request: the figures would be of something else.
fn granted(mut operations: impl Iterator<Item = StatusCode>) {
    if let Some(refused) = operations.find(|status| status.is_bad()) {
        eprintln!("an operation of a large legal request was refused: {refused}");
        std::process::exit(1);
    }
}

/// Browses one folder of 500 nodes 2,000 times in a request: 34 KB that ask for a million references.
pub fn repeated(url: &str) {
    each(url, |session| {
        // What is too much may be refused; the work until then is what counts.
        let _ = session.call(browse(vec![NodeId::new(BENCH, 1u32); 2_000]));
        session.read_state().ok().map(drop)
    });
}

/// Browses everything there is, a thousand nodes in a request.
pub fn everything(url: &str) {
    each(url, |session| {
        shared::everything(session, 1_000, || true).ok().map(drop)
    });
}

/// Reads a year of all histories at once.
pub fn year(url: &str) {
    each(url, |session| {
        let nodes = serve::HISTORIES.map(|id| NodeId::new(BENCH + 1, id));
        let results = session.call(shared::year(nodes)).ok()?.results;
        granted(results.iter().flatten().map(|result| result.status_code));
        Some(())
    });
}

fn write(nodes: Vec<WriteValue>) -> WriteRequest {
    WriteRequest {
        request_header: Default::default(),
        nodes_to_write: Some(nodes),
    }
}

/// Writes 10,000 small arrays in a request.
pub fn ten_thousand_values(url: &str) {
    const SMALL: u32 = 3010;
    let value = |n: u32| WriteValue {
        node_id: NodeId::new(BENCH, SMALL),
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
        value: Variant::from(vec![n as u8; 10]).into(),
    };
    each(url, |session| {
        let request = write((0..10_000).map(value).collect());
        granted(session.call(request).ok()?.results.into_iter().flatten());
        Some(())
    });
}

/// Reads and writes the first bytes of 100 KB, a thousand times in a request: each time all of it is looked at.
pub fn parts_of_an_array(url: &str) {
    let index_range = NumericRange::Range(0, 1);
    let read = ReadValueId {
        node_id: NodeId::new(BENCH, LARGE),
        attribute_id: AttributeId::Value as u32,
        index_range: index_range.clone(),
        ..Default::default()
    };
    let written = WriteValue {
        node_id: NodeId::new(BENCH, LARGE),
        attribute_id: AttributeId::Value as u32,
        index_range,
        value: Variant::from(vec![1_u8, 2]).into(),
    };
    each(url, |session| {
        let request = ReadRequest {
            request_header: Default::default(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(vec![read.clone(); 1_000]),
        };
        let results = session.call(request).ok()?.results;
        let status = |value: &DataValue| value.status.unwrap_or(StatusCode::Good);
        granted(results.iter().flatten().map(status));
        let request = write(vec![written.clone(); 1_000]);
        granted(session.call(request).ok()?.results.into_iter().flatten());
        Some(())
    });
}

/// The variables that are watched.
fn watched() -> Vec<NodeId> {
    (1_000..1_500u32).map(|id| NodeId::new(BENCH, id)).collect()
}

/// Makes 10,000 items in a request, and deletes them with their subscription.
pub fn ten_thousand_items(url: &str) {
    let nodes = watched();
    each(url, |session| {
        let made = shared::come_and_go(session, &nodes, 10_000, 10_000, || true).ok()?;
        granted(std::iter::once(made));
        Some(())
    });
}

/// Calls a method that is not there with an array of 500,000 texts.
pub fn many_texts(url: &str) {
    let texts = Variant::from(vec![UAString::from("a"); 500_000]);
    each(url, |session| {
        let request = CallRequest {
            request_header: Default::default(),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: ObjectId::Server.into(),
                method_id: NodeId::new(BENCH, 1u32),
                input_arguments: Some(vec![texts.clone()]),
            }]),
        };
        session.call(request).ok().map(drop)
    });
}

/// Has 100,000 values looked at ten times a second in one subscription, and told.
pub fn all_in_one(url: &str) {
    let nodes = watched();
    each(url, |session| {
        let id = session.call(subscription(100.0)).ok()?.subscription_id;
        for _ in 0..10 {
            let results = session.call(items(id, &nodes, 10_000, 100.0)).ok()?.results;
            granted(results.iter().flatten().map(|result| result.status_code));
        }
        loop {
            session.call(PublishRequest::default()).ok()?;
            cycle();
            ready();
        }
    });
}

/// The socket of a session by itself, and what else there is of it.
fn parts(session: Session) -> (TcpStream, Connection, DetachedSession) {
    let (stream, connection, absent) = session.take_apart();
    (stream.take_apart().0, connection, absent)
}

/// Sends a request so many times, as far as the server takes it, and reads nothing.
fn pipelined(
    (socket, connection, absent): &mut (TcpStream, Connection, DetachedSession),
    mut request: wire::service::Request,
    times: usize,
) -> Option<()> {
    let patience = Some(Duration::from_millis(50));
    socket.set_write_timeout(patience).ok()?;
    request.header_mut().authentication_token = absent.token().clone();
    let deadline = wire::time::Instant::from_nanos(u64::MAX);
    for _ in 0..times {
        let sent = connection.send(deadline, |out, handle| {
            request.header_mut().request_handle = handle;
            // What is left out is not asked for.
            let _ = request.encode(out);
        });
        sent.ok()?;
        while let Ok(n @ 1..) = socket.write(connection.pending()) {
            connection.wrote(n);
        }
    }
    Some(())
}

/// Clients that come, do something, stay, and make room for others after a while.
fn sessions(size: usize, url: &str, come: impl Fn(Session) -> Option<TcpStream>) {
    let mut there = VecDeque::with_capacity(size);
    loop {
        while there.len() < size {
            match session(url).and_then(&come) {
                Some(socket) => there.push_back(socket),
                None => {
                    refused();
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
        ready();
        std::thread::sleep(Duration::from_millis(200));
        drop(there.pop_front());
        cycle();
    }
}

/// Clients that ask for 4 MB a hundred times over, as far as the server takes it, and take nothing; now and then one
/// gives up and another one comes.
pub fn slow(url: &str) {
    let node = ReadValueId {
        node_id: NodeId::new(BENCH, LARGE),
        attribute_id: AttributeId::Value as u32,
        ..Default::default()
    };
    let request = ReadRequest {
        request_header: Default::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![node; 40]),
    };
    sessions(SLOW, url, |session| {
        let mut parts = parts(session);
        pipelined(&mut parts, request.clone().into(), 100)?;
        Some(parts.0)
    });
}

/// Thousands of ActivateSession requests at once over one connection.
pub fn activations(url: &str) {
    sessions(CLIENTS, url, |session| {
        let mut parts = parts(session);
        pipelined(&mut parts, ActivateSessionRequest::default().into(), 3_000)?;
        Some(parts.0)
    });
}

/// Subscribers that ask to be told, and do not read what they are told.
pub fn subscribers(url: &str) {
    let nodes = watched();
    sessions(CLIENTS, url, |mut session| {
        let id = session.call(subscription(10.0)).ok()?.subscription_id;
        session.call(items(id, &nodes, 5_000, 10.0)).ok()?;
        let mut parts = parts(session);
        pipelined(&mut parts, PublishRequest::default().into(), 1_000)?;
        Some(parts.0)
    });
}

/// Messages that begin, 60 KB each, and are never ended.
pub fn unfinished(url: &str) {
    sessions(UNFINISHED, url, |session| {
        let mut socket = parts(session).0;
        let patience = Some(Duration::from_millis(50));
        socket.set_write_timeout(patience).ok()?;
        // As much of it as is taken.
        let _ = socket.write_all(&raw::half_a_chunk());
        Some(socket)
    });
}
