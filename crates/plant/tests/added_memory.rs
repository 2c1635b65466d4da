//! What clients add and delete again leaves nothing behind: alone in its process, whose memory is counted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// The reason for the exception: a global allocator can only be implemented with unsafe code. It
// counts and passes everything on to the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use client::Client;
use plant::{Config, Limits, Server};
use wire::types::{
    AddNodesItem, AddNodesRequest, DeleteNodesItem, DeleteNodesRequest, ExtensionObject, NodeClass,
    NodeId, ObjectId, QualifiedName, ReferenceTypeId, RequestHeader, VariableAttributes,
    VariableTypeId,
};

#[allow(dead_code, reason = "the other tests of the server use the rest")]
#[path = "server/client.rs"]
mod client;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const NODES: u32 = 100_000;
const BATCH: u32 = 10_000;

fn id(n: u32) -> NodeId {
    NodeId::new(1, format!("Added.{n}"))
}

fn variable(n: u32) -> AddNodesItem {
    AddNodesItem {
        parent_node_id: NodeId::from(ObjectId::ObjectsFolder).into(),
        reference_type_id: ReferenceTypeId::Organizes.into(),
        requested_new_node_id: id(n).into(),
        browse_name: QualifiedName::new(1, format!("Added {n}")),
        node_class: NodeClass::Variable,
        node_attributes: ExtensionObject::from_message(VariableAttributes {
            // AccessLevel and Value.
            specified_attributes: 1 | 1 << 21,
            value: f64::from(n).into(),
            access_level: 3,
            ..Default::default()
        }),
        type_definition: NodeId::from(VariableTypeId::BaseDataVariableType).into(),
    }
}

/// Adds so many nodes below one, and deletes them; tells how much memory was held in between.
fn cycle(client: &mut Client) -> usize {
    for first in (0..NODES).step_by(BATCH as usize) {
        let request = AddNodesRequest {
            request_header: RequestHeader::default(),
            nodes_to_add: Some((first..first + BATCH).map(variable).collect()),
        };
        let results = client.call(request).unwrap().results.unwrap();
        assert!(results.iter().all(|result| result.status_code.is_good()));
    }
    let held = HELD.load(Relaxed);
    for first in (0..NODES).step_by(BATCH as usize) {
        let delete = |n| DeleteNodesItem {
            node_id: id(n),
            // What would lead nowhere goes in either case.
            delete_target_references: n % 2 == 0,
        };
        let request = DeleteNodesRequest {
            request_header: RequestHeader::default(),
            nodes_to_delete: Some((first..first + BATCH).map(delete).collect()),
        };
        let results = client.call(request).unwrap().results.unwrap();
        assert!(results.iter().all(|result| result.is_good()));
    }
    held
}

/// What is held once the server has nothing more to do: it sends a response before it gives back what the request took.
fn at_rest() -> usize {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let held = HELD.load(Relaxed);
        std::thread::sleep(Duration::from_millis(200));
        if HELD.load(Relaxed) == held || Instant::now() > until {
            return held;
        }
    }
}

#[test]
fn a_hundred_thousand_nodes_that_come_and_go_leave_nothing_behind() {
    let server = Server::start(Config {
        limits: Limits {
            added_nodes: NODES as usize,
            ..Limits::default()
        },
        ..Config::default()
    })
    .unwrap();
    let mut client = Client::plain(server.url());
    // The first time fills buffers that stay.
    cycle(&mut client);
    let before = at_rest();
    let full = cycle(&mut client);
    let after = at_rest();
    assert_eq!(server.space().added().count(), 0);
    // There was something to leave behind.
    let each = full.saturating_sub(before) / NODES as usize;
    assert!(each > 100, "{each} bytes a node");
    let left = after.saturating_sub(before) as f64 / f64::from(NODES);
    println!("{each} bytes for a node that is there, {left:.2} for one that was");
    assert!(left < 1.0, "{left} bytes a node are left");
}
