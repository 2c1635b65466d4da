//! Nothing on the hot path allocates: a counting allocator watches each message.
//!
//! To add a path: prepare what it needs outside, then run it in [`allocations_of`].

// The reason for the exception: a global allocator can only be implemented with unsafe code. It
// counts and passes everything on to the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use wire::template::{PublishTemplate, Template, walk};
use wire::types::{RequestHeader, SubscriptionAcknowledgement, Variant};

#[path = "messages/mod.rs"]
mod messages;
#[allow(dead_code, reason = "the other tests of connections use the rest")]
#[path = "connection/pair.rs"]
mod pair;

struct Counting;

thread_local! {
    // Each test has a thread of its own, so tests do not count each other's.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends has no counter any more, and nobody asks for it.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of a thousand rounds.
fn allocations_of(mut round: impl FnMut()) -> u64 {
    let before = ALLOCATIONS.get();
    for _ in 0..1000 {
        round();
    }
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations_of(|| drop(black_box(Box::new(1)))), 1000);
}

#[test]
fn a_template_is_sent_without_allocating() {
    let owned = messages::context();
    let context = owned.context();
    let template = Template::new(&messages::read_request(10), &context).unwrap();
    let mut out = vec![0; template.len()];
    let mut handle = 0;
    let n = allocations_of(|| {
        handle += 1;
        black_box(template.write(&mut out, handle, 1)).unwrap();
    });
    assert_eq!(n, 0);

    let mut out = Vec::with_capacity(template.len());
    let n = allocations_of(|| {
        out.clear();
        template.append(black_box(&mut out), handle, 1);
    });
    assert_eq!(n, 0);
}

#[test]
fn acknowledgements_are_sent_without_allocating() {
    let owned = messages::context();
    let context = owned.context();
    let template = PublishTemplate::new(RequestHeader::default(), &context).unwrap();
    let acknowledgements = [SubscriptionAcknowledgement {
        subscription_id: 1,
        sequence_number: 2,
    }];
    let mut out = vec![0; template.len_with(1)];
    let n = allocations_of(|| {
        template.write(&mut out, 1, 2, &acknowledgements).unwrap();
        black_box(&out);
    });
    assert_eq!(n, 0);
}

#[test]
fn responses_are_walked_without_allocating() {
    let read = messages::encode(&messages::read_response(messages::doubles(100, true)));
    let write = messages::encode(&messages::write_response(100));
    let call = messages::encode(&messages::call_response(10));
    let publish = messages::encode(&messages::publish_response(100));
    let n = allocations_of(|| {
        black_box(walk::check_read(black_box(&read), 100)).unwrap();
        for value in walk::read_values(black_box(&read)).unwrap() {
            black_box(value.unwrap());
        }
        black_box(walk::check_write(black_box(&write), 100)).unwrap();
        black_box(walk::check_call(black_box(&call), 10)).unwrap();
        let response = walk::PublishResponse::parse(black_box(&publish)).unwrap();
        for notification in response.notifications() {
            let walk::Notification::DataChange(items) = notification.unwrap() else {
                panic!("a data change was sent");
            };
            for item in items {
                black_box(item.unwrap());
            }
        }
    });
    assert_eq!(n, 0);
}

#[test]
fn requests_are_walked_without_allocating() {
    let read = messages::encode(&messages::read_request(100));
    let write = messages::encode(&messages::write_request(&[Variant::Double(1.0)]));
    let n = allocations_of(|| {
        for node in walk::ReadRequest::parse(black_box(&read)).unwrap().nodes {
            black_box(node.unwrap());
        }
        for node in walk::WriteRequest::parse(black_box(&write)).unwrap().nodes {
            black_box(node.unwrap());
        }
    });
    assert_eq!(n, 0);
}

#[test]
fn a_broken_response_is_refused_without_allocating() {
    let mut body = messages::encode(&messages::read_response(messages::doubles(100, false)));
    body.truncate(300);
    let n = allocations_of(|| {
        black_box(walk::check_read(black_box(&body), 100)).unwrap_err();
    });
    assert_eq!(n, 0);
}

/// A request from the client's template through both connections and back.
#[test]
fn a_request_and_its_response_pass_both_connections_without_allocating() {
    use wire::channel::Protection;
    use wire::policy::{Mode, Policy};

    let owned = messages::context();
    let context = owned.context();
    let template = Template::new(&messages::read_request(10), &context).unwrap();
    let response = vec![7; 500];
    let modes = [Mode::Sign, Mode::SignAndEncrypt];
    let secured = modes.map(|mode| Protection {
        policy: Policy::Basic256Sha256,
        mode,
    });
    for protection in [Protection::NONE].into_iter().chain(secured) {
        let mut pair = pair::Pair::open(protection, 2048);
        let now = pair.now;
        let deadline = now.mono + std::time::Duration::from_secs(1);
        let (client, server) = (&mut pair.client, &mut pair.server);
        let mut answered = 0;
        let mut round = || {
            for _ in 0..4 {
                client
                    .send(deadline, |out, handle| {
                        template.append(out, handle, now.utc)
                    })
                    .unwrap();
            }
            server.receive(client.pending());
            client.wrote(client.pending().len());
            while let Some(event) = server.poll_event(now) {
                let wire::server::Event::Request { id, body } = event else {
                    panic!("no request")
                };
                assert_eq!(body.len(), template.len());
                server
                    .respond(id, |out| out.extend_from_slice(&response))
                    .unwrap();
            }
            client.receive(server.pending());
            server.wrote(server.pending().len());
            while let Some(event) = client.poll_event(now) {
                let wire::client::Event::Response { body, .. } = event else {
                    panic!("no response")
                };
                answered += black_box(body).len() / response.len();
            }
        };
        // The buffers grow to their size once.
        round();
        assert_eq!(allocations_of(round), 0, "{protection}");
        assert_eq!(answered, 4 * 1001, "{protection}");
    }
}
