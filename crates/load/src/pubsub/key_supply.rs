//! Asks a key service again and again, so that there is always a next key.

use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::key_times::{KeyTimes, SecurityKeys};

/// Who tells the keys of a group.
pub trait KeyService: Send {
    /// So many keys from a token on; of the current one if it is 0.
    ///
    /// # Errors
    /// It did not answer, or refused: why.
    fn ask(&mut self, from: u32, count: u32) -> Result<SecurityKeys, String>;
}

/// Keys at a time: the current one and those to come. A listener knows eight, one of them from before.
const AT_A_TIME: u32 = 6;
/// A key service is not asked more often.
const LEAST: Duration = Duration::from_millis(40);
/// After a token that nobody knows, or when it did not answer, it is asked again no sooner, if keys hold long enough.
const AGAIN: Duration = Duration::from_secs(1);

/// Who no longer needs keys waits so long for a question that is under way. It goes on alone then, and ends with it.
const MOMENT: Duration = Duration::from_millis(300);

/// A thread that asks. It ends when this is dropped.
#[derive(Debug)]
pub struct KeySupply {
    times: KeyTimes,
    thread: JoinHandle<()>,
}

impl KeySupply {
    /// Asks for the first time, and goes on asking. A listener wants the key before the current one, too: messages with it
    /// may be on their way.
    ///
    /// # Errors
    /// The key service refuses the current keys, cannot be reached, or says what makes no sense.
    pub fn start(mut service: Box<dyn KeyService>, for_listener: bool) -> Result<Self, String> {
        let times = KeyTimes::default();
        let first = ask(&mut *service, &times)?;
        if for_listener && first > 1 {
            // Without it a listener misses little: a key service need not tell what is over.
            if let Err(why) = ask_past(&mut *service, &times, first - 1) {
                tracing::warn!(why, "the key before the current one is not told");
            }
        }
        let asked = times.clone();
        let thread = std::thread::Builder::new().name("keys".into());
        let thread = thread.spawn(move || keep_supplied(service, &asked));
        Ok(Self {
            times,
            thread: thread.map_err(|error: io::Error| error.to_string())?,
        })
    }

    /// The keys, as they are known from moment to moment.
    pub fn times(&self) -> KeyTimes {
        self.times.clone()
    }
}

impl Drop for KeySupply {
    fn drop(&mut self) {
        self.times.end();
        let until = Instant::now() + MOMENT;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(MOMENT / 100);
        }
    }
}

/// Asks for the current keys; gives the token of the current one.
fn ask(service: &mut dyn KeyService, times: &KeyTimes) -> Result<u32, String> {
    let mut told = service.ask(0, AT_A_TIME)?;
    if told.keys.is_empty() {
        return Err("the key service told no keys".to_owned());
    }
    if told.lifetime.is_zero() {
        return Err("the key service told a KeyLifetime of 0".to_owned());
    }
    told.keys.truncate(AT_A_TIME as usize);
    let taken = times.take(&told, Instant::now());
    taken.map_err(|error| error.to_string())?;
    Ok(told.first)
}

/// Asks for one key that was current before.
fn ask_past(service: &mut dyn KeyService, times: &KeyTimes, token: u32) -> Result<(), String> {
    let mut told = service.ask(token, 1)?;
    told.keys.truncate(1);
    times.take_past(&told).map_err(|error| error.to_string())
}

fn keep_supplied(mut service: Box<dyn KeyService>, times: &KeyTimes) {
    // Keys that have ended are asked for at once.
    let mut pause = times.next_ask(Instant::now()).unwrap_or_default();
    loop {
        let least = AGAIN.min(times.lifetime() / 2).max(LEAST);
        if times.wait(least, pause.max(LEAST)).is_none() {
            return;
        }
        pause = match ask(&mut *service, times) {
            Ok(_) => times.next_ask(Instant::now()).unwrap_or(least),
            Err(why) => {
                tracing::warn!(why, "no security keys");
                times.failed(why);
                least
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pubsub::RawKey;
    use pubsub::security::PubSubPolicy;

    const LIFETIME: Duration = Duration::from_millis(400);

    /// Tells the current key and no other, as one without future keys does.
    struct OneKey(Instant);

    impl KeyService for OneKey {
        fn ask(&mut self, _: u32, _: u32) -> Result<SecurityKeys, String> {
            let passed = self.0.elapsed().as_millis();
            let lifetime = LIFETIME.as_millis();
            let n = u8::try_from(passed / lifetime).unwrap();
            let left = u64::try_from(lifetime - passed % lifetime).unwrap();
            Ok(SecurityKeys {
                policy: PubSubPolicy::Aes256Ctr,
                first: u32::from(n) + 1,
                keys: vec![RawKey::new(vec![n; 68])],
                to_next: Duration::from_millis(left),
                lifetime: LIFETIME,
            })
        }
    }

    /// Has nothing from before, and takes its time for what comes behind the first question.
    struct Slow(bool);

    impl KeyService for Slow {
        fn ask(&mut self, from: u32, _: u32) -> Result<SecurityKeys, String> {
            if from != 0 {
                return Err("refused".to_owned());
            }
            if std::mem::replace(&mut self.0, true) {
                std::thread::sleep(Duration::from_secs(5));
            }
            Ok(SecurityKeys {
                policy: PubSubPolicy::Aes256Ctr,
                first: 7,
                keys: vec![RawKey::new(vec![7; 68])],
                to_next: Duration::from_millis(1),
                lifetime: LIFETIME,
            })
        }
    }

    #[test]
    fn a_listener_goes_on_without_the_key_before_and_ends_while_it_asks() {
        let supply = KeySupply::start(Box::new(Slow(false)), true).unwrap();
        let current = supply.times().current(Instant::now()).unwrap();
        assert_eq!(current.token, 7);
        std::thread::sleep(LIFETIME);
        let begun = Instant::now();
        drop(supply);
        assert!(begun.elapsed() < Duration::from_secs(3));
    }

    #[test]
    fn a_service_that_tells_one_key_is_asked_when_it_ends() {
        let begun = Instant::now();
        // Half a lifetime before the end there is no next key yet, nor is one asked for in time from there on.
        let supply = KeySupply::start(Box::new(OneKey(begun)), false).unwrap();
        for n in 1..=3 {
            std::thread::sleep((begun + n * LIFETIME + LIFETIME / 4) - Instant::now());
            let current = supply.times().current(Instant::now()).unwrap();
            assert_eq!(current.token, n + 1);
        }
    }
}
