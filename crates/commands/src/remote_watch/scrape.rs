//! A page of an exporter for Prometheus, read again and again.

use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use observe::{ExportedFigures, Page};
use revocation::{Address, exchange};

use super::{Event, Known, Point, SamplerHandle, Site};
use crate::screen::plain;

/// Exporters look at their machine when they are asked, which costs it: so often at most.
pub const CLOSEST: Duration = Duration::from_secs(1);
/// An answer has to be there after so long.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// Of a page: that of a machine with hundreds of containers has some megabytes.
const LONGEST: usize = 16 << 20;

/// Reads it once, and goes on.
pub fn open(
    site: &Site,
    page: &Address,
    name: Option<&str>,
    every: Duration,
    handle: SamplerHandle,
) -> Result<(Known, JoinHandle<()>), String> {
    let every = every.max(CLOSEST);
    let (told, point) = look(page, name, every)?;
    let known = Known {
        name: match &told.name {
            Some(name) => format!("{} at {}", plain(name), page.host),
            None => page.host.clone(),
        },
        from: site.to_string(),
        by: plain(&told.by),
        is_host: told.name.is_none(),
        pid: None,
        machine: None,
        every,
    };
    handle.tell(point);
    let (page, name) = (page.clone(), name.map(str::to_owned));
    let thread = std::thread::Builder::new().name("scrape".into());
    let thread = thread
        .spawn(move || scrape_until(&page, name.as_deref(), every, &handle))
        .map_err(|error| error.to_string())?;
    Ok((known, thread))
}

fn scrape_until(page: &Address, name: Option<&str>, every: Duration, handle: &SamplerHandle) {
    let mut next = Instant::now() + every;
    loop {
        // A look that would come late is left out, so that those that come stay at their times.
        let now = Instant::now();
        while next <= now {
            next += every;
        }
        let wait = next.saturating_duration_since(now);
        // Anything but a timeout ends it.
        let goes_on = handle.stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
        match look(page, name, every) {
            Ok((_, point)) => handle.tell(point),
            Err(why) => handle.gap(why),
        }
        if !goes_on {
            return;
        }
    }
}

fn look(
    page: &Address,
    name: Option<&str>,
    every: Duration,
) -> Result<(ExportedFigures, Event), String> {
    let began = Instant::now();
    let (least, most) = PATIENCE;
    let until = began + every.clamp(least, most);
    let bytes = exchange(page, None, LONGEST, until)?;
    // It was found between question and answer.
    let at = began + began.elapsed() / 2;
    let text = std::str::from_utf8(&bytes).map_err(|_| "the page is no text".to_owned())?;
    let told = Page::parse(text).and_then(|page| page.tell(name));
    let mut told = told.map_err(|why| plain(why.reason()))?;
    for link in told.totals.links.iter_mut().flatten() {
        link.name = plain(&link.name);
    }
    let point = Event::Point(Box::new(Point {
        at,
        error: at.duration_since(began),
        clock_ns: told.clock_ns,
        totals: told.totals.clone(),
        cost_ns: None,
    }));
    Ok((told, point))
}
