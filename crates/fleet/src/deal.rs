//! Sessions dealt out to agents.

use plan::Seat;

/// Deals the sessions with each of so many targets out, by weight. Each agent's part of the first so many sessions
/// is its part of all, to a session; a session keeps its place in the plan.
pub fn deal(targets: u32, sessions: u32, weights: &[u32]) -> Vec<Vec<Seat>> {
    let mut hands = vec![Vec::new(); weights.len()];
    let seats =
        (0..targets).flat_map(|target| (0..sessions).map(move |index| Seat { target, index }));
    for seat in seats {
        // To whom has the least for its weight, of those alike to the first.
        let least = |&(a, weight_a): &(usize, &u32), &(b, weight_b): &(usize, &u32)| {
            let (a, b) = (hands[a].len() as u64 + 1, hands[b].len() as u64 + 1);
            (a * u64::from(*weight_b)).cmp(&(b * u64::from(*weight_a)))
        };
        let all = weights
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight > 0);
        if let Some((to, _)) = all.min_by(least) {
            hands[to].push(seat);
        }
    }
    hands
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(targets: u32, sessions: u32, weights: &[u32]) -> Vec<usize> {
        let hands = deal(targets, sessions, weights);
        hands.iter().map(Vec::len).collect()
    }

    #[test]
    fn sessions_are_dealt_out_by_weight() {
        assert_eq!(sizes(1, 10, &[1, 1]), [5, 5]);
        assert_eq!(sizes(2, 5, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(sizes(1, 30, &[1, 2]), [10, 20]);
        assert_eq!(sizes(1, 2, &[1, 1, 1]), [1, 1, 0]);
        assert_eq!(sizes(1, 4, &[0, 1]), [0, 4]);
        let index = |seat: &Seat| seat.index;
        let second: Vec<u32> = deal(1, 6, &[1, 1])[1].iter().map(index).collect();
        assert_eq!(second, [1, 3, 5]);
    }

    proptest! {
        #[test]
        fn each_session_has_one_agent_and_nobody_has_much_more_than_its_part(
            targets in 1..4u32, sessions in 1..100u32, weights in prop::collection::vec(1..9u32, 1..9),
        ) {
            let hands = deal(targets, sessions, &weights);
            let mut all: Vec<Seat> = hands.concat();
            all.sort_unstable();
            all.dedup();
            let count = (targets * sessions) as usize;
            prop_assert_eq!(all.len(), count);
            let sum: u32 = weights.iter().sum();
            for (hand, weight) in hands.iter().zip(&weights) {
                let part = count as f64 * f64::from(*weight) / f64::from(sum);
                prop_assert!((hand.len() as f64 - part).abs() < weights.len() as f64, "{} of {part}", hand.len());
            }
        }
    }
}
