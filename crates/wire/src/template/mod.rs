//! The hot path: requests encoded once and patched, responses walked where they lie.
