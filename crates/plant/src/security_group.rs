//! Security groups of PubSub: which keys their members share now and next, and who may know them (Part 14, 8.3).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plan::unit::duration::nanos;
use wire::policy::pubsub::{PubSubPolicy, RawKey, SecurityKeys, token_after};
use wire::time::Instant;

use crate::space::Rights;

/// Who shares keys, and how long each of them holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityGroup {
    /// The SecurityGroupId.
    pub id: String,
    /// What keys are for.
    pub policy: PubSubPolicy,
    /// How long a key is the current one.
    pub lifetime: Duration,
    /// So many keys behind the current one are made and told beforehand.
    pub future: u16,
    /// So many keys before the current one are still told.
    pub past: u16,
    /// Users who may get the keys; without it all who may call methods.
    pub may_get: Option<Vec<String>>,
    /// Users who may set keys; nobody else may.
    pub may_set: Vec<String>,
}

impl SecurityGroup {
    /// A key each hour, four told beforehand, for all who may call methods.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            policy: PubSubPolicy::Aes256Ctr,
            lifetime: Duration::from_secs(3600),
            future: 4,
            past: 1,
            may_get: None,
            may_set: Vec::new(),
        }
    }

    /// Shorter than this a key of a group is no use: members could not ask twice in its time.
    pub const LEAST_LIFETIME: Duration = Duration::from_millis(100);
    /// As many keys as an answer may have.
    pub const MOST_KEYS: u16 = 64;
}

/// What was asked of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCount {
    /// The SecurityGroupId.
    pub id: String,
    /// How often keys were given.
    pub given: u64,
    /// How often somebody was refused them.
    pub refused: u64,
    /// How often keys were set.
    pub set: u64,
}

/// Fills bytes that must not be guessed.
type Random = fn(&mut [u8]);

/// The keys of a group: some that were, the current one, and those to come.
#[derive(Debug)]
struct Ring {
    /// The token of the first.
    first: u32,
    keys: VecDeque<RawKey>,
    /// Where the current one is.
    current: usize,
    /// When the next one is.
    next_at: Instant,
    lifetime: Duration,
    /// Keys are made here, as none were set.
    made: bool,
}

impl Ring {
    fn new(group: &SecurityGroup, random: Random) -> Self {
        let mut ring = Self {
            first: 1,
            keys: VecDeque::new(),
            current: 0,
            next_at: Instant::default() + group.lifetime,
            lifetime: group.lifetime,
            made: true,
        };
        ring.make(group, random);
        ring
    }

    fn make(&mut self, group: &SecurityGroup, random: Random) {
        while self.keys.len() <= self.current + usize::from(group.future) {
            self.keys.push_back(RawKey::made(group.policy, random));
        }
    }

    /// Lets time pass: a token is counted for each lifetime, whether anybody asks or not (8.3.2).
    fn settle(&mut self, group: &SecurityGroup, now: Instant, random: Random) {
        if now < self.next_at {
            return;
        }
        let lifetime = nanos(self.lifetime).max(1);
        let mut steps = 1 + now.nanos_since(self.next_at) / lifetime;
        let there = (self.keys.len() - 1 - self.current) as u64;
        if !self.made {
            // What was set ends with its last key, which stays.
            steps = steps.min(there);
        }
        // Of those that were made, so many are still told as are kept from before.
        if steps > there + u64::from(group.past) {
            self.first = token_after(self.first, self.current as u64 + steps);
            self.keys.clear();
            self.current = 0;
        } else {
            // Fewer than there are keys.
            self.current += usize::try_from(steps).unwrap_or_default();
        }
        if self.made {
            self.make(group, random);
        }
        let passed = Duration::from_nanos(lifetime.saturating_mul(steps));
        self.next_at = self.next_at + passed;
        while self.current > usize::from(group.past) {
            self.keys.pop_front();
            self.first = token_after(self.first, 1);
            self.current -= 1;
        }
    }

    /// So many keys from a token on; of the current one if it is 0, of the oldest if it is not known.
    fn tell(&self, policy: PubSubPolicy, from: u32, count: u32, now: Instant) -> SecurityKeys {
        let known = || (0..self.keys.len()).find(|n| token_after(self.first, *n as u64) == from);
        let at = match from {
            0 => self.current,
            _ => known().unwrap_or(0),
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX).max(1);
        SecurityKeys {
            policy,
            first: token_after(self.first, at as u64),
            keys: self.keys.iter().skip(at).take(count).cloned().collect(),
            to_next: self.next_at.since(now),
            lifetime: self.lifetime,
        }
    }

    /// Takes keys from outside. Those before a token that is known stay, others go (9.1.3.3).
    fn set(&mut self, group: &SecurityGroup, pushed: SecurityKeys, now: Instant) {
        let at = (0..=self.keys.len()).find(|n| token_after(self.first, *n as u64) == pushed.first);
        match at {
            Some(at) => self.keys.truncate(at),
            None => self.keys.clear(),
        }
        if self.keys.is_empty() {
            self.first = pushed.first;
        }
        self.current = self.keys.len();
        self.keys.extend(pushed.keys);
        while self.current > usize::from(group.past) {
            self.keys.pop_front();
            self.first = token_after(self.first, 1);
            self.current -= 1;
        }
        self.lifetime = pushed.lifetime;
        self.next_at = now + pushed.to_next;
        self.made = false;
    }
}

/// A group of this server, with its keys.
#[derive(Debug)]
pub struct Group {
    pub about: SecurityGroup,
    ring: Mutex<Ring>,
    random: Random,
    given: AtomicU64,
    refused: AtomicU64,
    set: AtomicU64,
}

impl Group {
    fn ring(&self, now: Instant) -> MutexGuard<'_, Ring> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.settle(&self.about, now, self.random);
        ring
    }

    /// So many keys from a token on.
    pub fn keys(&self, from: u32, count: u32, now: Instant) -> SecurityKeys {
        self.given.fetch_add(1, Ordering::Relaxed);
        self.ring(now).tell(self.about.policy, from, count, now)
    }

    /// From now on these are its keys.
    pub fn set(&self, pushed: SecurityKeys, now: Instant) {
        self.set.fetch_add(1, Ordering::Relaxed);
        self.ring(now).set(&self.about, pushed, now);
    }

    /// Somebody was told no.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a user may get its keys, who has this name if it is one that is listed.
    pub fn may_get(&self, rights: Rights, user: Option<&str>) -> bool {
        let all = self.about.may_get.as_ref();
        rights.call && all.is_none_or(|all| is_among(all, user))
    }

    /// Whether a user may set them.
    pub fn may_set(&self, rights: Rights, user: Option<&str>) -> bool {
        rights.call && is_among(&self.about.may_set, user)
    }
}

fn is_among(all: &[String], user: Option<&str>) -> bool {
    user.is_some_and(|user| all.iter().any(|it| it == user))
}

/// All groups of a server.
#[derive(Debug, Default)]
pub struct SecurityGroups(Vec<Group>);

impl SecurityGroups {
    /// Makes their first keys.
    pub fn new(all: &[SecurityGroup], random: Random) -> Self {
        let group = |about: &SecurityGroup| Group {
            about: about.clone(),
            ring: Mutex::new(Ring::new(about, random)),
            random,
            given: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            set: AtomicU64::new(0),
        };
        Self(all.iter().map(group).collect())
    }

    /// The group of an id.
    pub fn find(&self, id: &str) -> Option<&Group> {
        self.0.iter().find(|it| it.about.id == id)
    }

    /// What was asked of each.
    pub fn counts(&self) -> Vec<GroupCount> {
        let count = |it: &Group| GroupCount {
            id: it.about.id.clone(),
            given: it.given.load(Ordering::Relaxed),
            refused: it.refused.load(Ordering::Relaxed),
            set: it.set.load(Ordering::Relaxed),
        };
        self.0.iter().map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each key is filled with one more than the one before.
    fn counting(bytes: &mut [u8]) {
        use std::cell::Cell;
        thread_local!(static NEXT: Cell<u8> = const { Cell::new(0) });
        let next = NEXT.get().wrapping_add(1);
        NEXT.set(next);
        bytes.fill(next);
    }

    fn groups(past: u16, future: u16) -> SecurityGroups {
        let about = SecurityGroup {
            lifetime: Duration::from_secs(10),
            past,
            future,
            ..SecurityGroup::new("line4")
        };
        SecurityGroups::new(&[about], counting)
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn firsts(told: &SecurityKeys) -> Vec<u8> {
        told.keys.iter().map(|key| key[0]).collect()
    }

    #[test]
    fn a_key_is_the_current_one_for_its_lifetime_and_is_told_before_and_after() {
        let all = groups(1, 2);
        let group = all.find("line4").unwrap();
        let told = group.keys(0, 9, at(3));
        assert_eq!((told.first, firsts(&told)), (1, vec![1, 2, 3]));
        assert_eq!(told.to_next, Duration::from_secs(7));
        let told = group.keys(0, 9, at(10));
        assert_eq!((told.first, firsts(&told)), (2, vec![2, 3, 4]));
        // One that was, and no more than asked for.
        let told = group.keys(1, 2, at(19));
        assert_eq!((told.first, firsts(&told)), (1, vec![1, 2]));
        // None to come is still the current one.
        let told = group.keys(0, 0, at(19));
        assert_eq!((told.first, firsts(&told)), (2, vec![2]));
        // It is gone: the oldest that there is.
        let told = group.keys(1, 1, at(20));
        assert_eq!((told.first, firsts(&told)), (2, vec![2]));
    }

    #[test]
    fn tokens_count_on_while_nobody_asks() {
        let all = groups(1, 2);
        let group = all.find("line4").unwrap();
        let told = group.keys(0, 1, at(1_000_005));
        assert_eq!(told.first, 100_001);
        assert_eq!(told.to_next, Duration::from_secs(5));
        assert_eq!(told.keys.len(), 1);
        assert!(firsts(&told)[0] > 3, "a key of its own");
    }

    #[test]
    fn the_key_before_is_told_where_none_is_told_beforehand() {
        let all = groups(1, 0);
        let group = all.find("line4").unwrap();
        let told = group.keys(0, 9, at(3));
        assert_eq!((told.first, firsts(&told)), (1, vec![1]));
        let told = group.keys(1, 9, at(10));
        assert_eq!((told.first, firsts(&told)), (1, vec![1, 2]));
        // Nobody asked in the time of the third: it is told to none.
        let told = group.keys(3, 9, at(39));
        assert_eq!((told.first, told.keys.len()), (4, 1));
    }

    #[test]
    fn no_debug_output_has_a_byte_of_a_key() {
        let all = SecurityGroups::new(&[SecurityGroup::new("line4")], |bytes| bytes.fill(171));
        let told = all.find("line4").unwrap().keys(0, 9, at(0));
        assert_eq!(told.keys[0][0], 171);
        for it in [format!("{all:?}"), format!("{told:?}")] {
            assert!(!it.contains("171, 171"), "{it}");
        }
    }

    #[test]
    fn tokens_begin_anew_at_1() {
        assert_eq!(token_after(u32::MAX, 1), 1);
        assert_eq!(token_after(1, u64::from(u32::MAX)), 1);
        assert_eq!(token_after(7, 3), 10);
        assert_eq!(token_after(7, u64::MAX), 7);
    }

    #[test]
    fn keys_that_are_set_take_the_place_of_those_that_were_made() {
        let all = groups(1, 2);
        let group = all.find("line4").unwrap();
        let pushed = |first, keys: &[u8]| SecurityKeys {
            policy: PubSubPolicy::Aes256Ctr,
            first,
            keys: keys.iter().map(|it| RawKey::new(vec![*it; 68])).collect(),
            to_next: Duration::from_secs(2),
            lifetime: Duration::from_secs(5),
        };
        // Not known here: what there was goes.
        group.set(pushed(70, &[200, 201, 202]), at(1));
        let told = group.keys(1, 9, at(1));
        assert_eq!((told.first, firsts(&told)), (70, vec![200, 201, 202]));
        assert_eq!(told.to_next, Duration::from_secs(2));
        let told = group.keys(0, 9, at(3));
        assert_eq!((told.first, firsts(&told)), (71, vec![201, 202]));
        // Known: the one before stays.
        group.set(pushed(72, &[202, 203]), at(5));
        let told = group.keys(71, 9, at(5));
        assert_eq!((told.first, firsts(&told)), (71, vec![201, 202, 203]));
        // The last one stays, however late it is.
        let told = group.keys(0, 9, at(500));
        assert_eq!((told.first, firsts(&told)), (73, vec![203]));
    }

    #[test]
    fn only_those_who_may_get_or_set_keys() {
        let about = SecurityGroup {
            may_get: Some(vec!["alice".into()]),
            may_set: vec!["sks".into()],
            ..SecurityGroup::new("line4")
        };
        let all = SecurityGroups::new(&[about, SecurityGroup::new("open")], counting);
        let group = all.find("line4").unwrap();
        assert!(group.may_get(Rights::ALL, Some("alice")));
        assert!(!group.may_get(Rights::READ_ONLY, Some("alice")));
        assert!(!group.may_get(Rights::ALL, Some("bob")));
        assert!(!group.may_get(Rights::ALL, None));
        assert!(group.may_set(Rights::ALL, Some("sks")));
        assert!(!group.may_set(Rights::ALL, Some("alice")));
        let open = all.find("open").unwrap();
        assert!(open.may_get(Rights::ALL, None));
        assert!(!open.may_get(Rights::NONE, None));
        assert!(!open.may_set(Rights::ALL, None));
    }
}
