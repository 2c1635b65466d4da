//! Figures that others published, as rows to fit: the only ones for hardware that is not here.

use crate::fitted::{FitMethod, Model};
use crate::fitting::{FitError, fit};
use crate::matrix::Matrix;
use crate::nnls::nnls;
use crate::row::{self, RowError};

/// Burger et al. 2019: CPU of a Raspberry Pi Zero, by signals per second and clients.
pub const BURGER2019: &str = include_str!("../published/burger2019.csv");

/// CODESYS: CPU of a Raspberry Pi 3, by points that are sampled and points that change.
pub const CODESYS: &str = include_str!("../published/codesys.csv");

/// Schneider Electric: time of a request of an M241 controller, by symbols and configuration.
pub const SCHNEIDER_M241: &str = include_str!("../published/schneider_m241.csv");

/// Why there is no model of published figures.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PublishedError {
    /// The table cannot be read.
    #[error(transparent)]
    Row(#[from] RowError),
    /// Nothing can be fitted to it.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// The model of the Raspberry Pi Zero in Burger et al. 2019, from the four points that the text gives.
pub fn burger2019() -> Result<Model, PublishedError> {
    let mut model = fit(&row::read(BURGER2019)?, FitMethod::Cost)?;
    model.name = "Raspberry Pi Zero of Burger et al. 2019, from four points of its text".to_owned();
    Ok(model)
}

/// A table of vendors: names of columns, and rows of cells.
pub fn table(text: &str) -> (Vec<&str>, Vec<Vec<&str>>) {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let head = lines
        .next()
        .map_or_else(Vec::new, |it| it.split(',').collect());
    (head, lines.map(|it| it.split(',').collect()).collect())
}

/// Fits fixed and proportional costs without negative ones, with errors relative to what was measured. The costs, and
/// the mean of absolute relative errors.
pub fn proportional(columns: &[Vec<f64>], measured: &[f64]) -> (Vec<f64>, f64) {
    let relative = |column: &Vec<f64>| {
        std::iter::zip(column, measured)
            .map(|(x, y)| x / y)
            .collect()
    };
    let ones = vec![1.0; measured.len()];
    let a = Matrix::of_columns(columns.iter().map(relative).collect());
    let costs = nnls(&a, &ones);
    let off: f64 = a.times(&costs).iter().map(|it| (it - 1.0).abs()).sum();
    (costs, off / measured.len().max(1) as f64)
}
