//! A session under way.

use std::collections::VecDeque;

use wire::channel::Protection;

use super::course::SessionCourse;
use super::parties::{Answering, Caller};
use super::scene::Scene;
use crate::tcp::End;

/// A session, on the connection that it has now.
pub struct Talk {
    pub number: u32,
    pub connection: u32,
    pub discovers: bool,
    pub began: u64,
    pub ends: [End; 2],
    pub caller: Option<Caller>,
    pub answering: Option<Answering>,
    /// What came of a chunk that is not here yet.
    pub partial: [Vec<u8>; 2],
    /// Bytes around messages that are on their way to a side.
    pub around: [VecDeque<usize>; 2],
    /// Until when a side is busy with this session.
    pub busy: [u64; 2],
    pub timers: [Option<u64>; 2],
    pub deadline: Option<u64>,
    /// Chunks of the client that are being made.
    pub making: u32,
    pub course: SessionCourse,
    pub over: bool,
}

impl Talk {
    /// One that begins at a time.
    pub fn new(number: u32, discovers: bool, at: u64) -> Self {
        Self {
            number,
            connection: 0,
            discovers,
            began: at,
            ends: [End::connecting(), End::listening()],
            caller: None,
            answering: None,
            partial: [Vec::new(), Vec::new()],
            around: [VecDeque::new(), VecDeque::new()],
            busy: [at; 2],
            timers: [None; 2],
            deadline: None,
            making: 0,
            course: SessionCourse {
                began: at,
                ..SessionCourse::default()
            },
            over: false,
        }
    }

    /// Another connection begins, after the one for discovery.
    pub fn connect_again(&mut self, now: u64) {
        self.connection += 1;
        self.discovers = false;
        self.began = now;
        self.ends = [End::connecting(), End::listening()];
        self.partial = [Vec::new(), Vec::new()];
        self.around = [VecDeque::new(), VecDeque::new()];
        self.timers = [None; 2];
        self.deadline = None;
    }

    /// What is to be known of a connection that is over.
    pub fn close(&mut self) {
        self.course.sent_again += self.ends.iter().map(End::sent_again).sum::<u64>();
        self.answering = None;
        if let Some(caller) = self.caller.take() {
            let (steps, failed) = caller.finish();
            self.course.steps.extend(steps);
            self.course.failed = failed;
        }
    }

    /// Policy and mode of the connection that it has now.
    pub fn protection(&self, scene: &Scene) -> Protection {
        match self.discovers {
            true => Protection::NONE,
            false => scene.client.protection,
        }
    }
}
