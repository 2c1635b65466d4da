//! Asks a key service again and again, so that there is always a next key.

use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::key_times::{KeyTimes, Told};

/// Who tells the keys of a group.
pub trait KeyService: Send {
    /// So many keys from a token on; of the current one if it is 0.
    ///
    /// # Errors
    /// It did not answer, or refused: why.
    fn ask(&mut self, from: u32, count: u32) -> Result<Told, String>;
}

/// Keys at a time: the current one and those to come. A listener knows eight, one of them from before.
const AT_A_TIME: u32 = 6;
/// A key service is not asked more often.
const LEAST: Duration = Duration::from_millis(40);
/// After a token that nobody knows, or when it did not answer, it is asked again no sooner, if keys hold long enough.
const AGAIN: Duration = Duration::from_secs(1);

/// A thread that asks. It ends when this is dropped.
#[derive(Debug)]
pub struct KeySupply {
    times: KeyTimes,
    thread: Option<JoinHandle<()>>,
}

impl KeySupply {
    /// Asks for the first time, and goes on asking. A listener wants the key before the current one, too: messages with it
    /// may be on their way.
    ///
    /// # Errors
    /// The key service refuses, cannot be reached, or says what makes no sense.
    pub fn start(mut service: Box<dyn KeyService>, for_listener: bool) -> Result<Self, String> {
        let times = KeyTimes::default();
        let first = ask(&mut *service, &times)?;
        if for_listener && first > 1 {
            let told = service.ask(first - 1, 1)?;
            times.take_past(&told).map_err(|error| error.to_string())?;
        }
        let asked = times.clone();
        let thread = std::thread::Builder::new().name("keys".into());
        let thread = thread.spawn(move || go_on(service, &asked));
        Ok(Self {
            times,
            thread: Some(thread.map_err(|error: io::Error| error.to_string())?),
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
        if let Some(thread) = self.thread.take() {
            // One that panicked asks no more.
            let _ = thread.join();
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

fn go_on(mut service: Box<dyn KeyService>, times: &KeyTimes) {
    let mut pause = times.lifetime() / 2;
    loop {
        // Part 14, 8.3.2: it is asked at half the lifetime of a key.
        let least = AGAIN.min(times.lifetime() / 2).max(LEAST);
        if times.wait(least, pause.max(LEAST)).is_none() {
            return;
        }
        pause = match ask(&mut *service, times) {
            Ok(_) => times.lifetime() / 2,
            Err(why) => {
                tracing::warn!(why, "no security keys");
                times.failed(why);
                least
            }
        };
    }
}
