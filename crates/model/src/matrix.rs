//! Small dense matrices: as much linear algebra as a cost model of twenty terms needs.

/// A matrix, column by column.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: Vec<Vec<f64>>,
}

/// A least-squares problem after its QR decomposition: the triangle, and the right side turned with it.
struct Decomposed {
    triangle: Matrix,
    side: Vec<f64>,
}

/// Of columns of length one: what remains of a column that depends on others is shorter than this.
const DEPENDENT: f64 = 1e-12;

impl Matrix {
    /// Of columns of equal length.
    pub fn of_columns(columns: Vec<Vec<f64>>) -> Self {
        let rows = columns.first().map_or(0, Vec::len);
        Self { rows, columns }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// A column.
    pub fn column(&self, column: usize) -> &[f64] {
        &self.columns[column]
    }

    /// These columns of it.
    pub fn only(&self, columns: &[usize]) -> Self {
        Self {
            rows: self.rows,
            columns: columns.iter().map(|&it| self.columns[it].clone()).collect(),
        }
    }

    /// The product with a vector.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.rows];
        for (column, factor) in std::iter::zip(&self.columns, vector) {
            add(&mut product, *factor, column);
        }
        product
    }

    /// Its columns brought to length one, and the lengths that they had. Columns of zeros stay.
    pub fn scaled(&self) -> (Self, Vec<f64>) {
        let lengths: Vec<f64> = self.columns.iter().map(|it| norm(it)).collect();
        let lengths: Vec<f64> = lengths
            .into_iter()
            .map(|length| if length > 0.0 { length } else { 1.0 })
            .collect();
        let scaled = std::iter::zip(&self.columns, &lengths)
            .map(|(column, length)| column.iter().map(|it| it / length).collect())
            .collect();
        (Self::of_columns(scaled), lengths)
    }

    /// Decomposes by Householder reflections. None where columns depend on each other or are more than the rows.
    fn decomposed(mut self, side: &[f64]) -> Option<Decomposed> {
        let mut side = side.to_vec();
        if self.columns() > self.rows {
            return None;
        }
        for pivot in 0..self.columns() {
            let mut direction = self.columns[pivot][pivot..].to_vec();
            let length = norm(&direction);
            if length < DEPENDENT {
                return None;
            }
            // With the sign that takes nothing away from the first element.
            direction[0] += length.copysign(direction[0]);
            let square = dot(&direction, &direction);
            let reflect = |values: &mut [f64]| {
                let along = dot(&direction, values);
                add(values, -2.0 * along / square, &direction);
            };
            for column in &mut self.columns[pivot..] {
                reflect(&mut column[pivot..]);
            }
            reflect(&mut side[pivot..]);
        }
        Some(Decomposed {
            triangle: self,
            side,
        })
    }

    /// Solves a triangle from its last row on.
    fn back(&self, side: &[f64]) -> Vec<f64> {
        let n = self.columns();
        let mut x = vec![0.0; n];
        for row in (0..n).rev() {
            let known: f64 = (row + 1..n).map(|it| self.columns[it][row] * x[it]).sum();
            x[row] = (side[row] - known) / self.columns[row][row];
        }
        x
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    std::iter::zip(a, b).map(|(a, b)| a * b).sum()
}

/// Adds a multiple of a vector.
fn add(to: &mut [f64], factor: f64, vector: &[f64]) {
    for (to, it) in std::iter::zip(to, vector) {
        *to += factor * it;
    }
}

/// The length of a vector.
pub fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// Least squares: the x for which the length of a·x − b is smallest. None where columns depend on each other.
pub fn least_squares(a: &Matrix, b: &[f64]) -> Option<Vec<f64>> {
    let (scaled, lengths) = a.scaled();
    let decomposed = scaled.decomposed(b)?;
    let x = decomposed.triangle.back(&decomposed.side);
    Some(std::iter::zip(x, lengths).map(|(x, l)| x / l).collect())
}

/// What of b no combination of the columns of a explains. None where columns depend on each other.
pub fn unexplained(a: &Matrix, b: &[f64]) -> Option<Vec<f64>> {
    if a.columns() == 0 {
        return Some(b.to_vec());
    }
    let x = least_squares(a, b)?;
    let rest = std::iter::zip(b, a.times(&x)).map(|(b, ax)| b - ax);
    Some(rest.collect())
}

/// The inverse of aᵀa, row by row: what leverage is computed with. None where columns depend on each other.
pub fn inverse_of_square(a: &Matrix) -> Option<Vec<Vec<f64>>> {
    let (scaled, lengths) = a.scaled();
    let triangle = scaled.decomposed(&vec![0.0; a.rows()])?.triangle;
    let n = a.columns();
    // Columns of R⁻¹: aᵀa = RᵀR.
    let inverse: Vec<Vec<f64>> = (0..n)
        .map(|column| {
            let mut unit = vec![0.0; n];
            unit[column] = 1.0;
            triangle.back(&unit)
        })
        .collect();
    let element = |i: usize, j: usize| {
        let sum: f64 = inverse.iter().map(|column| column[i] * column[j]).sum();
        sum / lengths[i] / lengths[j]
    };
    let row = |i| (0..n).map(|j| element(i, j)).collect();
    Some((0..n).map(row).collect())
}

/// xᵀ·m·x.
pub fn quadratic(m: &[Vec<f64>], x: &[f64]) -> f64 {
    std::iter::zip(m, x).map(|(row, it)| it * dot(row, x)).sum()
}
