//! A publisher in a process of its own, and its side of the pipes to who started it.

use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use load::pubsub::Published;
use zeroize::Zeroizing;

use super::keys::{self, Keys};
use crate::screen;

/// What it writes when it may be given its keys.
pub const READY: &str = "READY";

/// What it writes when the first cycle begins, with that time in nanoseconds since 1970.
pub const BEGUN: &str = "BEGUN";

/// Says that the first cycle begins, and when.
pub fn begun(at_ns: u64) {
    // A parent that is gone ends this process soon.
    let _ = writeln!(screen::out(), "{BEGUN} {at_ns}");
}

/// Says that it may be given what it has to know.
pub fn ready() -> anyhow::Result<()> {
    let mut out = screen::out();
    writeln!(out, "{READY}")?;
    Ok(out.flush()?)
}

/// The secret of who logs in: the first line of standard input.
pub fn secret() -> anyhow::Result<Zeroizing<String>> {
    let mut line = Zeroizing::new(String::new());
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(Zeroizing::new(
        line.trim_end_matches(['\r', '\n']).to_owned(),
    ))
}

/// Keys from standard input, up to an empty line. What is published begins behind them.
pub fn keys() -> anyhow::Result<Keys> {
    let mut text = Zeroizing::new(String::new());
    let mut input = std::io::stdin().lock();
    loop {
        let before = text.len();
        input.read_line(&mut text)?;
        if text.get(before..).unwrap_or_default().trim().is_empty() {
            break;
        }
    }
    match text.trim().is_empty() {
        true => Ok(Keys::new()),
        false => Ok(keys::parse(&text, Path::new("standard input"))?),
    }
}

/// Is set when whoever started this process ends it, or has ended.
pub fn end() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::Relaxed);
    });
    stop
}

/// Writes what was published, and waits to be ended: until then it can be seen what this process took.
pub fn tell(published: &Published, stop: &AtomicBool) -> anyhow::Result<()> {
    let mut out = screen::out();
    serde_json::to_writer(&mut out, published)?;
    writeln!(out)?;
    out.flush()?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
