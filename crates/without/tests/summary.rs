//! The last line of the tests: how many were skipped, and why.

fn main() {
    without::say(&without::summary());
}
