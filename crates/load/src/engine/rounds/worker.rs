//! Clients of which one is at it at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use plan::Seat;

use super::super::reports::Loss;
use super::act::ActOutcome;
use super::client::Client;
use super::course::RoundsShared;
use crate::transport::tasks::sleep_until;

/// What a worker did.
pub struct Done<'a> {
    /// Its clients, whose sessions are open still.
    pub clients: Vec<Client<'a>>,
    /// When the phase ended, if that was not because there was nothing more to do.
    pub ended: Option<u64>,
    /// Until when it was at work.
    pub ran: u64,
    pub losses: Vec<Loss>,
}

/// A task, and clients that have their turns in it.
pub struct Worker<'a> {
    course: &'a RoundsShared<'a>,
    clients: Vec<Client<'a>>,
    /// Those of them that have rounds to come.
    active: usize,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Sessions that the server has to hear from.
    kept: BinaryHeap<Reverse<(u64, usize)>>,
    /// Since when it could have begun something.
    free: u64,
    losses: Vec<Loss>,
}

impl<'a> Worker<'a> {
    pub fn new(course: &'a RoundsShared<'a>, clients: Vec<Client<'a>>) -> Self {
        Self {
            course,
            active: clients.iter().filter(|client| client.is_active()).count(),
            clients,
            due: BinaryHeap::new(),
            kept: BinaryHeap::new(),
            free: 0,
            losses: Vec::new(),
        }
    }

    pub async fn run(mut self) -> Done<'a> {
        let course = self.course;
        let end = course.settings.end_ns();
        sleep_until(course.origin).await;
        for n in 0..self.clients.len() {
            self.queue(n);
        }
        loop {
            let t = course.t();
            if course.is_stopped() {
                course.end_at(t);
                break;
            }
            match &course.storm {
                Some(storm) if storm.is_over(t) => break,
                Some(storm) if t >= end => {
                    let left = self.clients.iter_mut().map(Client::give_up).sum();
                    if storm.leave_out(left, t) {
                        course.end_at(t);
                    }
                }
                None if t >= end => break,
                _ => {}
            }
            // Whoever comes first, sessions that are there do not die for it.
            if let Some(&Reverse((at, n))) = self.kept.peek()
                && at <= t
            {
                self.kept.pop();
                Box::pin(self.keep(n, at)).await;
                continue;
            }
            let kept = self.kept.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let look_up = (t + course.look_up).min(kept);
            match self.due.peek() {
                Some(&Reverse((at, n))) if at <= t => {
                    self.due.pop();
                    if self.clients.get(n).and_then(Client::next) == Some(at) {
                        // It takes memory only while a client is at it.
                        Box::pin(self.act(n, at)).await;
                        self.queue(n);
                    }
                }
                // What is left is kept alive for nothing more.
                _ if course.storm.is_none() && self.active == 0 => break,
                Some(&Reverse((at, _))) => self.nap(at.min(look_up)).await,
                None if course.storm.is_some() => self.nap(look_up).await,
                None => break,
            }
        }
        self.done(end)
    }

    fn queue(&mut self, n: usize) {
        let Some(client) = self.clients.get(n) else {
            return;
        };
        self.due.extend(client.next().map(|at| Reverse((at, n))));
        self.kept
            .extend(client.keep_at().map(|at| Reverse((at, n))));
    }

    /// Lets the server hear from a client, unless it has heard from it meanwhile.
    async fn keep(&mut self, n: usize, at: u64) {
        let Some(client) = self.clients.get_mut(n) else {
            return;
        };
        if client.keep_at() != Some(at) {
            return;
        }
        let did = client.keep(self.course).await;
        self.kept
            .extend(client.keep_at().map(|at| Reverse((at, n))));
        self.over(n, did);
    }

    async fn nap(&self, until: u64) {
        sleep_until(self.course.at(until)).await;
    }

    async fn act(&mut self, n: usize, at: u64) {
        let Some(client) = self.clients.get_mut(n) else {
            return;
        };
        let was_active = client.is_active();
        let did = client.act(self.course, at, self.free).await;
        if was_active && !client.is_active() {
            self.active -= 1;
        }
        self.over(n, did);
    }

    /// A client has done something.
    fn over(&mut self, n: usize, did: ActOutcome) {
        let t = self.course.t();
        if let (ActOutcome::Lost(reason), Some(client)) = (did, self.clients.get(n)) {
            self.losses.push(Loss {
                session: place(self.course, client.seat),
                at_ns: t,
                reason,
                back: false,
            });
        }
        self.free = t;
    }

    /// What it did, and its clients: they leave when the server was asked what it counted for them.
    fn done(mut self, end: u64) -> Done<'a> {
        let course = self.course;
        let t = course.t();
        let ended = (course.is_stopped() || t >= end).then_some(t.min(end));
        if let Some(storm) = &course.storm {
            storm.stop(t);
        }
        if let Some(ended) = ended {
            let clients = self.clients.iter_mut();
            clients.for_each(|client| client.unsent(course, ended));
        }
        Done {
            clients: self.clients,
            ended,
            ran: t,
            losses: self.losses,
        }
    }
}

/// Which of all sessions it is.
fn place(course: &RoundsShared<'_>, seat: Seat) -> usize {
    seat.target as usize * course.running.phase.sessions as usize + seat.index as usize
}
