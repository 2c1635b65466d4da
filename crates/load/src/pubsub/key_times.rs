//! The keys of a security group, each with its time: of a file, or of a key service that is asked again and again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pubsub::security::{GroupKeys, KeyLength, KeyRing, NonceSequence, token_after};
pub use pubsub::security::{RawKey, SecurityKeys};
use serde::{Deserialize, Serialize};

/// How a key service was asked, and what with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    /// Datagrams by the token of their key, the last hundred tokens.
    pub tokens: Vec<TokenUse>,
    /// Datagrams of tokens before those.
    pub earlier: u64,
    /// How often the key service answered.
    pub asked: u64,
    /// How often it did not.
    pub failed: u64,
    /// Why not, the last time.
    pub last_error: Option<String>,
    /// Datagrams that were secured with a key whose time was over, as there was no other. The time in which the next key
    /// is asked for does not count: a tenth of a lifetime, 1 s at most.
    pub expired: u64,
}

/// Datagrams of one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUse {
    /// The SecurityTokenId.
    pub token: u32,
    /// How many.
    pub datagrams: u64,
}

/// So many tokens are told apart.
const TOKENS: usize = 100;

impl KeyUse {
    /// Whether there is anything to tell.
    pub(super) fn is_any(&self) -> bool {
        !self.tokens.is_empty() || self.asked > 0
    }

    /// Datagrams of a token.
    pub(super) fn note(&mut self, token: u32, datagrams: u64) {
        // Most are of the same token as the one before.
        if let Some(it) = self.tokens.iter_mut().rev().find(|it| it.token == token) {
            it.datagrams += datagrams;
            return;
        }
        if self.tokens.len() >= TOKENS {
            self.earlier += self.tokens.remove(0).datagrams;
        }
        self.tokens.push(TokenUse { token, datagrams });
    }
}

/// A key service that tells the current key alone is asked for the next one once that has ended. Until it answers
/// messages go on with the last one: for so long they are not counted as secured with a key that is over.
fn grace(lifetime: Duration) -> Duration {
    (lifetime / 10).min(Duration::from_secs(1))
}

/// A key, and from when on it is the current one.
#[derive(Debug, Clone)]
struct Entry {
    token: u32,
    /// Another one for each key, whatever its token is.
    serial: u64,
    raw: RawKey,
    keys: GroupKeys,
    /// Numbers what this process secures with it.
    sequence: NonceSequence,
    /// None for one that was so before anybody asked.
    from: Option<Instant>,
}

#[derive(Debug, Default)]
struct KeyTimesState {
    entries: Vec<Entry>,
    serials: u64,
    /// When the last one is over, if it ever is.
    until: Option<Instant>,
    lifetime: Duration,
    asked: u64,
    failed: u64,
    last_error: Option<String>,
    /// A token that somebody saw and that is not among them.
    wanted: Option<u32>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    changes: AtomicU64,
    state: Mutex<KeyTimesState>,
    wake: Condvar,
}

/// The keys of a group by their times. A copy is the same keys.
#[derive(Debug, Clone, Default)]
pub struct KeyTimes(Arc<Shared>);

impl KeyTimes {
    /// Those of a file: the first from `start` on, the next after each `roll_over`, if there is one.
    pub(super) fn listed(
        keys: &[(u32, GroupKeys)],
        roll_over: Option<Duration>,
        start: Instant,
    ) -> Self {
        let used = match roll_over {
            Some(_) => keys.len(),
            None => 1,
        };
        // One key alone is not followed by another.
        let each = roll_over.unwrap_or_default();
        let entry = |(n, (token, keys)): (usize, &(u32, GroupKeys))| Entry {
            token: *token,
            serial: n as u64,
            raw: RawKey::default(),
            keys: keys.clone(),
            sequence: NonceSequence::default(),
            from: (n > 0)
                .then(|| start + each.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX))),
        };
        let times = Self::default();
        let entries = keys.iter().take(used).enumerate().map(entry);
        times.state().entries = entries.collect();
        times
    }

    fn state(&self) -> MutexGuard<'_, KeyTimesState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what a key service answered at a time, to a question for the current keys.
    ///
    /// # Errors
    /// A key has the wrong length.
    pub(super) fn take(&self, told: &SecurityKeys, at: Instant) -> Result<(), KeyLength> {
        let mut state = self.state();
        let known = state.entries.iter().position(|it| it.token == told.first);
        // Behind a token that is not known nothing is (Part 14, 9.1.3.3).
        let mut entries = match known {
            Some(n) => state
                .entries
                .get(n.saturating_sub(1)..n)
                .unwrap_or_default()
                .to_vec(),
            None => Vec::new(),
        };
        let mut changed = known != Some(entries.len());
        for (n, raw) in told.keys.iter().enumerate() {
            let token = token_after(told.first, n as u64);
            let from = match n.checked_sub(1) {
                None => None,
                Some(n) => {
                    let n = u32::try_from(n).unwrap_or(u32::MAX);
                    Some(at + told.to_next + told.lifetime.saturating_mul(n))
                }
            };
            let mut all = state.entries.iter();
            let same = all.find(|it| it.token == token && it.raw == *raw).cloned();
            let entry = match &same {
                // It is never later than it was: a key that is in use is not given up for the one before.
                Some(it) => Entry {
                    from: it.from.zip(from).map(|(a, b)| a.min(b)),
                    ..it.clone()
                },
                None => {
                    let keys = GroupKeys::new(told.policy, raw)?;
                    state.serials += 1;
                    Entry {
                        token,
                        serial: state.serials,
                        raw: raw.clone(),
                        keys,
                        sequence: NonceSequence::default(),
                        from,
                    }
                }
            };
            changed |= same.is_none_or(|it| it.from != entry.from);
            entries.push(entry);
        }
        changed |= entries.len() != state.entries.len();
        let more = u32::try_from(told.keys.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let until = Some(at + told.to_next + told.lifetime.saturating_mul(more));
        changed |= state.until != until;
        state.until = until;
        state.lifetime = told.lifetime;
        state.entries = entries;
        state.asked += 1;
        if changed {
            self.0.changes.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// Takes keys that were current before the ones that are known.
    pub(super) fn take_past(&self, told: &SecurityKeys) -> Result<(), KeyLength> {
        let mut state = self.state();
        let mut past = Vec::new();
        for (n, raw) in told.keys.iter().enumerate() {
            let token = token_after(told.first, n as u64);
            if state.entries.iter().any(|it| it.token == token) {
                break;
            }
            state.serials += 1;
            past.push(Entry {
                token,
                serial: state.serials,
                raw: raw.clone(),
                keys: GroupKeys::new(told.policy, raw)?,
                sequence: NonceSequence::default(),
                from: None,
            });
        }
        if !past.is_empty() {
            past.append(&mut state.entries);
            state.entries = past;
            self.0.changes.fetch_add(1, Ordering::Release);
        }
        state.asked += 1;
        Ok(())
    }

    /// The key service did not answer.
    pub(super) fn failed(&self, why: String) {
        let mut state = self.state();
        state.failed += 1;
        state.last_error = Some(why);
    }

    /// How long a key holds.
    pub(super) fn lifetime(&self) -> Duration {
        self.state().lifetime
    }

    /// How long to wait with the next question: half the lifetime of a key (Part 14, 8.3.2), or until the last key that
    /// is known ends. None if it has ended already.
    pub(super) fn next_ask(&self, now: Instant) -> Option<Duration> {
        let state = self.state();
        let half = state.lifetime / 2;
        match state.until {
            Some(until) if until <= now => None,
            Some(until) => Some(half.min(until - now)),
            None => Some(half),
        }
    }

    /// Nobody needs them any more.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.0.wake.notify_all();
    }

    /// Waits so long at most. A token that somebody misses ends it sooner, but not before `least`; none when nobody needs
    /// keys any more.
    pub(super) fn wait(&self, least: Duration, most: Duration) -> Option<Option<u32>> {
        let begun = Instant::now();
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            let passed = begun.elapsed();
            let enough = match state.wanted {
                Some(_) => least,
                None => most,
            };
            let Some(left) = enough.checked_sub(passed).filter(|it| !it.is_zero()) else {
                return Some(state.wanted.take());
            };
            let waited = self.0.wake.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn want(&self, token: u32) {
        let mut state = self.state();
        if state.wanted.is_none() && state.entries.iter().all(|it| it.token != token) {
            state.wanted = Some(token);
            self.0.wake.notify_all();
        }
    }

    /// The key that is the current one at a time.
    pub(super) fn current(&self, now: Instant) -> Option<Current> {
        let state = self.state();
        let is_begun = |it: &&Entry| it.from.is_none_or(|from| from <= now);
        let it = state.entries.iter().rev().find(is_begun)?;
        Some(Current {
            token: it.token,
            serial: it.serial,
            keys: it.keys.clone(),
            sequence: it.sequence.clone(),
        })
    }

    /// Those of a file have their times so much later.
    pub(super) fn postpone(&self, by: Duration) {
        let mut state = self.state();
        for entry in &mut state.entries {
            entry.from = entry.from.map(|from| from + by);
        }
        self.0.changes.fetch_add(1, Ordering::Release);
    }

    /// How the key service was asked so far.
    pub(super) fn tell(&self, told: &mut KeyUse) {
        let state = self.state();
        told.asked = state.asked;
        told.failed = state.failed;
        told.last_error.clone_from(&state.last_error);
    }
}

/// The key of one moment.
#[derive(Debug, Clone)]
pub(super) struct Current {
    pub token: u32,
    serial: u64,
    pub keys: GroupKeys,
    pub sequence: NonceSequence,
}

/// Follows the current key, for who secures messages with it.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    times: KeyTimes,
    seen: u64,
    serial: u64,
    /// When the next one is, if that is known.
    next_at: Option<Instant>,
    until: Option<Instant>,
}

impl Cursor {
    /// From the key on that is in use.
    pub fn new(times: KeyTimes, used: &Current) -> Self {
        Self {
            times,
            // Looks at once.
            seen: u64::MAX,
            serial: used.serial,
            next_at: None,
            until: None,
        }
    }

    /// Another key, if it is time for one.
    pub fn turn(&mut self, now: Instant) -> Option<Current> {
        let changes = self.times.0.changes.load(Ordering::Acquire);
        if changes == self.seen && self.next_at.is_none_or(|at| now < at) {
            return None;
        }
        self.seen = changes;
        {
            let state = self.times.state();
            let times = state.entries.iter().filter_map(|it| it.from);
            self.next_at = times.filter(|from| *from > now).min();
            self.until = state.until.map(|it| it + grace(state.lifetime));
        }
        let current = self.times.current(now)?;
        let is_other = current.serial != self.serial;
        self.serial = current.serial;
        is_other.then_some(current)
    }

    /// Whether the time of the last key is over, and that in which the next one is asked for.
    pub fn is_expired(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now >= until)
    }
}

/// Gives a listener the keys that are new.
#[derive(Debug)]
pub struct KeyFeed {
    times: KeyTimes,
    seen: u64,
    /// Keys up to here are known to the listener.
    serial: u64,
}

impl KeyFeed {
    /// Of these keys, none of which the listener has.
    pub fn new(times: KeyTimes) -> Self {
        Self {
            times,
            seen: u64::MAX,
            serial: 0,
        }
    }

    /// Adds what is new, and asks for a token that was seen and is not known.
    pub fn turn(&mut self, keys: &mut KeyRing, missing: Option<u32>) {
        let changes = self.times.0.changes.load(Ordering::Acquire);
        if changes != self.seen {
            self.seen = changes;
            let state = self.times.state();
            for it in state.entries.iter().filter(|it| it.serial > self.serial) {
                keys.insert(it.token, it.keys.clone());
            }
            let newest = state.entries.iter().map(|it| it.serial).max();
            self.serial = newest.unwrap_or_default().max(self.serial);
        }
        if let Some(token) = missing {
            self.times.want(token);
        }
    }

    /// How the key service was asked.
    pub(super) fn tell(&self, told: &mut KeyUse) {
        self.times.tell(told);
    }
}

#[cfg(test)]
mod tests {
    use pubsub::security::PubSubPolicy;

    use super::*;

    fn told(first: u32, keys: &[u8], to_next: u64) -> SecurityKeys {
        SecurityKeys {
            policy: PubSubPolicy::Aes256Ctr,
            first,
            keys: keys.iter().map(|it| RawKey::new(vec![*it; 68])).collect(),
            to_next: Duration::from_millis(to_next),
            lifetime: Duration::from_millis(1000),
        }
    }

    fn token(times: &KeyTimes, at: Instant) -> u32 {
        times.current(at).unwrap().token
    }

    #[test]
    fn keys_follow_each_other_by_the_clock_and_never_back() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let times = KeyTimes::default();
        times.take(&told(5, &[5, 6, 7], 300), at(0)).unwrap();
        let used = times.current(at(0)).unwrap();
        let mut cursor = Cursor::new(times.clone(), &used);
        assert!(cursor.turn(at(299)).is_none());
        assert_eq!(cursor.turn(at(300)).unwrap().token, 6);
        // The service is a little behind: its current key is still the one before.
        times.take(&told(5, &[5, 6, 7], 20), at(305)).unwrap();
        assert_eq!(token(&times, at(306)), 6);
        assert!(cursor.turn(at(306)).is_none());
        assert_eq!(cursor.turn(at(1300)).unwrap().token, 7);
        // 2325 ms, and the time in which the service is asked.
        assert!(!cursor.is_expired(at(2424)));
        assert!(cursor.is_expired(at(2425)));
        // It has keys again.
        times.take(&told(8, &[8, 9], 700), at(2500)).unwrap();
        assert_eq!(cursor.turn(at(2500)).unwrap().token, 8);
        assert!(!cursor.is_expired(at(2500)));
    }

    #[test]
    fn the_service_is_asked_at_half_a_lifetime_or_when_the_last_key_ends() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let left = |it: Option<Duration>| it.map(|it| it.as_millis());
        let times = KeyTimes::default();
        times.take(&told(5, &[5, 6, 7], 300), at(0)).unwrap();
        assert_eq!(left(times.next_ask(at(0))), Some(500));
        times.take(&told(5, &[5], 300), at(0)).unwrap();
        assert_eq!(left(times.next_ask(at(0))), Some(300));
        assert_eq!(left(times.next_ask(at(299))), Some(1));
        assert_eq!(times.next_ask(at(300)), None);
    }

    #[test]
    fn a_key_that_holds_longer_than_was_said_is_no_expired_one() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let times = KeyTimes::default();
        times.take(&told(5, &[5], 300), at(0)).unwrap();
        let used = times.current(at(0)).unwrap();
        let mut cursor = Cursor::new(times.clone(), &used);
        assert!(cursor.turn(at(0)).is_none());
        assert!(cursor.is_expired(at(400)));
        // The same key for another while: nothing but its end is new.
        times.take(&told(5, &[5], 1000), at(300)).unwrap();
        assert!(cursor.turn(at(400)).is_none());
        assert!(!cursor.is_expired(at(400)));
    }

    #[test]
    fn a_service_that_began_anew_has_other_keys_of_the_same_tokens() {
        let start = Instant::now();
        let times = KeyTimes::default();
        times.take(&told(1, &[1, 2], 300), start).unwrap();
        let used = times.current(start).unwrap();
        let mut cursor = Cursor::new(times.clone(), &used);
        assert!(cursor.turn(start).is_none());
        times.take(&told(1, &[11, 12], 1000), start).unwrap();
        let other = cursor.turn(start).unwrap();
        assert_eq!((other.token, other.serial != used.serial), (1, true));
    }

    #[test]
    fn keys_of_a_file_take_turns_from_the_start() {
        let start = Instant::now();
        let keys = |n: u8| GroupKeys::new(PubSubPolicy::Aes128Ctr, &[n; 52]).unwrap();
        let file = [(1, keys(1)), (2, keys(2)), (3, keys(3))];
        let each = Duration::from_secs(1);
        let times = KeyTimes::listed(&file, Some(each), start);
        assert_eq!(token(&times, start), 1);
        assert_eq!(token(&times, start + each), 2);
        assert_eq!(token(&times, start + 9 * each), 3);
        let alone = KeyTimes::listed(&file, None, start);
        assert_eq!(token(&alone, start + 9 * each), 1);
    }

    #[test]
    fn no_debug_output_has_a_byte_of_a_key() {
        let times = KeyTimes::default();
        let told = told(1, &[171, 172], 1);
        times.take(&told, Instant::now()).unwrap();
        let feed = KeyFeed::new(times.clone());
        for it in [
            format!("{told:?}"),
            format!("{times:?}"),
            format!("{feed:?}"),
        ] {
            assert!(!it.contains("171, 171") && !it.contains("172, 172"), "{it}");
        }
    }

    #[test]
    fn a_key_of_the_wrong_length_is_not_taken() {
        let times = KeyTimes::default();
        let mut wrong = told(1, &[1], 1);
        wrong.keys[0] = RawKey::new(vec![1; 67]);
        assert!(times.take(&wrong, Instant::now()).is_err());
    }

    #[test]
    fn datagrams_are_counted_by_token_and_no_memory_grows() {
        let mut used = KeyUse::default();
        for token in 1..=150 {
            used.note(token, 1);
            used.note(token, 2);
        }
        assert_eq!(used.tokens.len(), 100);
        assert_eq!(used.earlier, 150);
        assert_eq!(used.tokens[0].token, 51);
    }
}
