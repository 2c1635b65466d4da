//! A connection is cut; the client comes back and goes on with its subscription.

use peers::testing::{require, say};
use peers::{ClientOptions, Stack};

use super::relay::Relay;
use super::{JUDGES, plant, written};

/// Values after the cut: three seconds of the counter of 100 ms.
const AFTER: u32 = 30;

/// Clients that ask for a message which they have missed with Republish (Part 4, 5.14.6) and throw the
/// answer away: what was on its way when the connection was cut is lost inside them.
const DROPS_REPUBLISHED: [&str; 1] = ["gopcua"];

#[test]
fn each_client_comes_back_after_a_cut_and_has_missed_nothing() {
    let stacks: Vec<&'static Stack> = JUDGES.iter().filter_map(|name| require(name)).collect();
    let server = plant(None);
    std::thread::scope(|scope| {
        let runs = stacks.iter().map(|stack| {
            let relay = Relay::to(server.address());
            (stack.name, scope.spawn(move || cut(stack, &relay)))
        });
        let runs: Vec<_> = runs.collect();
        for (name, run) in runs {
            assert!(run.join().is_ok(), "{name}: see above");
        }
    });
}

fn cut(stack: &'static Stack, relay: &Relay) {
    let name = stack.name;
    let options = ClientOptions {
        updates: AFTER,
        cut: Some(relay.scissors()),
        ..ClientOptions::default()
    };
    let text = written(stack, &relay.url(), "cut", options);
    let (connections, cuts) = relay.seen();
    assert_eq!(cuts, 1, "{name}");
    let (before, after) = text.split_once("CUT\n").unwrap();
    let counts = |text: &str| -> Vec<i64> { text.lines().map(|n| n.parse().unwrap()).collect() };
    let (before, after) = (counts(before), counts(after));
    assert!(after.len() >= AFTER as usize, "{name}: {after:?}");
    // The session or the subscription was taken over, so that what was queued meanwhile is told. What
    // was not acknowledged is told again by Republish (Part 4, 5.14.6), and the last value to those who
    // transfer with sendInitialValues (Part 4, 5.14.7): repeats are right, gaps are not.
    // What is told again may come behind what is told for the first time.
    let all = [before, after].concat();
    let mut told = all.clone();
    told.sort_unstable();
    told.dedup();
    let gaps = told.windows(2).filter(|pair| pair[1] > pair[0] + 1);
    let gaps: Vec<&[i64]> = gaps.collect();
    let allowed = usize::from(DROPS_REPUBLISHED.contains(&name));
    assert!(gaps.len() <= allowed, "{name}: {gaps:?} in {all:?}");
    say(&format!(
        "{name}: back with connection {connections}, {} values",
        all.len()
    ));
}
