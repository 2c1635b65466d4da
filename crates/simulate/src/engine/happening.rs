//! What happens to a plant: links that are down, servers that stop.

use super::Engine;
use crate::event::What;
use crate::outcome::Mark;
use crate::session::{SessionState, SmallQueue};
use crate::world::{Act, On};

impl Engine<'_> {
    /// Something begins.
    pub(super) fn happens(&mut self, happening: usize) {
        let it = self.world.happenings[happening];
        self.marks.push(Mark {
            at: self.now,
            happening,
            begins: true,
        });
        match it.on {
            On::Link(link, which) => {
                for carrier in some(
                    self.first_carrier[link]..self.first_carrier[link + 1],
                    which,
                ) {
                    self.links[carrier].cut += 1;
                    self.missed(carrier);
                }
            }
            On::Node(kind, which) => {
                for node in some(self.first_node[kind]..self.first_node[kind + 1], which) {
                    self.stop(node, it.act, it.lasts);
                }
            }
        }
        self.plan(it.lasts, What::Over, 0, happening);
    }

    /// It is over.
    pub(super) fn over(&mut self, happening: usize) {
        let it = self.world.happenings[happening];
        self.marks.push(Mark {
            at: self.now,
            happening,
            begins: false,
        });
        match it.on {
            On::Link(link, which) => {
                for carrier in some(
                    self.first_carrier[link]..self.first_carrier[link + 1],
                    which,
                ) {
                    self.links[carrier].cut -= 1;
                }
            }
            On::Node(kind, which) => {
                for node in some(self.first_node[kind]..self.first_node[kind + 1], which) {
                    self.nodes[node].stopped -= 1;
                }
            }
        }
    }

    /// Clients behind a link that is down hear nothing any more.
    fn missed(&mut self, carrier: usize) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].link as usize == carrier {
                for session in self.sessions_of(node) {
                    self.watch(session);
                }
            }
        }
    }

    fn sessions_of(&self, node: usize) -> std::ops::Range<usize> {
        let it = &self.nodes[node];
        let kind = &self.world.kinds[it.kind as usize];
        let first = it.first_session as usize;
        first..first + kind.sessions as usize
    }

    /// A server stops: all that it has in its memory is gone.
    fn stop(&mut self, node: usize, act: Act, lasts: u64) {
        let it = &mut self.nodes[node];
        it.stopped += 1;
        it.epoch = it.epoch.wrapping_add(1);
        let kind = &self.world.kinds[it.kind as usize];
        let left = 1.0 - kind.background / f64::from(kind.cores);
        let first = it.first_core as usize;
        for core in &mut self.cores[first..first + kind.cores as usize] {
            // What it had taken on is never done.
            let not_done = core.saturating_sub(self.now);
            it.cpu = it.cpu.saturating_sub((not_done as f64 * left) as u64);
            *core = self.now + lasts;
        }
        for session in self.sessions_of(node) {
            self.end_subscription(session);
            let it = &mut self.sessions[session];
            it.under_way = SmallQueue::default();
            it.stall = None;
            it.was_away = true;
            match (act, it.state) {
                (Act::PowerOff, SessionState::Connected) => self.watch(session),
                (_, SessionState::Connected) => self.lose(session),
                (_, SessionState::Connecting) => self.back_off(session),
                (_, SessionState::Away) => {}
            }
        }
    }
}

/// One of a range, or all.
fn some(all: std::ops::Range<usize>, which: Option<u32>) -> std::ops::Range<usize> {
    match which {
        None => all,
        Some(n) => {
            let one = all.start + n as usize;
            one..(one + 1).min(all.end)
        }
    }
}
