//! Which values are varied, and which combinations of them are measured in which order.

use std::collections::BTreeMap;

use super::complaint::Wrong;
use super::tree::{Item, Node};
use crate::random::Random;

/// How several sweeps go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Together {
    /// Each value of one with each value of the others.
    #[default]
    Crossed,
    /// The first of one with the first of the others, and so on.
    Zipped,
}

/// The order in which points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As written, repetition after repetition.
    #[default]
    Given,
    /// Shuffled anew for each repetition, from the seed.
    Random,
    /// As written, then backwards, and so on: what drifts with time falls on all points alike.
    Mirrored,
}

impl Order {
    /// As typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Random => "random",
            Self::Mirrored => "mirrored",
        }
    }
}

/// Something that is varied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// What people call it: `batch`, or `second.batch` where two phases have one.
    pub name: String,
    /// Its values as typed.
    pub values: Vec<String>,
}

/// An axis in the text.
pub struct SweepInText {
    pub field: String,
    pub key: String,
    pub at: usize,
    pub span: std::ops::Range<usize>,
    pub values: Vec<String>,
}

/// All sweeps of a text, in its order.
pub fn find(
    item: &Item,
    field: &str,
    key: &str,
    found: &mut Vec<SweepInText>,
) -> Result<(), Wrong> {
    if let Some(values) = item.sweep(field)? {
        found.push(SweepInText {
            field: field.to_owned(),
            key: key.to_owned(),
            at: item.at.start,
            span: item.at.clone(),
            values: values.iter().map(Item::to_string).collect(),
        });
        return Ok(());
    }
    match &item.node {
        Node::Scalar(_) => {}
        Node::List(items) => {
            for (n, item) in items.iter().enumerate() {
                find(item, &format!("{field}[{n}]"), key, found)?;
            }
        }
        Node::Table(entries) => {
            for entry in entries {
                let field = match field {
                    "" => entry.key.clone(),
                    field => format!("{field}.{}", entry.key),
                };
                find(&entry.item, &field, &entry.key, found)?;
            }
        }
    }
    Ok(())
}

/// Names that tell axes apart.
pub fn axes(found: &[SweepInText]) -> Vec<Axis> {
    let alone = |key: &str| found.iter().filter(|it| it.key == key).count() == 1;
    found
        .iter()
        .map(|it| Axis {
            name: match alone(&it.key) {
                true => it.key.clone(),
                false => it.field.clone(),
            },
            values: it.values.clone(),
        })
        .collect()
}

/// The combinations that are measured: for each the places of its values.
pub fn combinations(
    found: &[SweepInText],
    together: Together,
    most: usize,
) -> Result<Vec<Vec<usize>>, Wrong> {
    let too_many = |it: &SweepInText| {
        let what = format!("makes more than {most} points (want fewer values)");
        Wrong::new(&it.span, it.field.clone(), what)
    };
    match together {
        Together::Crossed => {
            let mut all = vec![Vec::new()];
            for it in found {
                if all.len().saturating_mul(it.values.len()) > most {
                    return Err(too_many(it));
                }
                let longer = |so_far: &Vec<usize>| {
                    let so_far = so_far.clone();
                    (0..it.values.len()).map(move |next| {
                        let mut longer = so_far.clone();
                        longer.push(next);
                        longer
                    })
                };
                all = all.iter().flat_map(longer).collect();
            }
            Ok(all)
        }
        Together::Zipped => {
            let Some(first) = found.first() else {
                return Ok(vec![Vec::new()]);
            };
            for it in found {
                if it.values.len() > most {
                    return Err(too_many(it));
                }
                if it.values.len() != first.values.len() {
                    let what = format!(
                        "{} values, while {} has {} (want as many: they are zipped)",
                        it.values.len(),
                        first.field,
                        first.values.len()
                    );
                    return Err(Wrong::new(&it.span, it.field.clone(), what));
                }
            }
            Ok((0..first.values.len())
                .map(|n| vec![n; found.len()])
                .collect())
        }
    }
}

/// The choice of one combination, for the text.
pub fn chosen(found: &[SweepInText], combination: &[usize]) -> BTreeMap<usize, usize> {
    found
        .iter()
        .map(|it| it.at)
        .zip(combination.iter().copied())
        .collect()
}

/// One measurement: a point of the sweep, and which time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The point's place in the sweep.
    pub point: usize,
    /// Which repetition, from 1 on.
    pub repetition: u32,
}

/// All measurements in their order. It follows from the arguments alone.
pub fn turns(points: usize, repeat: u32, order: Order, seed: u64) -> Vec<Turn> {
    let mut turns = Vec::new();
    for repetition in 1..=repeat {
        let mut places: Vec<usize> = (0..points).collect();
        match order {
            Order::Given => {}
            Order::Mirrored if repetition % 2 == 0 => places.reverse(),
            Order::Mirrored => {}
            Order::Random => shuffle(&mut places, &mut Random::stream(seed, &[repetition.into()])),
        }
        turns.extend(places.into_iter().map(|point| Turn { point, repetition }));
    }
    turns
}

/// Fisher and Yates.
fn shuffle(places: &mut [usize], random: &mut Random) {
    for last in (1..places.len()).rev() {
        let other = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        places.swap(last, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(order: Order, repeat: u32) -> Vec<usize> {
        turns(4, repeat, order, 7)
            .iter()
            .map(|turn| turn.point)
            .collect()
    }

    #[test]
    fn a_mirrored_order_goes_there_and_back() {
        assert_eq!(places(Order::Given, 2), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(
            places(Order::Mirrored, 3),
            [0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3]
        );
    }

    #[test]
    fn a_random_order_has_every_point_once_in_each_repetition_and_follows_from_the_seed() {
        let order = places(Order::Random, 50);
        let mut first = std::collections::BTreeSet::new();
        for repetition in order.chunks(4) {
            let mut all = repetition.to_vec();
            first.insert(repetition[0]);
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3]);
        }
        // In fifty repetitions each of four points was the first once: all but certain.
        assert_eq!(first.len(), 4);
        assert_eq!(order, places(Order::Random, 50));
        assert_ne!(
            turns(40, 1, Order::Random, 1),
            turns(40, 1, Order::Random, 2)
        );
    }
}
