//! Tables of percentiles (`.hgrm`), as HdrHistogram's own programs print them and its plotters read them.

use std::fmt::{self, Write};

use crate::{Histogram, HistogramError};

/// Rows between two halvings of what is left to 100 %.
const STEPS: u32 = 5;

/// The table of a histogram of nanoseconds, in milliseconds.
pub fn table(histogram: &Histogram) -> Result<String, HistogramError> {
    let hdr = histogram.to_hdr()?;
    let mut text = String::new();
    // Writing into a String does not fail.
    let _ = write(&mut text, &hdr);
    Ok(text)
}

fn write(out: &mut String, hdr: &hdrhistogram::Histogram<u64>) -> fmt::Result {
    let ms = |ns: f64| ns / 1e6;
    writeln!(
        out,
        "{:>14} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut count = 0;
    for row in hdr.iter_quantiles(STEPS) {
        count += row.count_since_last_iteration();
        let share = row.quantile_iterated_to();
        let value = ms(row.value_iterated_to() as f64);
        write!(out, "{value:>14.6} {share:.12} {count:>10}")?;
        match share < 1.0 {
            true => writeln!(out, " {:>14.2}", 1.0 / (1.0 - share))?,
            false => writeln!(out)?,
        }
    }
    let (mean, deviation) = (ms(hdr.mean()), ms(hdr.stdev()));
    let (max, len) = (ms(hdr.max() as f64), hdr.len());
    writeln!(
        out,
        "#[Mean    = {mean:>14.6}, StdDeviation   = {deviation:>14.6}]"
    )?;
    writeln!(out, "#[Max     = {max:>14.6}, Total count    = {len:>14}]")?;
    writeln!(
        out,
        "#[Buckets = {:>14}, SubBuckets     = {:>14}]",
        hdr.buckets(),
        2048
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_grow_to_all_values_and_the_end_says_what_they_are() {
        let mut histogram = Histogram::of(1_000_000, 900);
        histogram.merge(&Histogram::of(5_000_000, 99));
        histogram.merge(&Histogram::of(80_000_000, 1));
        let text = table(&histogram).unwrap();
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(
            head,
            ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
        );
        let rows: Vec<Vec<f64>> = lines
            .filter(|it| !it.is_empty() && !it.starts_with('#'))
            .map(|it| {
                it.split_whitespace()
                    .map(|it| it.parse().unwrap())
                    .collect()
            })
            .collect();
        let median = rows.iter().find(|it| it[1] == 0.5).unwrap();
        assert!(
            (median[0] - 1.0).abs() < 0.001 && median[2] == 900.0,
            "{text}"
        );
        assert_eq!(median[3], 2.0);
        for pair in rows.windows(2) {
            assert!(pair.iter().is_sorted_by(|a, b| a[..3] <= b[..3]), "{text}");
        }
        let last = rows.last().unwrap();
        assert!((last[0] - 80.0).abs() < 0.08, "{text}");
        assert_eq!((last.len(), last[1], last[2]), (3, 1.0, 1000.0));
        let end = text.lines().rev().nth(1).unwrap();
        assert!(
            end.starts_with("#[Max     =") && end.ends_with("1000]"),
            "{text}"
        );
    }

    #[test]
    fn nothing_has_a_table_without_rows() {
        let text = table(&Histogram::default()).unwrap();
        assert!(text.contains("Total count    =              0]"), "{text}");
    }
}
