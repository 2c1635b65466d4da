//! Pictures of what is of no run: what a model says. Whoever has the figures makes them; the page draws them.

/// A page of pictures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pictures {
    /// What stands above it.
    pub title: String,
    /// What it is about, a sentence each.
    pub about: Vec<String>,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

/// A part of a page: what belongs together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Its heading.
    pub title: String,
    /// What is to be said, a sentence each.
    pub told: Vec<String>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Bars.
    pub bars: Vec<Bars>,
    /// Bars from zero, of what has a unit.
    pub lengths: Vec<Lengths>,
}

/// A chart of curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// A sentence for those who do not see it.
    pub told: String,
    /// What its axes are of.
    pub x_of: String,
    /// What its axes are of.
    pub y_of: String,
    /// Whether values above 0 are spread by their logarithms, both ways.
    pub by_logarithm: bool,
    /// Whether what is drawn are shares, shown in percent.
    pub shares: Shares,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// Which axes are of shares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shares {
    /// None: both count things.
    #[default]
    None,
    /// The vertical one.
    Y,
    /// Both.
    Both,
}

/// A curve, or points.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Where it goes.
    pub points: Vec<(f64, f64)>,
    /// Low and high at the same places; empty without.
    pub band: Vec<(f64, f64)>,
    /// Whether its points are joined.
    pub joined: bool,
}

/// Bars below each other to a common scale, in percent.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// What they say, in a sentence.
    pub told: String,
    /// The name of each, from where to where, as shares.
    pub each: Vec<(String, f64, f64)>,
}

/// Bars from zero below each other to a common scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Lengths {
    /// What they show.
    pub title: String,
    /// What they say, in a sentence.
    pub told: String,
    /// What they are of.
    pub unit: plan::Unit,
    /// The bars; those of a group in a row.
    pub each: Vec<Length>,
}

/// A bar from zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Length {
    /// Bars of a group stand together; empty without.
    pub group: String,
    /// Whose it is. A name has the same colour in each group.
    pub name: String,
    /// Its end, and half of the width of its interval; none where it is not known.
    pub value: Option<(f64, f64)>,
    /// What stands there instead, where it is not known.
    pub missing: String,
}
