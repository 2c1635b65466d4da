//! Thresholds as test cases: JUnit's XML, for CI servers.

use std::fmt::Write;

use judge::Exit;
use plan::Threshold;
use record::run::{Expectation, Phase, Run};

use crate::points::Named;

/// Something that was to be measured, and of which there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    /// What it was: a point of a scenario, a command.
    pub name: String,
    /// Why there is none.
    pub why: String,
}

/// A suite for each phase of each run: a case for its verdict and one for each threshold. Names come
/// with their runs. What could not be measured is a suite with an error.
pub fn junit(runs: &[Named], unmeasured: &[Unmeasured]) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for Named { name, run, varied } in runs {
        let mut file = crate::several::short(name);
        for (axis, value) in varied {
            file.push_str(&format!(", {axis} {value}"));
        }
        for phase in &run.phases {
            let suite = suite(&file, run, phase);
            tests += suite.tests;
            failures += suite.failures;
            errors += suite.errors;
            suites.push_str(&suite.text);
        }
    }
    let whole = runs.iter().filter(|it| is_worse_than_its_phases(&it.run));
    let whole = whole.map(|it| Unmeasured {
        name: crate::several::short(&it.name),
        why: it.run.verdict.evidence.join("\n"),
    });
    for it in whole.chain(unmeasured.iter().cloned()) {
        let (name, why) = (escaped(&it.name), escaped(&it.why));
        tests += 1;
        errors += 1;
        let _ = write!(
            suites,
            "  <testsuite name=\"{name}\" tests=\"1\" failures=\"0\" errors=\"1\" time=\"0\">\n    \
             <testcase classname=\"{name}\" name=\"verdict\" time=\"0\">\n      \
             <error message=\"not all of it was measured\" type=\"INCOMPLETE\">{why}</error>\n    \
             </testcase>\n  </testsuite>\n"
        );
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"uaperf\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\">\n{suites}</testsuites>\n"
    )
}

/// Whether a run is worse than each of its phases: one of them did not begin.
fn is_worse_than_its_phases(run: &Run) -> bool {
    let alone = Run {
        phases: Vec::new(),
        ..run.clone()
    };
    let mut phases = run.phases.iter();
    Exit::of(&alone) != Exit::Good && phases.all(|phase| phase.verdict.kind < run.verdict.kind)
}

struct Suite {
    text: String,
    tests: usize,
    failures: usize,
    errors: usize,
}

fn suite(file: &str, run: &Run, phase: &Phase) -> Suite {
    // A threshold is held against the wrong figures when the run itself cannot be believed.
    let alone = Run {
        phases: Vec::new(),
        verdict: phase.verdict.clone(),
        ..run.clone()
    };
    let believed = Exit::of(&alone) == Exit::Good;
    let failures = phase.expectations.iter().filter(|it| !it.met).count();
    let errors = usize::from(!believed);
    let tests = phase.expectations.len() + 1;
    let seconds = phase.end_ns as f64 / 1e9;
    let class = escaped(&format!("{file}.{}", phase.name));
    let stamp = phase.started.to_string();
    let stamp = stamp
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end_matches('Z');
    let mut text = format!(
        "  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" \
         time=\"{seconds:.3}\" timestamp=\"{stamp}\">\n",
        escaped(&format!("{file}: {}", phase.name))
    );
    let verdict = phase.verdict.kind;
    let _ = write!(
        text,
        "    <testcase classname=\"{class}\" name=\"verdict\" time=\"{seconds:.3}\""
    );
    match believed {
        true => text.push_str("/>\n"),
        false => {
            let why = phase.verdict.evidence.join("\n");
            let _ = writeln!(
                text,
                ">\n      <error message=\"{}\" type=\"{verdict}\">{}</error>\n    </testcase>",
                escaped(&format!("{verdict}: no figure of this run stands")),
                escaped(&why)
            );
        }
    }
    for it in &phase.expectations {
        let _ = write!(
            text,
            "    <testcase classname=\"{class}\" name=\"{}\" time=\"0\"",
            escaped(&it.expected)
        );
        match it.met {
            true => text.push_str("/>\n"),
            false => {
                let _ = writeln!(
                    text,
                    ">\n      <failure message=\"{0}\" type=\"threshold\">{0}</failure>\n    </testcase>",
                    escaped(&found(it))
                );
            }
        }
    }
    text.push_str("  </testsuite>\n");
    Suite {
        text,
        tests,
        failures,
        errors,
    }
}

/// `p99<5ms: 7.20 ms`.
fn found(it: &Expectation) -> String {
    match (it.expected.parse::<Threshold>(), &it.reason) {
        (Ok(threshold), None) => plan::Outcome {
            threshold,
            figure: it.found,
        }
        .to_string(),
        (_, Some(reason)) => format!("{}: {reason}", it.expected),
        _ => it.expected.clone(),
    }
}

/// Text that can stand between tags and quotes; what XML 1.0 cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | '\r' => out.push(c),
            c if (c as u32) < 0x20 || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
