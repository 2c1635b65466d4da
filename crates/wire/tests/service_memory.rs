//! What decoding allocates, counted: never more than its limits, whatever the bytes.

#![allow(
    unsafe_code,
    reason = "a global allocator is an unsafe trait; this one counts and passes on"
)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod sample;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sample::Random;
use wire::service::shape::{Field, Form};
use wire::service::{Kind, Limits, Request, Response};

struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // gone when a thread ends
    let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get() + bytes));
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// For the words of an error, and what a message with bodies always takes.
const SLACK: usize = 4096;

/// All bytes allocated while a message is decoded, freed or not, and whether it was one.
fn allocated(kind: Kind, message: &[u8], limits: &Limits) -> (usize, bool) {
    let before = ALLOCATED.get();
    let good = if Request::KINDS.contains(&kind) {
        Request::decode(message, limits).is_ok()
    } else {
        Response::decode(message, limits).is_ok()
    };
    (ALLOCATED.get() - before, good)
}

/// Decodes it with ever larger limits, until it is decoded or refused for another reason.
fn check(kind: Kind, message: &[u8]) {
    for shift in 6..26 {
        let limits = Limits {
            memory: 1 << shift,
            depth: Limits::DEPTH,
        };
        let (bytes, good) = allocated(kind, message, &limits);
        assert!(
            bytes <= limits.memory + SLACK,
            "{}: {bytes} bytes allocated with a limit of {} for {} bytes: {message:02x?}",
            kind.name(),
            limits.memory,
            message.len(),
        );
        if good {
            return;
        }
    }
}

fn messages() -> impl Iterator<Item = Kind> {
    Request::KINDS.iter().chain(Response::KINDS).copied()
}

/// Makes what is made once: tables, and the caches of regular expressions.
fn warm_up() {
    let limits = Limits {
        memory: usize::MAX,
        depth: Limits::DEPTH,
    };
    for kind in messages() {
        for seed in 0..40 {
            allocated(kind, &sample::message(kind, &mut Random(seed)), &limits);
        }
    }
}

#[test]
fn no_message_is_decoded_with_more_memory_than_its_limits() {
    warm_up();
    for kind in messages() {
        for seed in 0..40 {
            check(kind, &sample::message(kind, &mut Random(seed)));
        }
    }
}

#[test]
fn no_mutated_message_takes_more_memory_than_its_limits() {
    warm_up();
    let mut random = Random(7);
    for kind in messages() {
        for seed in 0..20 {
            let mut message = sample::message(kind, &mut Random(seed));
            for _ in 0..3 {
                let at = 4 + random.below(message.len() - 4);
                let hostile = [i32::MAX, i32::MIN, -2, 0x00ff_ffff, 1000, 16];
                let noise = hostile[random.below(hostile.len())].to_le_bytes();
                let end = message.len().min(at + 4);
                message[at..end].copy_from_slice(&noise[..end - at]);
                check(kind, &message);
            }
        }
    }
}

#[test]
fn arrays_of_the_smallest_elements_take_no_more_memory_than_their_limits() {
    warm_up();
    // the worst there is for each array: as many of the shortest elements as will fit
    for kind in messages() {
        let Form::Structure(fields) = kind.shape().form else {
            panic!("{} is no structure", kind.name());
        };
        for count in [1_000, 100_000] {
            let mut message = sample::type_id(kind);
            for field in fields {
                match *field {
                    Field::One(kind) => message.extend(std::iter::repeat_n(0, kind.min_len())),
                    Field::Many(element) => {
                        let len = i32::try_from(count / element.min_len()).unwrap();
                        message.extend_from_slice(&len.to_le_bytes());
                        message.extend(std::iter::repeat_n(0, count));
                        check(kind, &message);
                        break;
                    }
                }
            }
        }
    }
    // and arrays of a built-in type in a Variant
    let head = sample::type_id(Kind::CallRequest);
    for number in 1..=25_u8 {
        let count = 100_000_i32;
        let kind = Kind::ALL[usize::from(number) - 1];
        let mut message = head.clone();
        message.extend_from_slice(&[0; 10 + 4 + 4 + 4 + 4 + 3]);
        message.extend_from_slice(&1_i32.to_le_bytes());
        message.extend_from_slice(&[0, 1, 0, 2]);
        message.extend_from_slice(&1_i32.to_le_bytes());
        message.push(0x80 | number);
        message.extend_from_slice(&count.to_le_bytes());
        message.extend(std::iter::repeat_n(0, kind.min_len() * count as usize));
        check(Kind::CallRequest, &message);
    }
}

#[test]
fn a_nest_of_bodies_is_refused_before_its_copies_add_up() {
    warm_up();
    let mut variant = vec![15];
    variant.extend_from_slice(&100_000_i32.to_le_bytes());
    variant.extend(std::iter::repeat_n(1, 100_000));
    for _ in 0..40 {
        let object = sample::extension_object(Kind::LiteralOperand, &variant);
        variant = [&[22], &object[..]].concat();
    }
    let mut message = sample::type_id(Kind::CallRequest);
    message.extend_from_slice(&[0; 29]);
    message.extend_from_slice(&1_i32.to_le_bytes());
    message.extend_from_slice(&[0, 1, 0, 2]);
    message.extend_from_slice(&1_i32.to_le_bytes());
    message.extend_from_slice(&variant);
    check(Kind::CallRequest, &message);
    let limits = Limits {
        memory: 1 << 20,
        depth: Limits::DEPTH,
    };
    let (bytes, good) = allocated(Kind::CallRequest, &message, &limits);
    assert!(!good && bytes <= limits.memory + SLACK);
}
