//! One place prints: what happens when nobody reads is decided there.

use std::path::Path;

use crate::files::{text, tracked};

#[test]
fn one_file_of_the_program_writes_to_standard_output_and_standard_error() {
    const PRINTS: &[&str] = &["print!(", "println!(", "stdout()"];
    let place = Path::new("crates/uaperf/src/screen.rs");
    let mut found = Vec::new();
    for file in tracked() {
        if !file.starts_with("crates/uaperf/src") || file == place {
            continue;
        }
        for (number, line) in text(&file).lines().enumerate() {
            if PRINTS.iter().any(|prints| line.contains(prints)) {
                found.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    assert!(
        text(place).contains("stdout()"),
        "{} has moved",
        place.display()
    );
    assert!(
        found.is_empty(),
        "print with screen::out() and tell!, which a closed pipe does not stop:\n{}",
        found.join("\n")
    );
}
