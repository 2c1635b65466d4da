//! What all turns gave, and ratios between subjects within the same round.

use benches::Spread;

use crate::slice::Slice;

/// What is asked of a turn.
pub type Figure = fn(&Slice) -> Option<f64>;

/// One subject's turns.
#[derive(Debug, Clone)]
pub struct Turns {
    /// `workload client-server`.
    pub name: String,
    /// Values of a call.
    pub batch: usize,
    /// By round; nothing where the turn failed.
    pub slices: Vec<Option<Slice>>,
    /// Why it has no more turns.
    pub failure: Option<String>,
}

impl Turns {
    pub fn new(name: String, batch: usize) -> Self {
        Self {
            name,
            batch,
            slices: Vec::new(),
            failure: None,
        }
    }

    /// A figure over all turns.
    pub fn spread(&self, figure: Figure) -> Option<Spread> {
        let turns = self.slices.iter().flatten();
        Spread::of(turns.filter_map(figure).collect())
    }

    /// Calls that were not answered well, of all.
    pub fn bad(&self) -> (u64, u64) {
        let turns = self.slices.iter().flatten();
        turns.fold((0, 0), |(bad, all), slice| {
            (bad + slice.bad, all + slice.calls)
        })
    }
}

/// All subjects' turns.
#[derive(Debug, Default)]
pub struct Results(pub Vec<Turns>);

impl Results {
    pub fn named(&self, name: &str) -> Option<&Turns> {
        self.0.iter().find(|turns| turns.name == name)
    }

    /// A figure of one subject over one of another, round by round: whatever the machine did
    /// meanwhile, it did to both.
    pub fn ratio(&self, of: (&str, Figure), to: (&str, Figure)) -> Option<Spread> {
        let (a, b) = (self.named(of.0)?, self.named(to.0)?);
        let rounds = a.slices.iter().zip(&b.slices);
        let ratios = rounds.filter_map(|(a, b)| {
            let below = to.1(b.as_ref()?)?;
            (below > 0.0).then_some(of.1(a.as_ref()?)? / below)
        });
        Spread::of(ratios.collect())
    }
}
