//! Looks at the whole, and what comes of it in the end.

use super::{Carrier, Engine, Node};
use crate::outcome::Outcome;
use crate::session::SessionState;

impl Engine<'_> {
    /// CPU time that a server has spent by now: of what it has taken on, what is done.
    fn done(&self, node: &Node) -> u64 {
        let kind = &self.world.kinds[node.kind as usize];
        let left = 1.0 - kind.background / f64::from(kind.cores);
        let first = node.first_core as usize;
        let cores = &self.cores[first..first + kind.cores as usize];
        let to_do: u64 = match node.stopped {
            0 => cores.iter().map(|it| it.saturating_sub(self.now)).sum(),
            _ => 0,
        };
        node.cpu.saturating_sub((to_do as f64 * left) as u64)
    }

    /// A look at everybody.
    pub(super) fn look(&mut self) {
        let since = self.now - self.looked_at;
        if since == 0 {
            return;
        }
        self.looked_at = self.now;
        let mut sums = vec![0.0; self.world.kinds.len()];
        for recorder in &mut self.recorders.all {
            recorder.cpu_cores.push(0.0);
        }
        for at in 0..self.nodes.len() {
            let done = self.done(&self.nodes[at]);
            let node = &mut self.nodes[at];
            let spent = done.saturating_sub(std::mem::replace(&mut node.cpu_seen, done));
            let k = node.kind as usize;
            let background = match node.stopped {
                0 => self.world.kinds[k].background,
                _ => 0.0,
            };
            let cores = spent as f64 / since as f64 + background;
            sums[k] += cores;
            let busy = &mut self.busy[k];
            if cores > busy.peak_cores {
                (busy.peak_cores, busy.peak_at) = (cores, self.now - since);
            }
            let number = at - self.first_node[k];
            for recorder in &mut self.recorders.all[self.whose[k].of_node(number)] {
                if let Some(last) = recorder.cpu_cores.last_mut() {
                    *last += cores;
                }
            }
        }
        let mut connected = vec![0_u64; self.world.kinds.len()];
        for it in &self.sessions {
            connected[it.kind as usize] += u64::from(it.state == SessionState::Connected);
        }
        for (k, busy) in self.busy.iter_mut().enumerate() {
            busy.cpu_cores.push(sums[k]);
            busy.connected.push(connected[k]);
        }
        self.look_at_links(since);
    }

    fn look_at_links(&mut self, since: u64) {
        for (link, used) in self.uses.iter_mut().enumerate() {
            let copies = self.first_carrier[link]..self.first_carrier[link + 1];
            for it in &mut self.links[copies] {
                for way in 0..2 {
                    let bytes = it.bytes[way] - std::mem::replace(&mut it.seen[way], it.bytes[way]);
                    let share = share(it, way, bytes, since);
                    used.peak[way] = larger(used.peak[way], share);
                }
            }
        }
    }

    /// All is over.
    pub(super) fn sum_up(mut self, end: u64) -> Outcome {
        self.now = end;
        self.look();
        for (link, used) in self.uses.iter_mut().enumerate() {
            let copies = self.first_carrier[link]..self.first_carrier[link + 1];
            for it in &self.links[copies] {
                used.lost += it.lost;
                for way in 0..2 {
                    used.bytes[way] += it.bytes[way];
                    used.share[way] = larger(used.share[way], share(it, way, it.bytes[way], end));
                }
            }
        }
        for (k, busy) in self.busy.iter_mut().enumerate() {
            let nodes = &self.nodes[self.first_node[k]..self.first_node[k + 1]];
            let background = self.world.kinds[k].background;
            let cores = |cpu: u64| cpu as f64 / end.max(1) as f64 + background;
            let all: u64 = nodes.iter().map(|it| it.cpu_seen).sum();
            busy.mean_cores = cores(all / nodes.len().max(1) as u64);
            let most = nodes.iter().map(|it| it.cpu_seen).max();
            busy.busiest_cores = cores(most.unwrap_or(0));
        }
        for at in 0..self.sessions.len() {
            self.close_session(at, end);
        }
        if end < self.world.length {
            self.recorders
                .all
                .iter_mut()
                .for_each(|it| it.ledger.end_at(end));
        }
        Outcome {
            length: end,
            events: self.events,
            groups: self
                .recorders
                .all
                .into_iter()
                .map(|it| it.close())
                .collect(),
            busy: self.busy,
            links: self.uses,
            look_every: self.look_every,
            marks: self.marks,
        }
    }

    /// What a client should have had by now.
    fn close_session(&mut self, at: usize, end: u64) {
        let session = &self.sessions[at];
        let away = session.state != SessionState::Connected;
        let mut missed = 0;
        if let Some(it) = &self.kind(at).publishing {
            let every = it.every.max(it.change).max(it.sampling);
            // The last interval's message may be on its way.
            let between = end.saturating_sub(session.last_due) / every;
            let values = super::set_up::values(&it.values, session.number);
            missed = between.saturating_sub(1) * u64::from(values);
        }
        let was_away = session.was_away || away;
        let totals = &mut self.recorder(at).totals;
        totals.left_away += u64::from(away);
        match was_away {
            true => totals.missed += missed,
            false => totals.overwritten += missed,
        }
    }
}

/// The share of a link's rate that so many bytes are.
fn share(it: &Carrier, way: usize, bytes: u64, time: u64) -> Option<f64> {
    let rate = it.rates[way]?;
    (time > 0).then(|| bytes as f64 * 8e9 / rate as f64 / time as f64)
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}
