//! Tests only: everything that needs another vendor's stack stands in `tests/` of this crate.
//!
//! A stack that is not there is installed; one that cannot be had is skipped with
//! `SKIPPED name: reason: command`, and fails the test when the environment says `CI=true`.
