//! What a group has, divided among its phases by their weights.

use super::complaint::Wrong;
use super::tree::Scalar;
use super::vocabulary::Setting;
use crate::unit::Rate;

/// Whether an option of a group is divided among its phases.
pub fn divides(option: &str) -> bool {
    matches!(option, "sessions" | "rate-total" | "requests")
}

/// The part of each phase; one without a weight has a weight of 1. Whole numbers add up to the whole,
/// and rates to a thousandth of a millionth.
pub fn divide(setting: &Setting, weights: &[Option<u32>]) -> Result<Vec<Setting>, Wrong> {
    let weights: Vec<u64> = weights.iter().map(|it| it.unwrap_or(1).into()).collect();
    let all: u64 = weights.iter().sum();
    let text = setting
        .values
        .first()
        .map(Scalar::to_string)
        .unwrap_or_default();
    let wrong = |want: &str| {
        Wrong::new(
            &setting.at,
            setting.field.clone(),
            format!("{text:?} (want {want})"),
        )
    };
    let parts: Vec<String> = if setting.option == "rate-total" {
        let rate: Rate = text.parse().map_err(|error: crate::unit::UnitError| {
            Wrong::new(&setting.at, setting.field.clone(), error.to_string())
        })?;
        let part = |weight: &u64| {
            let part = Rate::new(
                rate.count().checked_mul(*weight)?,
                rate.per_ns().checked_mul(all)?,
            )?;
            Some(part.to_string())
        };
        let parts: Option<Vec<String>> = weights.iter().map(part).collect();
        parts.ok_or_else(|| wrong("a rate that can be divided by the weights"))?
    } else {
        let number: u64 = text.parse().map_err(|_| wrong("a whole number"))?;
        let want = "at least one for each phase, by its weight";
        let parts = whole(number, &weights, all).ok_or_else(|| wrong(want))?;
        parts.iter().map(u64::to_string).collect()
    };
    Ok(parts
        .into_iter()
        .map(|part| Setting {
            values: vec![Scalar::Text(part)],
            ..setting.clone()
        })
        .collect())
}

/// Whole parts by the largest remainder; none if one would be zero.
fn whole(number: u64, weights: &[u64], all: u64) -> Option<Vec<u64>> {
    let exact = |weight: u64| u128::from(number) * u128::from(weight);
    let all = u128::from(all.max(1));
    let mut parts: Vec<u64> = weights
        .iter()
        // No part is larger than all of it.
        .map(|weight| u64::try_from(exact(*weight) / all).unwrap_or_default())
        .collect();
    let left = number.checked_sub(parts.iter().sum())?;
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by_key(|n| {
        let weight = weights.get(*n).copied().unwrap_or_default();
        std::cmp::Reverse(exact(weight) % all)
    });
    for n in by_remainder.into_iter().take(usize::try_from(left).ok()?) {
        if let Some(part) = parts.get_mut(n) {
            *part += 1;
        }
    }
    parts.iter().all(|part| *part > 0).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::vocabulary::Shape;

    fn divided(option: &str, value: &str, weights: &[u32]) -> Result<Vec<String>, String> {
        let setting = Setting {
            option: option.to_owned(),
            shape: Shape::One,
            values: vec![Scalar::Text(value.to_owned())],
            at: 0..1,
            field: format!("group.x.{option}"),
        };
        let weights: Vec<Option<u32>> = weights.iter().copied().map(Some).collect();
        match divide(&setting, &weights) {
            Ok(parts) => Ok(parts.iter().map(|it| it.values[0].to_string()).collect()),
            Err(wrong) => Err(wrong.what),
        }
    }

    #[test]
    fn the_parts_of_a_group_add_up_to_the_whole() {
        assert_eq!(
            divided("sessions", "10", &[1, 1, 1]).unwrap(),
            ["4", "3", "3"]
        );
        assert_eq!(divided("sessions", "40", &[3, 1]).unwrap(), ["30", "10"]);
        let rates = divided("rate-total", "1000/s", &[9, 1]).unwrap();
        let rates: Vec<f64> = rates
            .iter()
            .map(|it| it.parse::<Rate>().unwrap().as_f64())
            .collect();
        assert_eq!(rates, [900.0, 100.0]);
        assert!(
            divided("sessions", "1", &[1, 1])
                .unwrap_err()
                .contains("at least one")
        );
        assert!(
            divided("rate-total", "fast", &[1, 1])
                .unwrap_err()
                .contains("want")
        );
    }
}
