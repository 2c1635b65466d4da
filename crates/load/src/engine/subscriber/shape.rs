//! What became of the shape that was asked for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What became of the shape that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Items that sample at another interval than they were to.
    pub revised_sampling: u64,
    /// The first of them: asked for, and granted.
    pub sampling: Option<(Duration, Duration)>,
    /// The publishing interval that was granted where it is another one.
    pub publishing: Option<Duration>,
    /// Messages that had to wait for a Publish request.
    pub waited: u64,
    /// Fields of events that the server does not know, with its status.
    pub unknown_fields: Vec<String>,
    /// What it says of the filter of an item that it refused.
    pub bad_filter: Vec<String>,
}

impl Shape {
    /// Adds another session's.
    pub fn merge(&mut self, other: &Self) {
        self.revised_sampling += other.revised_sampling;
        self.sampling = self.sampling.or(other.sampling);
        self.publishing = self.publishing.or(other.publishing);
        self.waited += other.waited;
        for (ours, theirs) in [
            (&mut self.unknown_fields, &other.unknown_fields),
            (&mut self.bad_filter, &other.bad_filter),
        ] {
            if ours.is_empty() {
                ours.clone_from(theirs);
            }
        }
    }
}
