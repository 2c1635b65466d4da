//! The terminal: taken, drawn on, and given back whatever happens.

use std::io::{self, BufWriter, Stderr, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use judge::Exit;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use report::Style;
use report::watch::{Shown, Stage as At, draw};

use super::keys::Key;
use super::{Inner, Stage, lock};
use crate::interrupt::{self, Taken};
use crate::screen::Out;

/// Between two pictures, unless a key was pressed.
const REDRAW: Duration = Duration::from_millis(200);
/// Keys are looked for this long before it is seen whether anybody is still there.
const LOOK: Duration = Duration::from_millis(40);
/// What a key did is told for so long.
const SAID: Duration = Duration::from_secs(5);

/// Held while something is drawn.
static DRAWING: Mutex<()> = Mutex::new(());

/// A picture takes less than this.
const PICTURE: Duration = Duration::from_millis(200);

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);

type Screen = Terminal<CrosstermBackend<BufWriter<Stderr>>>;

fn take() -> io::Result<Screen> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // What it says would be lost on the other screen.
            restore();
            before(panic);
        }));
    });
    interrupt::before_quitting(Taken::Terminal, restore);
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut out = BufWriter::with_capacity(64 * 1024, io::stderr());
    execute!(out, EnterAlternateScreen, cursor::Hide).inspect_err(|_| restore())?;
    Terminal::new(CrosstermBackend::new(out)).inspect_err(|_| restore())
}

/// Gives the terminal back, if it was taken. May be called from anywhere, and more than once.
fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nothing is drawn on the screen behind ours. Whoever panics while drawing is not waited for.
        let until = Instant::now() + PICTURE;
        let mut drawing = DRAWING.try_lock();
        while drawing.is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
            drawing = DRAWING.try_lock();
        }
        // There is nothing to be done about a terminal that is gone.
        let _ = disable_raw_mode();
        let mut out = io::stderr();
        let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
        let _ = out.flush();
    }
}

/// What the person at the terminal sees beside the figures.
#[derive(Default)]
struct Looks {
    help: bool,
    /// Which of those that run side by side.
    which: usize,
    said: Option<(String, Instant)>,
    interrupted: bool,
}

/// Draws as long as anybody is there.
pub fn show(stage: &'static Stage) {
    let Ok(mut screen) = take() else { return };
    let colour = Out::Error.style() == Style::COLOUR;
    let mut looks = Looks::default();
    let mut next = Instant::now();
    // Once somebody else has given the terminal back, it is not drawn on any more.
    while TAKEN.load(Ordering::SeqCst) {
        let acts: Vec<Arc<Inner>> = lock(&stage.acts).iter().cloned().collect();
        if acts.is_empty() {
            break;
        }
        let now = Instant::now();
        if now >= next {
            next = now + REDRAW;
            let drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
            if !TAKEN.load(Ordering::SeqCst) {
                break;
            }
            if picture(&mut screen, stage, &acts, &mut looks, colour).is_err() {
                break;
            }
            drop(drawing);
        }
        match event::poll(LOOK) {
            Ok(true) => {
                match event::read() {
                    Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                        if let Some(key) = Key::of(key) {
                            pressed(key, &acts, &mut looks);
                        }
                    }
                    Ok(_) => {}
                    Err(_) => break,
                }
                next = Instant::now();
            }
            Ok(false) => {}
            Err(_) => break,
        }
    }
    drop(screen);
    restore();
}

fn pressed(key: Key, acts: &[Arc<Inner>], looks: &mut Looks) {
    let Some(act) = acts.get(looks.which % acts.len().max(1)) else {
        return;
    };
    let (pausable, scalable) = {
        let scene = lock(&act.scene);
        (scene.is_pausable(), scene.is_scalable())
    };
    let said = match key {
        Key::Help => {
            looks.help = !looks.help;
            return;
        }
        Key::Leave => {
            looks.help = false;
            return;
        }
        Key::Next => {
            looks.which = (looks.which + 1) % acts.len().max(1);
            return;
        }
        Key::Interrupt if looks.interrupted => interrupt::quit(Exit::Interrupted),
        Key::Pause | Key::More | Key::Less if !pausable => {
            "this load cannot be paused or added to".to_owned()
        }
        Key::More | Key::Less if !scalable => {
            "each session has one request at a time here: there is nothing to add".to_owned()
        }
        Key::Pause => act.pause().to_owned(),
        Key::More | Key::Less => act.offer(key == Key::More),
        Key::EndPhase => {
            act.control.end_phase();
            "this phase ends: answers that are on their way are awaited".to_owned()
        }
        Key::EndRun => {
            act.control.end_run();
            "the run ends: answers that are on their way are awaited".to_owned()
        }
        Key::Interrupt => {
            looks.interrupted = true;
            act.control.end_run();
            "the run ends; Ctrl-C once more to quit without a result".to_owned()
        }
    };
    looks.said = Some((said, Instant::now()));
}

fn picture(
    screen: &mut Screen,
    stage: &Stage,
    acts: &[Arc<Inner>],
    looks: &mut Looks,
    colour: bool,
) -> io::Result<()> {
    let place = looks.which % acts.len().max(1);
    let Some(act) = acts.get(place) else {
        return Ok(());
    };
    looks.said.take_if(|(_, at)| at.elapsed() > SAID);
    let began = *lock(&act.began);
    let elapsed = began.map_or(Duration::ZERO, |began| began.elapsed());
    let paused = act.control.paused_in(elapsed);
    let length = act.length.map(|length| length.saturating_add(paused));
    let over = act.control.is_over() || length.is_some_and(|length| elapsed >= length);
    let changes = act.control.changes();
    let level = act.control.level();
    let plan = lock(&stage.plan).clone();
    let shown = Shown {
        elapsed: match length {
            Some(length) => elapsed.min(length),
            None => elapsed,
        },
        stage: match (began, over) {
            (_, true) => At::Ending,
            (None, false) => At::Opening,
            (Some(_), false) => At::Running,
        },
        plan: Some(&plan),
        beside: (acts.len() > 1).then_some((place + 1, acts.len())),
        paused: level.paused,
        later: paused,
        percent: (level.percent != 100).then_some(level.percent),
        changes: changes.iter().filter(|it| it.did.changes_load()).count(),
        said: looks.said.as_ref().map(|(said, _)| said.as_str()),
        help: looks.help,
        colour,
    };
    let mut scene = lock(&act.scene);
    screen.draw(|frame| draw(frame, &mut scene, &shown))?;
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, tcgetattr};

    use super::*;

    const PANICS: &str = "quick::stage::terminal::tests::panics_with_the_terminal_taken";

    #[test]
    #[ignore = "takes the terminal and panics; the test below starts it on one of its own"]
    fn panics_with_the_terminal_taken() {
        let _screen = take().unwrap();
        panic!("on purpose");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_says_anything() {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let open = File::options().read(true).write(true).clone();
        let theirs = open.open(name.to_str().unwrap()).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        let mut from = File::from(ours);
        let reading = std::thread::spawn(move || {
            let (mut all, mut part) = (Vec::new(), [0; 4096]);
            // The last of the other ends is closed: an error, on Linux.
            while let Ok(n @ 1..) = from.read(&mut part) {
                all.extend_from_slice(&part[..n]);
            }
            String::from_utf8_lossy(&all).into_owned()
        });
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", PANICS, "--ignored", "--nocapture"])
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .status()
            .unwrap();
        assert!(!status.success());
        let modes = tcgetattr(&theirs).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
        drop(theirs);
        let said = reading.join().unwrap();
        let at = |what: &str| {
            said.find(what)
                .unwrap_or_else(|| panic!("no {what:?}: {said:?}"))
        };
        assert!(at("\x1b[?1049h") < at("\x1b[?1049l"), "{said:?}");
        assert!(at("\x1b[?1049l") < at("on purpose"), "{said:?}");
        assert!(at("\x1b[?25l") < at("\x1b[?25h"), "{said:?}");
    }
}
