//! One place prints: what happens when nobody reads is decided there.

use std::path::Path;

use crate::files::{outside, text};

#[test]
fn one_file_of_the_program_writes_to_standard_output_and_standard_error() {
    let prints = ["print!(", "println!(", "stdout()"];
    let place = "crates/commands/src/screen.rs";
    assert!(
        text(Path::new(place)).contains("stdout()"),
        "{place} has moved"
    );
    let found = outside(place, &prints);
    assert!(
        found.is_empty(),
        "print with screen::out() and tell!, which a closed pipe does not stop:\n{}",
        found.join("\n")
    );
}
