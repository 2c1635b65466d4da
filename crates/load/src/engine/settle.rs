//! The ledgers of all loops are closed together, so that they add up to those of one.

use record::{Ledger, Tally};
use wire::client::Connection;

use super::recorder::Recorder;
use super::reports::Report;
use super::subscriber::Subscriber;

/// What all loops wrote down.
#[derive(Debug)]
pub struct Settled<S> {
    /// When the phase ended, in nanoseconds since it began.
    pub ended_ns: u64,
    /// By ledger.
    pub tallies: Vec<Tally>,
    /// Sessions that are still there, to be closed.
    pub sessions: Vec<(usize, S, Connection)>,
    /// Sessions that had subscriptions, with what they heard.
    pub subscribers: Vec<(usize, Box<Subscriber>)>,
}

/// When a phase has ended: when its time was over or it was stopped, whichever loop saw that last;
/// where nobody saw either, when nothing more was to be done, which is the last answer.
fn ended<S>(reports: &[Report<S>]) -> u64 {
    let ended = reports.iter().filter_map(|report| report.ended_ns).max();
    let over = reports.iter().map(|report| report.spent.ran_ns).max();
    ended.or(over).unwrap_or_default()
}

/// Closes the ledgers. What was due before the end and never sent, and what is still on its way, is
/// written down as such.
pub fn settle<S>(reports: &mut [Report<S>]) -> Settled<S> {
    let ended_ns = ended(reports);
    let mut settled = Settled {
        ended_ns,
        tallies: Vec::new(),
        sessions: Vec::new(),
        subscribers: Vec::new(),
    };
    for report in reports {
        let ledgers = &mut report.ledgers;
        for ledger in ledgers.iter_mut() {
            ledger.end_at(ended_ns);
        }
        for mut left in std::mem::take(&mut report.lanes) {
            left.lane.end_at(ended_ns);
            let own = ledgers.get_mut(left.base..).unwrap_or_default();
            let over = report.spent.ran_ns.max(ended_ns);
            left.lane
                .finish(over, report.abandons, &mut Recorder::new(own));
            if let Some(subscriber) = left.lane.take_subscriber() {
                settled.subscribers.push((left.index, subscriber));
            }
            if let Some(socket) = left.socket {
                let connection = left.lane.into_connection();
                settled.sessions.push((left.index, socket, connection));
            }
        }
        if settled.tallies.len() < ledgers.len() {
            settled.tallies.resize_with(ledgers.len(), Tally::default);
        }
        let closed = std::mem::take(ledgers).into_iter().map(Ledger::finish);
        for (sum, tally) in settled.tallies.iter_mut().zip(closed) {
            sum.merge(&tally);
        }
    }
    settled
}
