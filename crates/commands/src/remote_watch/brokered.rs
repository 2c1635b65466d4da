//! An agent that waits at a broker of NATS and looks at its host for us: it does so as its load.

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fleet::frame::{pack, unpack};
use fleet::{Event, Settings};
use plan::unit::duration::{self, nanos};

use super::messages::{FromWatch, Hello};
use super::piped::{CLOSEST, LATE, Looks, known};
use super::{Known, SamplerHandle, Site};
use crate::fleet::pipe::stamp;
use crate::fleet::{AgentPool, Role, Spec, Task, VERSION, Watches, places, resolved};
use crate::screen::plain;

/// Until it has looked for the first time.
const CONNECTING: Duration = Duration::from_secs(30);

/// Takes it, or of a tag the first that is free, and waits for its first look.
pub fn open(
    site: &Site,
    spec: &Spec,
    what: &str,
    every: Duration,
    handle: SamplerHandle,
) -> Result<(Known, JoinHandle<()>), String> {
    let text = |error: anyhow::Error| format!("{error:#}");
    let every = every.max(CLOSEST);
    let mut named = resolved(std::slice::from_ref(spec)).map_err(text)?;
    named.truncate(1);
    let places = places(&named);
    let from = places
        .first()
        .map_or_else(|| spec.to_string(), |it| it.name.clone());
    // Certificates are those of its host.
    let pool = AgentPool::start(&places, PathBuf::new(), Settings::default());
    let mut line = Line {
        pool: pool.map_err(|error| error.to_string())?,
        looks: Looks::new(handle, every),
    };
    let hello = line.open(what)?;
    let known = known(site, from, hello, every);
    let thread = std::thread::Builder::new().name("listen".into());
    let thread = thread
        .spawn(move || line.listen())
        .map_err(|error| error.to_string())?;
    Ok((known, thread))
}

struct Line {
    pool: AgentPool,
    looks: Looks,
}

impl Line {
    /// What it tells next, within so long.
    fn next(&mut self, within: Duration) -> Result<Option<FromWatch>, String> {
        match self.pool.next(within) {
            None | Some(Some(Event::Over)) => Err("nothing more comes".to_owned()),
            Some(Some(Event::Mismatched { version, .. })) => Err(format!(
                "uaperf there is version {version}, here {VERSION}: install the same one there"
            )),
            Some(Some(Event::Lost { stage, why, .. })) => Err(format!("lost {stage}: {why}")),
            Some(Some(Event::Failed { why, .. })) => Err(plain(&why)),
            Some(Some(Event::Progress { bytes, .. })) => {
                unpack(&bytes).map(Some).map_err(|error| error.to_string())
            }
            // It has ended as it was told, or because there is nothing to look at any more.
            Some(Some(Event::Results { .. })) => Err("it looks no more".to_owned()),
            Some(Some(Event::Gathered | Event::Start { .. }) | None) => Ok(None),
        }
    }

    /// Waits for its clock, has it look, and takes the first look.
    fn open(&mut self, what: &str) -> Result<Hello, String> {
        let until = Instant::now() + CONNECTING;
        let known = |pool: &AgentPool| {
            let standings = pool.standings();
            let exchanges = standings.first().map(|it| it.bands.exchanges());
            exchanges.is_some_and(|it| it >= Settings::default().exchanges)
        };
        let mut asked = false;
        let mut hello = None;
        loop {
            if Instant::now() > until {
                return Err(format!("no answer within {}", duration::show(CONNECTING)));
            }
            match self.next(CLOSEST / 2)? {
                Some(FromWatch::Hello(it)) => hello = Some(it),
                Some(FromWatch::Ended { why }) => return Err(why),
                Some(look) => {
                    self.take(look);
                    return hello.ok_or_else(|| "it did not say who it is".to_owned());
                }
                None => {}
            }
            if !asked && known(&self.pool) {
                asked = true;
                let role = Role::Watch(Watches {
                    what: what.to_owned(),
                    every_ns: nanos(self.looks.every),
                });
                let task = pack(&Task::Role(Box::new(role))).map_err(|error| error.to_string())?;
                let share = self.pool.signed(0, Vec::new(), task);
                let share = share.map_err(|error| format!("{error:#}"))?;
                self.pool.share(vec![(0, share)]);
            }
        }
    }

    fn take(&mut self, look: FromWatch) {
        let standings = self.pool.standings();
        let bands = standings.into_iter().next().map(|it| it.bands);
        // Before anything is known of its clock there are none.
        self.looks.take(look, &bands.unwrap_or_default(), stamp());
    }

    /// Takes what it tells until nobody wants it any more: it ends with a last look.
    fn listen(mut self) {
        let mut over = None::<Instant>;
        while !self.looks.ended && over.is_none_or(|it| it.elapsed() < LATE) {
            match self.next(CLOSEST / 2) {
                Ok(Some(look)) => self.take(look),
                Ok(None) => {}
                Err(_) if over.is_some() => break,
                Err(why) => self.looks.end(why),
            }
            self.looks.miss();
            if self.looks.is_stopped() && over.is_none() {
                over = Some(Instant::now());
                self.pool.stop();
            }
        }
        self.pool.taken(0);
    }
}
