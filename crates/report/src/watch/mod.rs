//! What a person sees on a terminal while phases run: rate and latency over time, percentiles, errors,
//! targets and cores, and what keys do.
//!
//! [`Scene`] is what a phase is doing, told by its cores as they go; [`draw()`] puts it on a screen of
//! any size. Neither knows a clock or a terminal.

mod charts;
mod course;
mod draw;
mod figures;
mod rows;
mod scene;
mod screen_colours;
mod window;

pub use draw::{Plan, Shown, Stage, draw};
pub use scene::{PhaseSetup, Scene, Sender};
