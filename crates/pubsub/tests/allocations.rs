//! A cycle of a publisher and a datagram of a subscriber allocate nothing: a counting allocator watches.

// The reason for the exception: a global allocator can only be implemented with unsafe code. It
// counts and passes everything on to the system's.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::hint::black_box;

use pubsub::layout::Layout;
use pubsub::raw::{self, RawType};
use pubsub::reader::{Part, Reader};
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy, Sealer};
use pubsub::sequence::Tracker;
use pubsub::template::Template;
use pubsub::view::Known;
use pubsub::{Content, Fields, PublisherId, Tolerance, View};
use wire::template::walk::BuiltInType;
use wire::types::Variant;

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
    unsafe fn alloc(&self, layout: Memory) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Memory, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Memory) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of a thousand rounds, after one that buffers grow in.
fn allocations_of(mut round: impl FnMut()) -> u64 {
    round();
    let before = ALLOCATIONS.get();
    for _ in 0..1000 {
        round();
    }
    ALLOCATIONS.get() - before
}

const FIELDS: usize = 100;

fn keys() -> GroupKeys {
    GroupKeys::new(PubSubPolicy::Aes256Ctr, &[7; 68]).unwrap()
}

fn template(raw: bool, sealer: Option<Sealer>) -> Template {
    let fields = match raw {
        true => Fields::Raw(vec![0; 4 * FIELDS]),
        false => Fields::Variant(vec![Variant::Float(0.0); FIELDS]),
    };
    let id = PublisherId::String("a publisher".into());
    let message = Layout::PeriodicFixed.message(id, 1, 1, [(1, Content::Key(fields))]);
    let types = vec![RawType::scalar(BuiltInType::Float); FIELDS];
    Template::new(&message, &[&types], sealer).unwrap()
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations_of(|| drop(black_box(Box::new(1)))), 1000);
}

#[test]
fn a_cycle_and_its_datagram_allocate_nothing() {
    let types = vec![RawType::scalar(BuiltInType::Float); FIELDS];
    for raw in [false, true] {
        for mode in [None, Some(Mode::Sign), Some(Mode::SignAndEncrypt)] {
            let sealer = mode.map(|mode| Sealer::new(keys(), 1, mode, [1; 4]));
            let mut template = template(raw, sealer);
            let mut ring = KeyRing::new(mode, Tolerance::NONE);
            ring.insert(1, keys());
            let (mut out, mut tracker) = (Vec::new(), Tracker::default());
            let mut reader = Reader::with_types(&types);
            let (mut cycle, mut visited, mut together) = (0f32, 0, 0);
            let n = allocations_of(|| {
                cycle += 1.0;
                template.set_all(0, |_| cycle.to_le_bytes()).unwrap();
                assert!(template.write(1, &mut out));
                let opened = ring.open(&mut out).unwrap();
                let view = View::parse_opened(&out, opened, Tolerance::NONE).unwrap();
                for set in view.messages(Known::default()).unwrap() {
                    let set = set.unwrap();
                    tracker.note(set.header.sequence.unwrap());
                    let count = reader.visit(&set, |part| {
                        if let Part::Run(run) = part {
                            run.each(|it| together += usize::from(it == cycle.to_le_bytes()));
                        }
                    });
                    assert_eq!(count, Ok(FIELDS));
                    for field in set.fields().unwrap() {
                        let value = field.unwrap().value.variant().unwrap();
                        visited += usize::from(value.payload() == cycle.to_le_bytes());
                    }
                    for field in raw::fields(&types, set.body(), 0).filter(|_| raw) {
                        visited += usize::from(field.unwrap().bytes == cycle.to_le_bytes());
                    }
                }
            });
            assert_eq!(n, 0, "{raw} {mode:?}");
            assert_eq!(visited, 1001 * FIELDS);
            // What fields with types of their own look like is seen in the first message.
            assert_eq!(together, if raw { 1001 } else { 1000 } * FIELDS);
            assert_eq!(tracker.counts().lost, 0);
        }
    }
}
