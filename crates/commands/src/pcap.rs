//! `--pcap`: what goes over the connections of a command, as a capture with the keys of its channels.
//!
//! A process has one capture at most, whichever of its parts open connections. It is begun before the first one and
//! finished when the command has ended.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use capture::{Outcome, Recorder, Recording};
use plan::unit::Bytes;

use crate::failure::Failure;
use crate::screen::tell;
use crate::{lost, written};

/// Whether connections are recorded.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "capture")]
#[command(next_help_heading = "Capture")]
pub struct Args {
    /// Write what connections carry as TCP segments into FILE (pcapng), for Wireshark; the keys of encrypted
    /// channels too, and into FILE.keys
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// The capture ends before it is longer than this
    #[arg(long, value_name = "SIZE", default_value = "1GiB", requires = "pcap")]
    pcap_max: Bytes,
}

/// A capture that is being written.
struct Open {
    recording: Recording,
    file: PathBuf,
    most: Bytes,
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

impl Args {
    /// Whether connections are recorded.
    pub fn is_asked(&self) -> bool {
        self.pcap.is_some()
    }

    /// The file, with the option that names it.
    pub fn named(&self) -> (&'static str, &Option<PathBuf>) {
        (OPTION, &self.pcap)
    }

    /// What records connections, if anything does: of a capture that was begun before, or that begins now.
    pub fn begin(&self) -> Result<Option<Recorder>, Failure> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(file)) = (&*open, &self.pcap) {
            *open = Some(begin(file, self.pcap_max)?);
        }
        Ok(open.as_ref().map(|it| it.recording.recorder().clone()))
    }
}

const OPTION: &str = "--pcap";

/// What is said of figures meanwhile.
pub const NOTE: &str =
    "what the connections carried was recorded (--pcap), which took time of the same processors";

/// What records connections of whoever has no such option.
pub fn recorder() -> Option<Recorder> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.as_ref().map(|it| it.recording.recorder().clone())
}

fn begin(file: &Path, most: Bytes) -> Result<Open, Failure> {
    let shown = file.display();
    if written::is_output(file) {
        let what = format!("{OPTION} {shown}: a capture goes into a file or a named pipe");
        return Err(Failure::usage(what).hint(format!("{OPTION} run.pcapng")));
    }
    if file.is_dir() {
        let what = format!("{OPTION} {shown}: that is a folder (want the name of a file)");
        return Err(Failure::usage(what));
    }
    let cannot = |file: &Path| {
        let file = file.to_owned();
        move |error: io::Error| written::cannot(OPTION, &file, &error)
    };
    let keys = keys_of(file);
    // The keys first: opening a named pipe waits for its reader.
    let secrets = create(&keys).map_err(cannot(&keys))?;
    let capture = create(file).map_err(cannot(file))?;
    let recording = Recording::start(capture, secrets, most.0).map_err(cannot(file))?;
    tell!(
        "warning: {shown} and {} get the keys of this command's channels (no private key): whoever has them can read \
         what was sent, passwords in it too",
        keys.display()
    );
    Ok(Open {
        recording,
        file: file.to_owned(),
        most,
    })
}

/// Where the keys go: beside the capture.
fn keys_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".keys");
    name.into()
}

/// An empty file that only its owner may read, also if it was there before.
fn create(file: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    let made = platform::file::private(&mut options).open(file)?;
    platform::file::keep_private(&made)?;
    Ok(made)
}

/// Writes the rest of the capture, if there is one, and says what is not in it.
pub fn finish() {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Open {
        recording,
        file,
        most,
    }) = open
    else {
        return;
    };
    let Outcome {
        missed,
        full,
        error,
        key_error,
        ..
    } = recording.finish();
    let shown = file.display();
    let missing = Bytes(missed);
    if let Some(error) = error {
        let what = format!(
            "{OPTION} {shown}: cannot be written to the end: {error}; {missing} of what was sent and received are missing"
        );
        lost::add(
            Failure::new(what)
                .hint("write it to a disk with more space, or limit it with --pcap-max"),
        );
    } else if full {
        tell!(
            "warning: {OPTION} {shown}: ended at --pcap-max {}; {missing} that came later are not in it",
            most.typed()
        );
    } else if missed > 0 {
        tell!(
            "warning: {OPTION} {shown}: the disk was too slow: {missing} are not in it, which Wireshark shows as segments \
             that were not captured"
        );
    }
    if let Some(error) = key_error {
        let keys = keys_of(&file);
        lost::add(written::cannot(OPTION, &keys, &error));
    }
}
