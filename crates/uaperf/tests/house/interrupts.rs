//! One place says what an interrupt does and how the process ends: whoever ends it elsewhere gives nothing back.

use std::path::Path;

use crate::files::{text, tracked};

#[test]
fn one_file_of_the_program_sets_a_handler_of_interrupts_and_ends_the_process() {
    const ENDS: &[&str] = &["set_handler(", "process::exit("];
    let place = Path::new("crates/uaperf/src/interrupt.rs");
    for ends in ENDS {
        assert!(text(place).contains(ends), "{} has moved", place.display());
    }
    let mut found = Vec::new();
    for file in tracked() {
        if !file.starts_with("crates/uaperf/src") || file == place {
            continue;
        }
        for (number, line) in text(&file).lines().enumerate() {
            if ENDS.iter().any(|ends| line.contains(ends)) {
                found.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "interrupt::first() sets the handler, interrupt::quit() gives back what was taken and ends the process:\n{}",
        found.join("\n")
    );
}
