//! MSER-5 (White 1997): leave out so much of the beginning that the mean of the rest is known best.

/// Values that are averaged before looking.
const BATCH: usize = 5;

/// With fewer batches, single values are taken instead.
const MIN_BATCHES: usize = 10;

/// How much to leave out.
pub(super) struct Cut {
    /// How many values: at most as many as are allowed.
    pub values: usize,
    /// It would rather leave out more than that.
    pub would_more: bool,
}

/// How much to leave out, at most so many values.
pub(super) fn cut(values: &[f64], most: usize) -> Cut {
    let batch = match values.len() / BATCH {
        batches if batches >= MIN_BATCHES => BATCH,
        _ => 1,
    };
    let means: Vec<f64> = values
        .chunks_exact(batch)
        .map(|chunk| chunk.iter().sum::<f64>() / batch as f64)
        .collect();
    // From the end: sums of what is left when everything before is left out.
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    let mut late = f64::INFINITY;
    // Around the last value, so that large levels with small noise keep their digits.
    let origin = means.last().copied().unwrap_or(0.0);
    for (at, mean) in means.iter().enumerate().rev() {
        let mean = mean - origin;
        sum += mean;
        squares += mean * mean;
        let n = (means.len() - at) as f64;
        let score = (squares - sum * sum / n).max(0.0) / (n * n);
        if at * batch <= most {
            // Of equals, the one that leaves out less.
            if score <= best.0 {
                best = (score, at);
            }
        } else if at * 5 <= means.len() * 4 {
            // A handful of values at the end lies close together by chance.
            late = late.min(score);
        }
    }
    Cut {
        values: best.1 * batch,
        would_more: late < best.0,
    }
}
