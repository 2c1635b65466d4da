//! Cost models of servers: what each message, value and sample costs, fitted to measurements, and what follows for
//! workloads that were not measured.
//!
//! The crate is pure: no sockets, no threads, no clock, no files. Same rows, same model, byte for byte.
//!
//! - [`Workload`] is what a server is asked for, known before anything runs; [`Row`] is a run with what it cost;
//! - [`fit`] makes a [`Model`] of rows; it gives a [`Prediction`] with an interval, and says where it knows nothing;
//! - [`Term`] is something that costs time each time; [`Costs`] fits them without negative ones;
//! - [`plant`] reads plants that are not built yet, [`mod@size`] sizes their nodes;
//! - [`Paper`] is the model of Burger et al. 2019, kept beside ours in every report;
//! - [`Scalability`] is the Universal Scalability Law;
//! - [`Matrix`], [`least_squares`] and [`nnls()`] are the linear algebra under them.

pub mod checking;
mod cost;
pub mod design;
mod fitted;
mod fitting;
mod matrix;
mod nnls;
mod paper;
pub mod plant;
pub mod published;
pub mod row;
pub mod runs;
mod scalability;
pub mod size;
mod term;
mod workload;

pub use cost::{Costs, Left, PERCENT, Point};
pub use fitted::{
    Bound, Coefficient, Data, Dropped, FORMAT, Fold, Metrics, Model, ModelError, Noise, Prediction,
    Residual, Rung, VERSION,
};
pub use fitting::{FitError, fit};
pub use matrix::{Matrix, least_squares};
pub use nnls::nnls;
pub use paper::Paper;
pub use row::Row;
pub use scalability::{Peak, Scalability};
pub use term::{Term, Wake};
pub use workload::{Security, SecurityError, Workload};
