//! The aggregates that there are (Part 13, 4.2.2.2), by their nodes.

use wire::types::{NodeId, ObjectId};

macro_rules! aggregates {
    ($($(#[$doc:meta])* $name:ident = $node:ident,)*) => {
        /// An aggregate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Aggregate {
            $($(#[$doc])* $name,)*
        }

        impl Aggregate {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The node that stands for it.
            pub fn node(self) -> ObjectId {
                match self {
                    $(Self::$name => ObjectId::$node,)*
                }
            }
        }
    };
}

aggregates! {
    /// The value at the beginning of the interval.
    Interpolative = AggregateFunction_Interpolative,
    /// The mean of the good values.
    Average = AggregateFunction_Average,
    /// The mean over time, bad values left out.
    TimeAverage = AggregateFunction_TimeAverage,
    /// The mean over time, while values are good.
    TimeAverage2 = AggregateFunction_TimeAverage2,
    /// The integral over time in seconds, bad values left out.
    Total = AggregateFunction_Total,
    /// The integral over time in seconds, while values are good.
    Total2 = AggregateFunction_Total2,
    /// The least good value.
    Minimum = AggregateFunction_Minimum,
    /// The largest good value.
    Maximum = AggregateFunction_Maximum,
    /// The same with the time when it was.
    MinimumActualTime = AggregateFunction_MinimumActualTime,
    /// The same with the time when it was.
    MaximumActualTime = AggregateFunction_MaximumActualTime,
    /// The largest less the least.
    Range = AggregateFunction_Range,
    /// How many good values there are.
    Count = AggregateFunction_Count,
    /// The first value, whatever it is worth.
    Start = AggregateFunction_Start,
    /// The last value, whatever it is worth.
    End = AggregateFunction_End,
    /// The last good value less the first.
    Delta = AggregateFunction_Delta,
    /// Milliseconds in which values are good.
    DurationGood = AggregateFunction_DurationGood,
    /// Milliseconds in which they are bad.
    DurationBad = AggregateFunction_DurationBad,
    /// The same in percent of the interval.
    PercentGood = AggregateFunction_PercentGood,
    /// The same in percent of the interval.
    PercentBad = AggregateFunction_PercentBad,
    /// The standard deviation of a sample (n - 1).
    StandardDeviationSample = AggregateFunction_StandardDeviationSample,
    /// The standard deviation of all there are (n).
    StandardDeviationPopulation = AggregateFunction_StandardDeviationPopulation,
    /// The variance of a sample.
    VarianceSample = AggregateFunction_VarianceSample,
    /// The variance of all there are.
    VariancePopulation = AggregateFunction_VariancePopulation,
}

impl Aggregate {
    /// The aggregate that a node stands for.
    pub fn by_node(id: &NodeId) -> Option<Self> {
        let is = |it: &&Self| *id == it.node();
        Self::ALL.iter().find(is).copied()
    }

    /// Whether values are told beyond the end of data (Part 13, 3.1.8): those with interpolated bounds.
    pub fn extrapolates(self) -> bool {
        matches!(self, Self::Interpolative | Self::TimeAverage | Self::Total)
    }
}
