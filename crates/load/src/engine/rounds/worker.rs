//! A thread and its clients, which take turns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use plan::Seat;

use super::super::reports::{Loss, Report};
use super::super::spent::Spent;
use super::act::Did;
use super::client::Client;
use super::course::Course;
use crate::transport::Socket;

/// What a thread did, and its clients, whose sessions are open still.
pub type Done<'a> = (Report<Socket>, Vec<Client<'a>>);

/// A wait is looked up from this often, to see whether it is over for another reason.
const LOOK_UP: u64 = 20_000_000;

/// A thread and its clients.
pub struct Worker<'a> {
    course: &'a Course<'a>,
    clients: Vec<Client<'a>>,
    /// Those of them that have rounds to come.
    active: usize,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Sessions that the server has to hear from.
    kept: BinaryHeap<Reverse<(u64, usize)>>,
    /// Since when it could have begun something.
    free: u64,
    slept: u64,
    losses: Vec<Loss>,
}

impl<'a> Worker<'a> {
    pub fn new(course: &'a Course<'a>, clients: Vec<Client<'a>>) -> Self {
        Self {
            course,
            active: clients.iter().filter(|client| client.is_active()).count(),
            clients,
            due: BinaryHeap::new(),
            kept: BinaryHeap::new(),
            free: 0,
            slept: 0,
            losses: Vec::new(),
        }
    }

    pub fn run(mut self) -> Done<'a> {
        let course = self.course;
        let end = course.settings.end_ns();
        let spent = Spent::so_far();
        std::thread::sleep(course.origin.since(course.clock.mono()));
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
                self.keep(n, at);
                continue;
            }
            let kept = self.kept.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let look_up = (t + LOOK_UP).min(kept);
            match self.due.peek() {
                Some(&Reverse((at, n))) if at <= t => {
                    self.due.pop();
                    if self.clients.get(n).and_then(Client::next) == Some(at) {
                        self.act(n, at);
                        self.queue(n);
                    }
                }
                // What is left is kept alive for nothing more.
                _ if course.storm.is_none() && self.active == 0 => break,
                Some(&Reverse((at, _))) => self.nap(at.min(look_up)),
                None if course.storm.is_some() => self.nap(look_up),
                None => break,
            }
        }
        self.report(end, spent)
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
    fn keep(&mut self, n: usize, at: u64) {
        let Some(client) = self.clients.get_mut(n) else {
            return;
        };
        if client.keep_at() != Some(at) {
            return;
        }
        let did = client.keep(self.course);
        self.kept
            .extend(client.keep_at().map(|at| Reverse((at, n))));
        self.over(n, did);
    }

    fn nap(&mut self, until: u64) {
        let before = self.course.t();
        std::thread::sleep(Duration::from_nanos(until.saturating_sub(before)));
        self.slept += self.course.t() - before;
    }

    fn act(&mut self, n: usize, at: u64) {
        let Some(client) = self.clients.get_mut(n) else {
            return;
        };
        let was_active = client.is_active();
        let did = client.act(self.course, at, self.free);
        if was_active && !client.is_active() {
            self.active -= 1;
        }
        self.over(n, did);
    }

    /// A client has done something.
    fn over(&mut self, n: usize, did: Did) {
        let t = self.course.t();
        if let (Did::Lost(reason), Some(client)) = (did, self.clients.get(n)) {
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
    fn report(mut self, end: u64, spent: Spent) -> Done<'a> {
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
        let spent = Spent::so_far().since(&spent);
        let report = Report {
            losses: self.losses,
            ..Report::of_calls(self.clients.len(), ended, t, self.slept, &spent)
        };
        (report, self.clients)
    }
}

/// Which of all sessions it is.
fn place(course: &Course<'_>, seat: Seat) -> usize {
    seat.target as usize * course.running.phase.sessions as usize + seat.index as usize
}
