//! Publish requests that wait at the server (Part 4, 5.14.5): how many are wanted, and what they acknowledge.

use std::time::Duration;

use wire::template::walk::PublishResponse;
use wire::time::Instant;
use wire::types::{StatusCode, SubscriptionAcknowledgement};

use super::answer::is;
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::PendingRequest;
use super::subscriptions::Subscriptions;

/// Publish requests of one session.
#[derive(Debug)]
pub(super) struct Supply {
    /// As typed.
    fixed: Option<usize>,
    /// To be kept waiting.
    wanted: usize,
    /// Of them, those that may be missing: where messages come fast, requests are sent in groups.
    spare: usize,
    /// The server takes no more than these.
    most: usize,
    /// On their way.
    waiting: usize,
    /// Answered, refused or given up.
    ended: u64,
    /// When the oldest of those on their way was sent, if none was before.
    alone: Option<Instant>,
    /// The shortest time from a request to its answer.
    round_trip: Option<Duration>,
    /// After a failure nothing is sent until then.
    quiet_until: Option<Instant>,
    /// Failures one after another.
    failures: u32,
    /// What the next one acknowledges.
    acknowledgements: Vec<SubscriptionAcknowledgement>,
    /// Messages that had to wait for one.
    waited: u64,
    /// The server does not know the session any more.
    expelled: bool,
}

/// Publish requests that one session keeps waiting at most, when it decides itself.
const MOST: usize = 1000;
/// As long as this a request, and with it an acknowledgement, may wait for others to go with.
const GATHER: Duration = Duration::from_millis(5);
/// After a failed Publish, and twice that after another one, and so on.
const PAUSE: Duration = Duration::from_millis(10);
/// The longest pause is 2^7 of the shortest.
const DOUBLINGS: u32 = 7;
/// A message that lay so long at the server before its response was sent had to wait for a
/// request.
const WAITED_TICKS: i64 = 500_000;

impl Supply {
    pub fn new(fixed: Option<u32>) -> Self {
        let fixed = fixed.map(|n| n as usize);
        Self {
            fixed,
            wanted: fixed.unwrap_or(0),
            spare: 0,
            most: MOST.max(fixed.unwrap_or(0)),
            waiting: 0,
            ended: 0,
            alone: None,
            round_trip: None,
            quiet_until: None,
            failures: 0,
            acknowledgements: Vec::new(),
            waited: 0,
            expelled: false,
        }
    }

    /// How many are on their way.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many are kept waiting.
    pub fn wanted(&self) -> usize {
        self.wanted.min(self.most)
    }

    /// Messages that had to wait for one.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// How many have ended so far.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// One has ended.
    pub fn end(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
        self.ended += 1;
    }

    /// When they are sent again, if they are not now.
    pub fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until
    }

    /// So long a request and its answer took that do not wait for news.
    pub fn round_trip(&mut self, took: Duration) {
        self.round_trip = Some(self.round_trip.map_or(took, |known| known.min(took)));
    }

    /// One for each subscription, as all may have news at once; those that are on their way while
    /// further news come, or wait for others to go with; and one to spare.
    pub fn foresee(&mut self, subscriptions: &Subscriptions) {
        if self.fixed.is_some() {
            return;
        }
        let publishings_per_s = subscriptions.publishings_per_s();
        // As long as no answer came, nothing is known to be on its way.
        let round_trip = self.round_trip.unwrap_or_default().as_secs_f64();
        let travelling = (publishings_per_s * round_trip).ceil() as usize;
        self.spare = (publishings_per_s * GATHER.as_secs_f64()) as usize;
        let needed = subscriptions.len() + 1 + travelling + self.spare;
        self.wanted = self.wanted.max(needed);
    }

    /// One is sent.
    fn keep(&mut self, now: Instant) {
        if self.waiting == 0 {
            self.alone = Some(now);
        }
        self.waiting += 1;
    }

    /// Whether the message that has come was waiting for its request: before that none was at the server, and
    /// it was answered at once.
    fn was_awaited(&mut self, now: Instant) -> bool {
        let Some((sent, shortest)) = self.alone.take().zip(self.round_trip) else {
            return false;
        };
        now.since(sent) < shortest.saturating_mul(2)
    }

    /// Messages wait at the server for a request.
    fn starved(&mut self) {
        if self.fixed.is_none() {
            self.wanted = (self.wanted + self.wanted.div_ceil(2)).min(self.most);
        }
    }

    /// Over a new connection nothing waits yet.
    pub fn again(&mut self) {
        self.waiting = 0;
        self.alone = None;
        self.failures = 0;
        self.quiet_until = None;
    }

    fn missing(&self) -> usize {
        self.wanted().saturating_sub(self.waiting)
    }

    /// Whether enough are missing to be sent.
    fn is_due(&self) -> bool {
        self.missing() > self.spare.min(self.wanted() / 2)
    }

    /// The longest that a request may wait in good order.
    fn patience(&self, subscriptions: &Subscriptions, timeout: Duration) -> Duration {
        let turns = u32::try_from(self.waiting + 2).unwrap_or(u32::MAX);
        let longest = subscriptions.longest_silence();
        longest.saturating_mul(turns).saturating_add(timeout)
    }

    /// Sends requests until enough of them wait; none while subscriptions are transferred, or messages from
    /// before a reconnect are being fetched.
    pub fn send(
        &mut self,
        out: &mut Outgoing<'_>,
        subscriptions: &Subscriptions,
        transfers: bool,
        notes: &mut Notes<'_>,
    ) {
        if self.quiet_until.is_some_and(|at| out.now.mono < at) {
            return;
        }
        self.quiet_until = None;
        let catches_up = || transfers || subscriptions.catches_up();
        if subscriptions.is_empty() || !self.is_due() || catches_up() {
            return;
        }
        let assignment = out.assignment;
        let (publish, utc) = (&assignment.requests.publish, out.now.utc);
        let deadline = out.now.mono + self.patience(subscriptions, assignment.orders.timeout);
        let mut sent = 0;
        while self.missing() > 0 && out.has_room() {
            let acknowledgements = &self.acknowledgements;
            let request = out.write(deadline, PendingRequest::Publish, |out, handle| {
                let start = out.len();
                out.resize(start + publish.len_with(acknowledgements.len()), 0);
                let room = out.get_mut(start..).unwrap_or_default();
                // As long as it was foreseen to be, so that all of it is written.
                let written = publish.write(room, handle, utc, acknowledgements);
                debug_assert!(written.is_ok());
            });
            if request.is_err() {
                break;
            }
            self.acknowledgements.clear();
            self.keep(out.now.mono);
            sent += 1;
        }
        if sent > 0 {
            notes.notification_ledger.publish_sent(sent);
        }
    }

    /// One was answered with a message. `several`: there are other subscriptions, which may wait for the next one.
    pub fn answered(&mut self, response: &PublishResponse<'_>, several: bool, now: Instant) {
        self.failures = 0;
        // Some servers leave times out.
        let known = response.timestamp != 0 && response.publish_time != 0;
        let waited =
            known && response.timestamp.saturating_sub(response.publish_time) > WAITED_TICKS;
        let awaited = self.was_awaited(now) && !response.is_keep_alive();
        self.waited += u64::from(waited || awaited);
        let others = response.more_notifications || several;
        if waited || (self.waiting == 0 && others) {
            self.starved();
        }
    }

    /// One was refused: the next ones are fewer, or later.
    pub fn refused(&mut self, status: StatusCode, now: Instant) {
        if is(status, StatusCode::BadTooManyPublishRequests) {
            // Those that still wait are as many as it takes.
            self.most = self.waiting.max(1);
            return;
        }
        let expelled = [
            StatusCode::BadSessionIdInvalid,
            StatusCode::BadSessionClosed,
            StatusCode::BadSessionNotActivated,
        ];
        if expelled.iter().any(|it| is(status, *it)) {
            self.expelled = true;
            return;
        }
        let pause = PAUSE.saturating_mul(1 << self.failures.min(DOUBLINGS));
        self.failures += 1;
        self.quiet_until = Some(now + pause);
    }

    /// Whether the server has said that it does not know the session any more; once.
    pub fn is_expelled(&mut self) -> bool {
        std::mem::take(&mut self.expelled)
    }

    /// The connection is gone. Whether acknowledgements arrived is not known; messages whose did not are only kept
    /// for longer.
    pub fn cut(&mut self) {
        self.acknowledgements.clear();
        self.expelled = false;
    }

    /// A message has come.
    #[inline]
    pub fn acknowledge(&mut self, acknowledgement: SubscriptionAcknowledgement) {
        self.acknowledgements.push(acknowledgement);
    }

    /// Gives out what is still to be acknowledged of one of the server's subscriptions.
    pub fn give(&mut self, id: u32) -> Vec<SubscriptionAcknowledgement> {
        let (given, others) = std::mem::take(&mut self.acknowledgements)
            .into_iter()
            .partition(|it| it.subscription_id == id);
        self.acknowledgements = others;
        given
    }

    /// Takes in what another session had still to acknowledge.
    pub fn put(&mut self, acknowledgements: Vec<SubscriptionAcknowledgement>) {
        self.acknowledgements.extend(acknowledgements);
    }
}
