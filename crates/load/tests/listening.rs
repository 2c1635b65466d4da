//! A listener allocates nothing for the datagrams that it takes: a counting allocator watches.

// The reason for the exception: a global allocator can only be implemented with unsafe code. It
// counts and passes everything on to the system's.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use load::pubsub::{Address, Choice, Listen, ListenerReport, Place, listen};
use pubsub::layout::Layout;
use pubsub::raw::RawType;
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy, Sealer};
use pubsub::template::Template;
use pubsub::{Content, Fields, PublisherId, Tolerance};
use wire::template::walk::BuiltInType;
use wire::types::Variant;

struct Counting;

thread_local! {
    // The sender has a thread of its own, so that it is not counted.
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

const FIELDS: usize = 10;

fn keys() -> GroupKeys {
    GroupKeys::new(PubSubPolicy::Aes128Ctr, &[7; 52]).unwrap()
}

fn template(mode: Option<Mode>) -> Template {
    let fields = Fields::Variant(vec![Variant::Float(0.0); FIELDS]);
    let id = PublisherId::UInt16(7);
    let message = Layout::Dynamic.message(id, 1, 1, [(1, Content::Key(fields))]);
    let types = vec![RawType::scalar(BuiltInType::Float); FIELDS];
    let sealer = mode.map(|mode| Sealer::new(keys(), 1, mode, [1; 4]));
    Template::new(&message, &[&types], sealer).unwrap()
}

/// Listens to so many datagrams, which come in twenties, and counts its allocations.
fn heard(mode: Option<Mode>, datagrams: u64) -> (ListenerReport, u64) {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = Address(free.local_addr().unwrap());
    drop(free);
    let mut ring = KeyRing::new(mode, Tolerance::NONE);
    ring.insert(1, keys());
    let plan = Listen {
        from: Place::Udp(at),
        interface: None,
        buffer: 1 << 20,
        duration: Duration::from_secs(60),
        datagrams: Some(datagrams),
        keys: ring,
        feed: None,
        tolerance: Tolerance::NONE,
        choice: Choice::default(),
        discovery: None,
        server: None,
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let send = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let (mut template, mut out) = (template(mode), Vec::new());
            while !done.load(Ordering::Relaxed) {
                for _ in 0..20 {
                    assert!(template.write(1, &mut out));
                    // Nobody listens any more when all came.
                    let _ = socket.send_to(&out, at.0);
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        };
        scope.spawn(send);
        let before = ALLOCATIONS.get();
        let heard = listen(plan, &AtomicBool::new(false), || ());
        let allocations = ALLOCATIONS.get() - before;
        done.store(true, Ordering::Relaxed);
        (heard.unwrap(), allocations)
    })
}

#[test]
fn a_listener_allocates_as_much_for_many_datagrams_as_for_few() {
    for mode in [None, Some(Mode::SignAndEncrypt)] {
        let (few, at_first) = heard(mode, 100);
        let (many, in_all) = heard(mode, 5_100);
        for (heard, datagrams) in [(few, 100), (many, 5_100)] {
            assert_eq!(heard.datagrams, datagrams, "{mode:?}");
            assert_eq!(heard.values, datagrams * FIELDS as u64, "{mode:?}");
            assert_eq!(heard.unreadable(), 0, "{mode:?}");
        }
        assert!(at_first > 0, "nothing was counted");
        assert_eq!(in_all, at_first, "{mode:?}");
    }
}
