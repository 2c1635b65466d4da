//! What sessions of a loop have for each other: subscriptions that go from one to the next.

use super::super::host::Host;
use super::super::subscriber::{Post, Subscriber};
use super::EventLoop;

impl<H: Host> EventLoop<H> {
    /// Delivers what a session has for others.
    pub(super) fn deliver(&mut self, n: usize) {
        while let Some(post) = self.subscriber(n).and_then(Subscriber::post) {
            match post {
                Post::Offer { place, initial } => {
                    let Some(next) = self.next_to(n) else {
                        continue;
                    };
                    let moved = self.subscriber(n).and_then(|it| it.give(place, initial, n));
                    if let Some((moved, taker)) = moved.zip(self.subscriber(next)) {
                        taker.take_over(moved);
                    }
                    self.queue(next);
                }
                Post::Back(moved) => {
                    let from = moved.from();
                    if let Some(owner) = self.subscriber(from) {
                        owner.take_back(moved);
                    }
                }
                Post::Acknowledge(it) => {
                    if let Some(holder) = self.holder(n, it.subscription_id) {
                        holder.came_elsewhere(it);
                    }
                }
                Post::Missing {
                    id,
                    sequence,
                    noticed,
                } => {
                    if let Some(holder) = self.holder(n, id) {
                        holder.missed_elsewhere(id, sequence, noticed);
                    }
                }
            }
        }
    }

    fn subscriber(&mut self, n: usize) -> Option<&mut Subscriber> {
        self.seats.get_mut(n)?.lane.subscriber()
    }

    /// The next session with the same server that can take a subscription over.
    fn next_to(&self, n: usize) -> Option<usize> {
        let target = self.seats.get(n)?.target;
        let others = (n + 1..self.seats.len()).chain(0..n);
        others.into_iter().find(|&m| {
            self.seats.get(m).is_some_and(|seat| {
                let running = seat
                    .lane
                    .subscriptions()
                    .is_some_and(Subscriber::is_running);
                seat.alive && seat.target == target && running
            })
        })
    }

    /// Whoever has a subscription now.
    fn holder(&mut self, n: usize, id: u32) -> Option<&mut Subscriber> {
        let target = self.seats.get(n)?.target;
        let seat = self.seats.iter_mut().find(|seat| {
            let has = seat.lane.subscriptions().is_some_and(|it| it.has(id));
            seat.target == target && has
        });
        seat?.lane.subscriber()
    }
}
