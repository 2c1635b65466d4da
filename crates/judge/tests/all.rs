//! Judgements of runs, in one binary: against runs that are made so that the answer is known.

mod bench;
mod bottleneck;
mod capacity;
mod compare;
mod confidence;
mod diagnostics;
mod repeats;
mod subscriptions;
mod threshold;
mod verdict;
