//! What it took to set subscriptions up, to change them and to take them down.

use plan::unit::duration::show_ns;
use record::run::{StepTaken, Subscriptions};

use crate::page::{counted, grouped};
use crate::table;

/// What a row calls the requests of a step.
enum StepWords {
    /// So many things in so long, from the first request to the last answer.
    Whole(&'static str, &'static str, &'static str),
    /// Requests that came now and then: how long one takes.
    Each(&'static str, &'static str, &'static str),
}

/// How a step is told of.
fn told_as(step: &str) -> Option<StepWords> {
    use StepWords::{Each, Whole};
    Some(match step {
        "create_subscription" => Whole("subscription", "subscriptions", "created"),
        "create_items" => Whole("item", "items", "created"),
        "set_triggering" => Whole("link", "links", "set"),
        "delete_items" => Whole("item", "items", "deleted"),
        "delete_subscriptions" => Whole("subscription", "subscriptions", "deleted"),
        "modify" => Each("change", "changes", "of terms"),
        "set_mode" => Each("item", "items", "held back or let go on"),
        "transfer" => Each("transfer", "transfers", ""),
        "refresh" => Each("refresh", "refreshes", ""),
        "recreate_subscription" => Each("subscription", "subscriptions", "made again"),
        "recreate_items" => Each("item", "items", "made again"),
        _ => return None,
    })
}

/// Rows with their labels.
pub(crate) fn rows(told: &Subscriptions) -> Vec<(&'static str, String)> {
    let (mut set_up, mut changes) = (Vec::new(), Vec::new());
    for step in &told.steps {
        match told_as(&step.step) {
            Some(StepWords::Whole(one, many, done)) => {
                let things = counted(step.things, one, many);
                set_up.push(format!("{things} {done} in {}", show_ns(step.span_ns)));
            }
            Some(StepWords::Each(one, many, done)) => changes.push(each(step, one, many, done)),
            None => set_up.push(format!("{} {}", grouped(step.things), step.step)),
        }
    }
    let rows = [("set up", set_up, ", "), ("changes", changes, "; ")];
    let rows = rows.into_iter().filter(|(_, parts, _)| !parts.is_empty());
    rows.map(|(label, parts, between)| (label, parts.join(between)))
        .collect()
}

/// `1,600 changes of terms in 16 requests, each took 340 µs (at most 1.20 ms)`.
fn each(step: &StepTaken, one: &str, many: &str, done: &str) -> String {
    let things = counted(step.things, one, many);
    let requests = counted(step.times.count(), "request", "requests");
    let mut text = format!("{things} {done}").trim_end().to_owned();
    if step.times.count() != step.things {
        text.push_str(&format!(" in {requests}"));
    }
    if let (Some(mean), Some(max)) = (step.times.mean(), step.times.max()) {
        text.push_str(&match step.times.count() {
            1 => format!(", which took {}", show_ns(max)),
            _ => format!(
                ", each took {} (at most {})",
                table::time(Some(mean)),
                show_ns(max)
            ),
        });
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use record::Histogram;

    use super::*;

    fn step(name: &str, things: u64, times: &[u64]) -> StepTaken {
        let mut each = Histogram::default();
        for ns in times {
            each.merge(&Histogram::of(*ns, 1));
        }
        StepTaken {
            step: name.to_owned(),
            things,
            span_ns: 3_000_000,
            times: each,
        }
    }

    #[test]
    fn setting_up_is_told_as_a_whole_and_changes_one_by_one() {
        let told = Subscriptions {
            steps: vec![
                step("create_subscription", 1, &[500_000]),
                step("create_items", 2000, &[1_000_000, 1_000_000]),
                step("modify", 1600, &[300_000, 500_000]),
                step("transfer", 1, &[200_000]),
            ],
            ..Subscriptions::default()
        };
        let rows = rows(&told);
        assert_eq!(
            rows.first().unwrap().1,
            "1 subscription created in 3 ms, 2,000 items created in 3 ms"
        );
        let changes = &rows.get(1).unwrap().1;
        assert!(
            changes
                .starts_with("1,600 changes of terms in 2 requests, each took 400 µs (at most 5"),
            "{changes}"
        );
        assert!(
            changes.ends_with("; 1 transfer, which took 200 µs"),
            "{changes}"
        );
    }
}
