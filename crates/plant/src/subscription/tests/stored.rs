//! A value that is computed and one that a loop writes are the same to who watches them.

use std::path::Path;

use wire::types::StatusCode;

use super::*;
use crate::Plant;
use crate::describe::Stored;
use crate::fault::Mark;
use crate::ledger::Tally;
use crate::subscription::computed::Pace;
use crate::subscription::memory::Memory;

const PATTERNS: &[&str] = &[
    "\"counter\"",
    "\"toggle\"",
    "{ ramp = { low = -5, high = 100, period = \"70ms\" } }",
    "{ sine = { low = 0, high = 50, period = \"200ms\" } }",
    "\"noise\"",
    "{ random_walk = { step = 3, seed = 5 } }",
];

/// The same signal twice: computed, and as a loop has to write it.
fn pair(kind: &str, pattern: &str, update: u64) -> (Space, Vec<Stored>) {
    let mut text = "[[namespace]]\nuri = \"urn:x\"\n".to_owned();
    // Patterns that are told apart by their place in the file get a seed of their own.
    let pattern = pattern.replace("\"noise\"", "{ noise = { seed = 9 } }");
    for (id, stored) in [(1, false), (2, true)] {
        text += &format!(
            "[[namespace.signals]]\nids = \"i={id}\"\ntype = \"{kind}\"\npattern = {pattern}\n\
             update = \"{update}ms\"\nstored = {stored}\n"
        );
    }
    let plant = Plant::parse(&text, "test", Path::new("")).unwrap();
    let mut builder = Builder::new("urn:test", 0);
    let mut stored = Vec::new();
    plant.build(&mut builder, &mut stored).unwrap();
    (builder.finish(), stored)
}

fn at(millis: u64) -> Now {
    Now {
        mono: Instant::from_nanos(millis * 1_000_000),
        utc: millis as i64 * 10_000,
    }
}

/// What a pass of an update loop does.
fn write(space: &Space, stored: &[Stored], millis: u64) {
    for item in stored {
        let node = space.node(item.node).unwrap();
        let interval = item.motion.signal().interval().as_millis() as u64;
        let mut encoded = Vec::new();
        item.motion
            .encode(millis / interval, &item.namespaces, &mut encoded);
        let value = RawVariant::parse(&encoded).unwrap();
        let stamp = Stamp {
            status: StatusCode::Good,
            source: millis as i64 * 10_000,
        };
        assert!(node.variable().unwrap().source.set(&value, stamp));
    }
}

proptest! {
    #[test]
    fn computed_and_stored_items_report_the_same_of_the_same_history(
        kind in prop::sample::select(&["Boolean", "Double", "Float", "Int32", "Byte", "UInt64"][..]),
        pattern in prop::sample::select(PATTERNS),
        update in 1u64..60,
        sampling in 1u64..80,
        publishing in 10u64..200,
        queue_size in 1u32..8,
        discard_oldest: bool,
    ) {
        let (space, stored) = pair(kind, pattern, update);
        let (mut tally, memory) = (Tally::default(), Memory::default());
        let parameters = Parameters {
            client_handle: 1,
            sampling: Duration::from_millis(sampling),
            queue_size,
            discard_oldest,
            filter: Filter::default(),
            folding: None,
            stamps: Timestamps { source: false, server: false },
        };
        let mut items = [1u32, 2].map(|number| {
            let node = space.find_id(&NodeId::new(2, number)).unwrap();
            let watch = watch(node, MonitoringMode::Reporting);
            let mut item = Item::new(1, watch, &parameters, &space);
            item.begin(&space, at(0), &memory, &mut tally);
            item
        });
        let mut reported = [Vec::new(), Vec::new()];
        for now in 1..1000 {
            if now % update == 0 {
                write(&space, &stored, now);
            }
            items[1].catch_up(&space, at(now), &mut Pace::default(), &memory, &mut tally);
            if now % publishing == 0 {
                items[0].catch_up(&space, at(now), &mut Pace::default(), &memory, &mut tally);
                for (item, out) in items.iter_mut().zip(&mut reported) {
                    while item.report(Mark::default(), &space, &mut Pace::default(), &memory, out) {}
                }
            }
        }
        prop_assert!(!reported[0].is_empty());
        prop_assert_eq!(&reported[0], &reported[1]);
    }
}
