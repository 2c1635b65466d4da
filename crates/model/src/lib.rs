//! Cost models of servers: what each message, value and sample costs, fitted to measurements, and what follows for
//! workloads that were not measured.
//!
//! The crate is pure: no sockets, no threads, no clock, no files. Same rows, same model, byte for byte.
//!
//! - [`Workload`] is what a server is asked for, known before anything runs; [`Row`] is a run with what it cost;
//! - [`fit`] makes a [`Model`] of rows; it gives a [`Prediction`] with an interval, and says where it knows nothing;
//! - [`Term`] is something that costs time each time; [`Costs`] fits them without negative ones;
//! - [`mod@next`] says which loads to measure for the narrowest intervals;
//! - [`plant`] reads plants that are not built yet, [`mod@size`] sizes their nodes;
//! - [`mod@delay`] says how long values are on their way, without running anything;
//! - [`Paper`] is the model of Burger et al. 2019, kept beside ours in every report;
//! - [`Scalability`] is the Universal Scalability Law;
//! - [`process`] is what costs leave over: a Gaussian process, where there are loads enough;
//! - [`Matrix`], [`least_squares`] and [`nnls()`] are the linear algebra under them.

mod amount;
pub mod checking;
mod cost;
mod crossing;
pub mod delay;
pub mod design;
mod fitted;
mod fitting;
mod folds;
mod matrix;
pub mod next;
mod nnls;
mod paper;
pub mod plant;
pub mod process;
pub mod published;
mod reach;
pub mod row;
pub mod runs;
mod scalability;
pub mod size;
mod term;
mod workload;

pub use amount::{Amount, Estimate};
pub use cost::{Costs, Left, PERCENT, Point};
pub use fitted::{Data, FORMAT, FitMethod, Model, ModelError, Prediction, VERSION};
pub use fitting::{FOR_PROCESS, FitError, fit};
pub use matrix::{Matrix, least_squares};
pub use nnls::nnls;
pub use paper::Paper;
pub use reach::{Bound, Coefficient, Dropped, Fold, Metrics, Noise, Residual};
pub use row::Row;
pub use scalability::{Peak, Scalability};
pub use term::{Term, Wake};
pub use workload::{Security, SecurityError, Workload};
