//! One place says what an interrupt does and how the process ends: whoever ends it elsewhere gives nothing back.

use std::path::Path;

use crate::files::{outside, text};

#[test]
fn one_file_of_the_program_sets_a_handler_of_interrupts_and_ends_the_process() {
    let ends = ["set_handler(", "process::exit("];
    let place = "crates/commands/src/interrupt.rs";
    for word in ends {
        assert!(text(Path::new(place)).contains(word), "{place} has moved");
    }
    let found = outside(place, &ends);
    assert!(
        found.is_empty(),
        "interrupt::first() sets the handler, interrupt::quit() gives back what was taken and ends the process:\n{}",
        found.join("\n")
    );
}
