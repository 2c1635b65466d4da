//! The mean of samples that follow each other, and how well it is known.

use record::average::mean;

use crate::compare::t_half;

/// A mean, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Average {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width.
    pub error: f64,
}

/// Samples that follow each other are alike. The means of so many stretches of them are less so.
const STRETCHES: usize = 10;

/// Fewer samples give no error worth the name.
const FEWEST: usize = 8;

impl Average {
    /// Of samples at equal intervals, in the order in which they were taken; none if there are too few.
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.len() < FEWEST {
            return None;
        }
        let stretches = STRETCHES.min(samples.len());
        let means: Vec<f64> = (0..stretches)
            .filter_map(|n| {
                let begin = n * samples.len() / stretches;
                mean(samples.get(begin..(n + 1) * samples.len() / stretches)?)
            })
            .collect();
        Some(Self {
            mean: mean(samples)?,
            error: t_half(&means)?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_interval_holds_the_mean_of_a_process_that_wanders_as_often_as_it_says() {
        // Each sample is nine tenths of the one before and a random step: an interval from the samples as if they
        // were independent would hold the mean in less than half of the cases.
        let mut random = plan::Random::new(7);
        let held = (0..400)
            .filter(|_| {
                let mut level = 0.0;
                let samples: Vec<f64> = (0..600)
                    .map(|_| {
                        level = 0.9 * level + random.above_zero() - 0.5;
                        level
                    })
                    .collect();
                let average = Average::of(&samples).unwrap();
                average.mean.abs() <= average.error
            })
            .count();
        assert!((340..=400).contains(&held), "{held} of 400");
    }

    #[test]
    fn too_few_samples_give_nothing() {
        assert_eq!(Average::of(&[1.0; 7]), None);
        assert_eq!(Average::of(&[1.0; 8]).unwrap().error, 0.0);
    }
}
