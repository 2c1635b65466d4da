//! A client that was away for longer than its timeout, and one whose server says nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::access::{Access, Session};
use load::transport::{CallError, Steps};
use wire::service::Request;
use wire::types::{NodeId, ReadRequest, ReadValueId, TimestampsToReturn, VariableId};

const TIMEOUT: Duration = Duration::from_secs(1);

fn session(url: &str, folder: &tempfile::TempDir) -> Session {
    let access = Access {
        security: "None".parse().unwrap(),
        timeout: TIMEOUT,
        ..Access::new(
            url.parse().unwrap(),
            pki::Store::new(folder.path()),
            pki::make::Request::application("urn:test:away").host("localhost"),
        )
    };
    let opening = access.discover().unwrap();
    access.open(&opening, &mut Steps::new()).unwrap()
}

/// Reads the server's state, and is away between making the request and writing it.
fn read(session: &mut Session, away: Duration) -> Result<Vec<u8>, CallError> {
    let node = ReadValueId::from(NodeId::from(VariableId::Server_ServerStatus_State));
    let header = session.header();
    session.exchange(|out, handle, _| {
        let mut request = Request::from(ReadRequest {
            request_header: header,
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(vec![node]),
        });
        request.header_mut().request_handle = handle;
        request.encode(out).unwrap();
        sleep(away);
    })
}

#[test]
fn a_server_has_the_whole_time_from_when_it_was_sent_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let server = plant::Server::start(plant::Config::default()).unwrap();
    let mut session = session(server.url(), &folder);
    read(&mut session, Duration::ZERO).unwrap();
    read(&mut session, 2 * TIMEOUT).unwrap();
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time_and_its_late_answer_is_nobodys() {
    let folder = tempfile::tempdir().unwrap();
    let stall = "stall=2s,on=read,every=2,times=1".parse().unwrap();
    let server = plant::Server::start(plant::Config {
        faults: vec![stall],
        ..plant::Config::default()
    });
    let server = server.unwrap();
    let mut session = session(server.url(), &folder);
    let began = Instant::now();
    let answers = [(); 4].map(|()| read(&mut session, Duration::ZERO));
    let late =
        |it: &Result<_, _>| matches!(it, Err(CallError::TimedOut(after)) if *after == TIMEOUT);
    assert!(answers.iter().any(late), "{answers:?}");
    assert!(began.elapsed() >= TIMEOUT);
    sleep(2 * TIMEOUT);
    read(&mut session, Duration::ZERO).unwrap();
}

#[test]
fn a_server_that_only_listens_is_given_up_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("opc.tcp://{}", silent.local_addr().unwrap());
    let access = Access {
        timeout: TIMEOUT,
        ..Access::new(
            url.parse().unwrap(),
            pki::Store::new(tempfile::tempdir().unwrap().path()),
            pki::make::Request::application("urn:test:away").host("localhost"),
        )
    };
    let began = Instant::now();
    assert!(access.discover().is_err());
    let took = began.elapsed();
    assert!(took >= TIMEOUT && took < 20 * TIMEOUT, "{took:?}");
}
