//! What a client asks for and does not take costs no memory: alone in its process, whose largest size is looked at.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use client::{Client, read_value};
use plant::{Config, Profile, Server};
use wire::service::Request;
use wire::types::{
    AttributeId, BrowseDescription, BrowseDirection, BrowseRequest, NodeId, ReadRequest,
    ReferenceTypeId, RequestHeader, TimestampsToReturn,
};

#[allow(dead_code, reason = "the other tests of the server use the rest")]
#[path = "server/client.rs"]
mod client;

/// The most bytes of memory that this process ever had.
fn most() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() * 1024
}

fn bench(number: u32) -> NodeId {
    NodeId::new(2, number)
}

/// A million references.
fn browse() -> BrowseRequest {
    let what = BrowseDescription {
        node_id: bench(1),
        browse_direction: BrowseDirection::Forward,
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: 63,
    };
    BrowseRequest {
        request_header: RequestHeader::default(),
        view: Default::default(),
        requested_max_references_per_node: 0,
        nodes_to_browse: Some(vec![what; 2_000]),
    }
}

/// Three hundred megabytes.
fn read() -> ReadRequest {
    ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![read_value(bench(3014), AttributeId::Value, ""); 3_000]),
    }
}

/// By how much the process grows while somebody asks, does not read, and others are served.
fn grows(server: &Server, request: impl Into<Request>) -> usize {
    let mut good = Client::plain(server.url());
    let mut greedy = Client::plain(server.url());
    good.read(&[bench(1007)]);
    let before = most();
    greedy.send(request);
    for _ in 0..100 {
        good.read(&[bench(1007)]);
    }
    most() - before
}

#[test]
fn what_is_asked_for_and_not_taken_costs_no_memory_with_or_without_faults() {
    const MOST: usize = 32 * 1024 * 1024;
    for faults in [vec![], vec!["delay=1s,on=read,every=1000000"]] {
        let server = Server::start(Config {
            profiles: vec![Profile::Bench { update: None }],
            faults: faults.iter().map(|text| text.parse().unwrap()).collect(),
            ..Config::default()
        })
        .unwrap();
        let (browsed, read) = (grows(&server, browse()), grows(&server, read()));
        assert!(browsed < MOST, "{browsed} bytes for a browse, {faults:?}");
        assert!(read < MOST, "{read} bytes for a read, {faults:?}");
    }
}
