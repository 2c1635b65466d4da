//! How good the data of an interval has to be (Part 13, 4.2.1.2).

use wire::types::{AggregateConfiguration, StatusCode};

/// What counts as bad, and how much of it makes a result bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Configuration {
    /// Whether uncertain values are as bad as bad ones.
    pub treat_uncertain_as_bad: bool,
    /// So much bad data makes a result bad, in percent.
    pub percent_data_bad: u8,
    /// So much good data makes it good.
    pub percent_data_good: u8,
}

impl Default for Configuration {
    /// What the server's nodes say that it does (Part 13, 4.2.1.2).
    fn default() -> Self {
        Self {
            treat_uncertain_as_bad: true,
            percent_data_bad: 100,
            percent_data_good: 100,
        }
    }
}

impl Configuration {
    /// What is asked for, or the server's own. Values are stepped, so nothing can be extrapolated along a slope.
    pub fn asked(asked: &AggregateConfiguration) -> Result<Self, StatusCode> {
        if asked.use_server_capabilities_defaults {
            return Ok(Self::default());
        }
        let (bad, good) = (asked.percent_data_bad, asked.percent_data_good);
        // Part 13, 4.2.1.2: PercentDataGood is not less than 100 - PercentDataBad.
        let fit = bad <= 100 && good <= 100 && good >= 100 - bad;
        if !fit || asked.use_sloped_extrapolation {
            return Err(StatusCode::BadAggregateConfigurationRejected);
        }
        Ok(Self {
            treat_uncertain_as_bad: asked.treat_uncertain_as_bad,
            percent_data_bad: bad,
            percent_data_good: good,
        })
    }

    /// The same as it is told.
    pub fn told(&self) -> AggregateConfiguration {
        AggregateConfiguration {
            use_server_capabilities_defaults: false,
            treat_uncertain_as_bad: self.treat_uncertain_as_bad,
            percent_data_bad: self.percent_data_bad,
            percent_data_good: self.percent_data_good,
            use_sloped_extrapolation: false,
        }
    }
}
