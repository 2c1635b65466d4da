//! Results that go on behind an answer.

use std::sync::Arc;

use plan::{Browse, NodeSpec, Work};
use record::Measure;

use crate::bench::{Fate, MS, World};
use crate::{SECOND, constant, is_about, quantile};

#[test]
fn a_browse_with_continuation_points_is_one_operation() {
    let browse = || {
        let mut world = World::new(constant(100), SECOND);
        let objects: NodeSpec = "i=85".parse().unwrap();
        world.phase.work = Work::Browse(Browse::new(objects.into()));
        world.references = (25, 10);
        world.conduct = Arc::new(|_, _| Fate::Answer(MS));
        world
    };
    let tally = browse().tally();
    let whole = tally.whole();
    assert_eq!(whole.sum.counters.completed, 100);
    assert_eq!(whole.sum.counters.values, 2500);
    assert_eq!(whole.sum.counters.sent_sizes.messages, 300);
    assert_eq!(whole.sum.counters.received_sizes.messages, 300);
    assert!(is_about(quantile(&tally, Measure::Service, 0.5), 3e6));
    // Without the rest it ends with its first answer, and the server is told to forget it.
    let mut first = browse();
    let Work::Browse(browse) = &mut first.phase.work else {
        unreachable!()
    };
    browse.follow = false;
    let tally = first.tally();
    let whole = tally.whole();
    assert_eq!(whole.sum.counters.completed, 100);
    assert_eq!(whole.sum.counters.values, 1000);
    assert_eq!(whole.sum.counters.sent_sizes.messages, 200);
    assert!(is_about(quantile(&tally, Measure::Service, 0.5), 1e6));
}
