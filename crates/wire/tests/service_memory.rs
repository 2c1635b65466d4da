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
            "{}: {bytes} bytes allocated with a limit of {} for {} bytes: {:02x?}",
            kind.name(),
            limits.memory,
            message.len(),
            message.get(..200).unwrap_or(message),
        );
        if good {
            return;
        }
    }
}

/// The least memory with which a message is decoded; what it takes then is no more.
fn check_least(kind: Kind, message: &[u8]) {
    let (mut refused, mut enough) = (0_usize, 64 * 1024 * 1024);
    while refused + 1 < enough {
        let limits = Limits {
            memory: refused.midpoint(enough),
            depth: Limits::DEPTH,
        };
        match allocated(kind, message, &limits) {
            (_, true) => enough = limits.memory,
            (_, false) => refused = limits.memory,
        }
    }
    let limits = Limits {
        memory: enough,
        depth: Limits::DEPTH,
    };
    let (bytes, good) = allocated(kind, message, &limits);
    assert!(good, "{} is no message", kind.name());
    assert!(
        bytes <= enough + SLACK,
        "{bytes} bytes were allocated, {enough} reckoned for {:02x?}",
        message.get(..120).unwrap_or(message)
    );
}

fn messages() -> impl Iterator<Item = Kind> {
    Request::KINDS.iter().chain(Response::KINDS).copied()
}

/// A CallRequest up to its only argument, a Variant.
fn call_of_nulls() -> Vec<u8> {
    let mut message = sample::type_id(Kind::CallRequest);
    message.extend_from_slice(&[0; 29]);
    message.extend_from_slice(&1_i32.to_le_bytes());
    message.extend_from_slice(&[0, 1, 0, 2]);
    message.extend_from_slice(&1_i32.to_le_bytes());
    message
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
    for number in 1..=25_u8 {
        let count = 100_000_i32;
        let kind = Kind::ALL[usize::from(number) - 1];
        let mut message = call_of_nulls();
        message.push(0x80 | number);
        message.extend_from_slice(&count.to_le_bytes());
        message.extend(std::iter::repeat_n(0, kind.min_len() * count as usize));
        check(Kind::CallRequest, &message);
    }
}

#[test]
fn whatever_is_allocated_for_an_element_was_reckoned() {
    warm_up();
    let text = [&100_i32.to_le_bytes()[..], &[b'a'; 100]].concat();
    let variant = |head: &[u8], element: &[u8]| {
        let mut message = call_of_nulls();
        message.extend_from_slice(head);
        message.extend_from_slice(&1000_i32.to_le_bytes());
        message.extend(element.repeat(1000));
        message
    };
    let node_id = [&[3, 1, 0], &text[..]].concat();
    let localized = [&[3], &text[..], &text[..]].concat();
    let named = [&node_id[..], &[1], &text].concat();
    let range = sample::extension_object(Kind::Range, &[0; 16]);
    let literal = sample::extension_object(Kind::LiteralOperand, &[&[12], &text[..]].concat());
    for (number, element) in [
        (1, &[0xff][..]), // Booleans that are to be edited
        (12, &text),
        (15, &text),
        (17, &node_id),
        (18, &node_id),
        (21, &localized),
        (22, &named),
        (22, &range),
        (22, &literal),
        (23, &[1, 24, 6, 0, 0, 0, 0]),
        (24, &[24, 24, 13, 0, 0, 0, 0, 0, 0, 0, 0]),
        (24, &[0x83, 2, 0, 0, 0, 7, 7]),
        (24, &[0xc3, 0, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        check_least(Kind::CallRequest, &variant(&[0x80 | number], element));
    }
    // texts of DiagnosticInfos within each other
    let mut message = call_of_nulls();
    message.extend_from_slice(&[0x99, 1, 0, 0, 0]);
    let inner = [&[0x50][..], &text].concat().repeat(50);
    message.extend_from_slice(&[&inner[..], &[0x10], &text].concat());
    check_least(Kind::CallRequest, &message);
    // index ranges, right and wrong
    for ranges in ["1", "0:1,2,3,4,5,6,7,8,9,10", "9:1"] {
        let mut message = sample::type_id(Kind::ReadRequest);
        message.extend_from_slice(&[0; 29 + 12]);
        message.extend_from_slice(&1000_i32.to_le_bytes());
        for _ in 0..1000 {
            message.extend_from_slice(&[0, 85, 13, 0, 0, 0]);
            message.extend_from_slice(&i32::try_from(ranges.len()).unwrap().to_le_bytes());
            message.extend_from_slice(ranges.as_bytes());
            message.extend_from_slice(&[0, 0, 0xff, 0xff, 0xff, 0xff]);
        }
        check_least(Kind::ReadRequest, &message);
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
    let mut message = call_of_nulls();
    message.extend_from_slice(&variant);
    check(Kind::CallRequest, &message);
    let limits = Limits {
        memory: 1 << 20,
        depth: Limits::DEPTH,
    };
    let (bytes, good) = allocated(Kind::CallRequest, &message, &limits);
    assert!(!good && bytes <= limits.memory + SLACK);
}
