//! The result rows of the test platform of 2015, by its formulas.

use std::fmt::Write;

/// The head of its table. `sigma_printed` is the mean of squared deviations, as the study prints it (it
/// calls it σ and shows no root); `sigma` is its root, the standard deviation. Both have their c_v.
pub const HEAD: &str = "test,name,time,n_r,t_ms,t_c_ms,t_r_ms,sigma_printed_ms2,sigma_ms,c_v_printed,c_v,\
                        cycles,concurrency,count,resource,security,request,errors,verdict\n";

/// What a row tells, beside the times of its cycles.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The title.
    pub test: String,
    /// The identifier.
    pub name: String,
    /// When it began.
    pub time: String,
    /// Requests at the same time.
    pub concurrency: u32,
    /// Nodes in each.
    pub count: u32,
    /// The node.
    pub resource: String,
    /// Whether the channel was secured.
    pub security: bool,
    /// Whether values were written.
    pub writes: bool,
    /// Requests that failed.
    pub errors: u64,
    /// Whether it can be believed.
    pub verdict: String,
}

/// The figures of a test instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Resources of a cycle: count × concurrency.
    pub n_r: f64,
    /// Of all cycles.
    pub t: f64,
    /// t / c.
    pub t_c: f64,
    /// That over n_r.
    pub t_r: f64,
    /// The mean of squared deviations of the cycles from t_c.
    pub sigma_printed: f64,
    /// Its root.
    pub sigma: f64,
    /// Sigma as printed over t_c.
    pub c_v_printed: f64,
    /// Sigma over t_c.
    pub c_v: f64,
}

impl Figures {
    /// Of cycles that took so long, in the unit of these numbers; none without a cycle.
    pub fn of(cycles: &[f64], concurrency: u32, count: u32) -> Option<Self> {
        if cycles.is_empty() {
            return None;
        }
        let c = cycles.len() as f64;
        let n_r = f64::from(concurrency) * f64::from(count);
        let t: f64 = cycles.iter().sum();
        let t_c = t / c;
        let sigma_printed = cycles.iter().map(|it| (it - t_c).powi(2)).sum::<f64>() / c;
        let sigma = sigma_printed.sqrt();
        Some(Self {
            n_r,
            t,
            t_c,
            t_r: t_c / n_r,
            sigma_printed,
            sigma,
            c_v_printed: sigma_printed / t_c,
            c_v: sigma / t_c,
        })
    }
}

/// A row of the table, from cycles in nanoseconds; none without a cycle.
pub fn row(row: &Row, cycles_ns: &[u64]) -> Option<String> {
    let cycles: Vec<f64> = cycles_ns.iter().map(|&ns| ns as f64 / 1e6).collect();
    let it = Figures::of(&cycles, row.concurrency, row.count)?;
    let mut line = String::new();
    let on = |is| if is { "on" } else { "off" };
    // Writing to a String does not fail.
    let _ = writeln!(
        line,
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        quoted(&row.test),
        quoted(&row.name),
        row.time,
        it.n_r,
        it.t,
        it.t_c,
        it.t_r,
        it.sigma_printed,
        it.sigma,
        it.c_v_printed,
        it.c_v,
        cycles.len(),
        row.concurrency,
        row.count,
        quoted(&row.resource),
        on(row.security),
        if row.writes { "write" } else { "read" },
        row.errors,
        row.verdict,
    );
    Some(line)
}

/// RFC 4180: quotes around what has a comma, a quote or a line's end in it.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_are_those_of_the_study() {
        let it = Figures::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], 40, 10).unwrap();
        assert_eq!((it.n_r, it.t, it.t_c, it.t_r), (400.0, 40.0, 5.0, 0.0125));
        assert_eq!((it.sigma_printed, it.sigma), (4.0, 2.0));
        assert_eq!((it.c_v_printed, it.c_v), (0.8, 0.4));
        assert_eq!(Figures::of(&[], 1, 1), None);
    }

    #[test]
    fn a_row_has_a_field_for_each_column() {
        let text = Row {
            test: "One page, alone and \"many\" at once".into(),
            name: "page".into(),
            concurrency: 2,
            count: 3,
            ..Row::default()
        };
        let row = row(&text, &[1_000_000, 3_000_000]).unwrap();
        assert!(
            row.starts_with("\"One page, alone and \"\"many\"\" at once\",page,,6,4,2,"),
            "{row}"
        );
        let quoted = row.replace("One page, alone", "One page alone");
        assert_eq!(quoted.matches(',').count(), HEAD.matches(',').count());
    }
}
