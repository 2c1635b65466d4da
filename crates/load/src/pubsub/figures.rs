//! The figures that conditions may ask for.

use plan::{Figures, Measure, Stat};

use super::{Delay, ListenerReport, Published, Spread, Stream};

impl Figures for Published {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let seconds = self.elapsed_ns.max(1) as f64 / 1e9;
        match (measure, stat) {
            (Measure::Lateness, stat) => figure(self.lateness.as_ref(), stat),
            (Measure::Response, Stat::Rate) => Some(self.datagrams as f64 / seconds),
            (Measure::Response, Stat::Values) => Some(self.values as f64 / seconds),
            (Measure::Response, Stat::Errors) => Some(self.refused as f64),
            // How long a broker took to acknowledge.
            (Measure::Response, stat) => {
                let mqtt = self.mqtt.as_ref();
                figure(mqtt.and_then(|it| it.acknowledgement.as_ref()), stat)
            }
            _ => None,
        }
    }
}

impl Figures for ListenerReport {
    /// Of several listeners what is lost or cannot be read is that of the worst, and all else of the first.
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let own = self.own_figure(measure, stat)?;
        Some(match stat {
            Stat::Errors | Stat::Loss | Stat::LossShare => {
                let others = self.others.iter();
                let others = others.filter_map(|it| it.own_figure(measure, stat));
                others.fold(own, f64::max)
            }
            _ => own,
        })
    }
}

impl ListenerReport {
    fn own_figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let seconds = self.elapsed_ns.max(1) as f64 / 1e9;
        // Times of several streams are held to the worst of them.
        let worst = |of: fn(&Stream) -> Option<&Spread>| {
            let all = self.streams.iter().filter_map(|it| figure(of(it), stat));
            all.reduce(f64::max)
        };
        let messages: u64 = self
            .streams
            .iter()
            .map(|it| it.writers.iter().map(|writer| writer.messages).sum::<u64>())
            .sum();
        match (measure, stat) {
            (Measure::Arrival, _) => worst(|it| it.arrival.as_ref()),
            (Measure::Jitter, _) => worst(|it| it.jitter.as_ref()),
            (Measure::Delay, _) => worst(|it| match &it.delay {
                Delay::SameClock(spread) | Delay::Compared(spread) => Some(spread),
                _ => None,
            }),
            (Measure::Response, Stat::Rate) => Some(self.datagrams as f64 / seconds),
            (Measure::Response, Stat::Values) => Some(self.values as f64 / seconds),
            (Measure::Response, Stat::Errors) => Some(self.unreadable() as f64),
            (Measure::Response, Stat::Loss) => self.knows_loss().then(|| self.lost() as f64),
            (Measure::Response, Stat::LossShare) => {
                let lost = self.lost() as f64;
                let all = (lost + messages as f64).max(1.0);
                self.knows_loss().then_some(lost / all)
            }
            _ => None,
        }
    }
}

/// A figure of times.
fn figure(it: Option<&Spread>, stat: Stat) -> Option<f64> {
    let it = it?;
    Some(match stat {
        Stat::P50 => it.p50_ns as f64,
        Stat::P90 => it.p90_ns as f64,
        Stat::P99 => it.p99_ns as f64,
        Stat::P99_9 => it.p999_ns as f64,
        Stat::Min => it.min_ns as f64,
        Stat::Mean => it.mean_ns,
        Stat::Max => it.max_ns as f64,
        _ => return None,
    })
}
