//! A broker for the demo: a mosquitto of its own, if this machine has one.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::serving::ChildGuard;

/// A broker that runs until this is dropped.
pub struct Broker {
    _process: ChildGuard,
    /// Where it is.
    pub at: SocketAddr,
}

/// Where programs lie that run as services, which is not where a user's `PATH` looks.
const PLACES: [&str; 4] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/sbin",
    r"C:\Program Files\mosquitto",
];

/// It begins to listen in this time.
const PATIENCE: Duration = Duration::from_secs(5);

impl Broker {
    /// Starts one on a free port of the loopback; its files are in `folder`. Else why there is none.
    pub fn start(folder: &Path) -> Result<Self, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).chain(PLACES.iter().map(PathBuf::from));
        let program = found(places).ok_or("this machine has no mosquitto")?;
        Self::of(&program, folder)
    }

    fn of(program: &Path, folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", program.display());
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let at = free.local_addr().map_err(failed)?;
        drop(free);
        let (config, log) = (folder.join("mosquitto.conf"), folder.join("mosquitto.log"));
        std::fs::write(&config, settings(at)).map_err(failed)?;
        let said = File::create(&log).map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("-c").arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = ChildGuard::start({
            command.stderr(said);
            command
        });
        let process = process.map_err(failed)?;
        let since = Instant::now();
        while TcpStream::connect(at).is_err() {
            let why = match process.is_running() {
                true if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
                true => "does not listen".to_owned(),
                false => {
                    // That it ended is said without its log as well.
                    let said = std::fs::read_to_string(&log).unwrap_or_default();
                    format!(
                        "ended: {}",
                        said.lines().last().unwrap_or("it says nothing")
                    )
                }
            };
            return Err(format!("{} {why}", program.display()));
        }
        Ok(Self {
            _process: process,
            at,
        })
    }
}

/// For programs of this machine only. It sends what it has at once, and does not wait for acknowledgements of TCP: so its
/// delays are its own.
fn settings(at: SocketAddr) -> String {
    format!(
        "listener {} {}\nallow_anonymous true\nset_tcp_nodelay true\n",
        at.port(),
        at.ip()
    )
}

/// The first that there is.
fn found(places: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let name = format!("mosquitto{}", std::env::consts::EXE_SUFFIX);
    places.map(|it| it.join(&name)).find(|it| it.is_file())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_one_has_none_and_one_that_ends_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        assert_eq!(found([empty.clone()].into_iter()), None);
        let program = folder
            .path()
            .join(format!("mosquitto{}", std::env::consts::EXE_SUFFIX));
        std::fs::write(
            &program,
            "#!/bin/sh\necho first >&2\necho 'no room' >&2\nexit 3\n",
        )
        .unwrap();
        let places = [empty, folder.path().to_owned()];
        assert_eq!(found(places.into_iter()), Some(program.clone()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let why = Broker::of(&program, folder.path()).err().unwrap();
            assert!(why.ends_with("mosquitto ended: no room"), "{why}");
        }
    }
}
