//! Processes: how they are started, ended, told apart and watched.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Ctrl-C on the terminal is for this process, and not for the one that is started so.
pub fn apart(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
        std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
    }
    command
}

/// In the place of this process, so that Ctrl-C and the exit code are the command's own; beside it where that cannot be.
pub fn become_command(command: &mut Command) -> io::Result<ExitCode> {
    #[cfg(unix)]
    return Err(std::os::unix::process::CommandExt::exec(command));
    #[cfg(not(unix))]
    {
        let code = command.status()?.code();
        let code = code.and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(1)))
    }
}

/// Asks a process to end, as a service manager does. False where nobody can be asked: it has to be ended then.
pub fn terminate(id: u32) -> bool {
    signal::terminate(id)
}

/// Asks a process to end, as Ctrl-C does. False where nobody can be asked.
pub fn interrupt(id: u32) -> bool {
    signal::interrupt(id)
}

/// Ends a process that does not end when it is asked to. False where that takes its handle.
pub fn kill(id: u32) -> bool {
    signal::kill(id)
}

/// How many descriptors this process may have open, and what it may raise that to by itself.
pub fn descriptors() -> io::Result<(u64, u64)> {
    limit::descriptors()
}

/// Lets this process have so many descriptors open.
pub fn set_descriptors(soft: u64) -> io::Result<()> {
    limit::set_descriptors(soft)
}

/// How large a page of memory is, where the system says it in a way that safe code can ask.
pub fn page_bytes() -> Option<u64> {
    #[cfg(unix)]
    return u64::try_from(rustix::param::page_size()).ok();
    #[cfg(not(unix))]
    None
}

/// Makes an input for a process that is to outlive this one: it ends when the last process has closed it that has it, and
/// nothing comes by it before.
pub fn lasting_input(at: &Path) -> io::Result<File> {
    imp::lasting_input(at)
}

/// What the name of a program ends with, and is not typed.
pub const ENDINGS: &[&str] = if cfg!(windows) {
    &["exe", "cmd", "bat"]
} else {
    &[""]
};

/// What shows a file as the user's desktop does: a program, and what stands before the file.
pub const OPENER: (&str, &[&str]) = if cfg!(target_os = "macos") {
    ("open", &[])
} else if cfg!(windows) {
    ("cmd", &["/C", "start", ""])
} else {
    ("xdg-open", &[])
};

/// Processor time of a process; an error that is `NotFound` if there is none with this id.
pub fn cpu_of(id: u32) -> io::Result<Duration> {
    imp::cpu_of(id)
}

/// When a process started, in whatever unit the system counts: with its id, this names it for good. None when there is no
/// such process (or it has ended and nobody asked for its status).
pub fn started(id: u32) -> Option<String> {
    imp::started(id)
}

/// A process that is looked at again and again, and for which none is taken that was given its id later.
#[derive(Debug)]
pub struct Watched(imp::Watched);

/// What a process has spent and has, up to a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Processor time of all threads, those that have ended too.
    pub cpu: Duration,
    /// Memory in RAM, where the system says.
    pub rss_bytes: Option<u64>,
    /// Open descriptors or handles, where the system says.
    pub descriptors: Option<u64>,
}

impl Watched {
    /// Of this id; an error that is `NotFound` if there is none.
    pub fn of(id: u32) -> io::Result<Self> {
        imp::Watched::of(id).map(Self)
    }

    /// How it stands now; an error that is `NotFound` once it has ended.
    pub fn look(&mut self) -> io::Result<Look> {
        self.0.look()
    }
}

fn gone(id: u32) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("no process has the id {id}"),
    )
}

#[cfg(unix)]
mod signal {
    use rustix::process::{Pid, Signal, kill_process};

    pub fn terminate(id: u32) -> bool {
        send(id, Signal::TERM)
    }

    pub fn interrupt(id: u32) -> bool {
        send(id, Signal::INT)
    }

    pub fn kill(id: u32) -> bool {
        send(id, Signal::KILL)
    }

    fn send(id: u32, signal: Signal) -> bool {
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }
}

#[cfg(not(unix))]
mod signal {
    pub fn terminate(_: u32) -> bool {
        false
    }

    pub fn interrupt(_: u32) -> bool {
        false
    }

    pub fn kill(_: u32) -> bool {
        false
    }
}

#[cfg(unix)]
mod limit {
    use std::io;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    // A limit that is none is as much as a number can be.
    pub fn descriptors() -> io::Result<(u64, u64)> {
        let limit = getrlimit(Resource::Nofile);
        let or_all = |it: Option<u64>| it.unwrap_or(u64::MAX);
        Ok((or_all(limit.current), or_all(limit.maximum)))
    }

    pub fn set_descriptors(soft: u64) -> io::Result<()> {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let current = Some(soft).filter(|it| *it != u64::MAX);
        Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
    }
}

#[cfg(not(unix))]
mod limit {
    use std::io;

    pub fn descriptors() -> io::Result<(u64, u64)> {
        let what = "this system has no limit of sockets that a program could ask for";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub fn set_descriptors(_: u64) -> io::Result<()> {
        descriptors().map(drop)
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;
    use std::time::Duration;

    use nix::time::{clock_getcpuclockid, clock_gettime};
    use nix::unistd::Pid;

    use super::{Look, gone};

    #[derive(Debug)]
    pub struct Watched {
        id: u32,
        started: String,
    }

    impl Watched {
        pub fn of(id: u32) -> io::Result<Self> {
            let started = started(id).ok_or_else(|| gone(id))?;
            Ok(Self { id, started })
        }

        pub fn look(&mut self) -> io::Result<Look> {
            let cpu = cpu_of(self.id)?;
            let folder = format!("/proc/{}", self.id);
            let status = fs::read_to_string(format!("{folder}/status"))?;
            // One that is ending has no memory any more, and no such line.
            let rss = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
            let rss = rss.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok());
            let descriptors = fs::read_dir(format!("{folder}/fd")).ok();
            match started(self.id).is_some_and(|it| it == self.started) {
                true => Ok(Look {
                    cpu,
                    rss_bytes: rss.map(|it| it * 1024),
                    descriptors: descriptors.map(|it| it.count() as u64),
                }),
                false => Err(gone(self.id)),
            }
        }
    }

    pub fn cpu_of(id: u32) -> io::Result<Duration> {
        let pid = i32::try_from(id).map_err(|_| gone(id))?;
        let clock = clock_getcpuclockid(Pid::from_raw(pid)).map_err(|_| gone(id))?;
        Ok(clock_gettime(clock)?.into())
    }

    pub fn lasting_input(at: &Path) -> io::Result<File> {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0)?;
        // Who has a FIFO open in both directions holds it open for itself.
        File::options().read(true).write(true).open(at)
    }

    pub fn started(id: u32) -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // proc(5): the name stands in parentheses and may contain any character, so fields are
        // counted from behind it; state is the third field, starttime the 22nd.
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
        let alive = fields.next().is_some_and(|state| state != "Z");
        let start = fields.nth(18)?.to_owned();
        alive.then_some(start)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::fs::File;
    use std::io;
    use std::path::Path;
    use std::time::Duration;

    use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System};

    use super::{Look, gone};

    #[derive(Debug)]
    pub struct Watched {
        system: System,
        id: u32,
        started: u64,
    }

    impl Watched {
        pub fn of(id: u32) -> io::Result<Self> {
            let mut system = System::new();
            let started = process(&mut system, id).map(Process::start_time);
            let started = started.ok_or_else(|| gone(id))?;
            Ok(Self {
                system,
                id,
                started,
            })
        }

        pub fn look(&mut self) -> io::Result<Look> {
            let started = self.started;
            let process = process(&mut self.system, self.id);
            let process = process.filter(|it| it.start_time() == started);
            let process = process.ok_or_else(|| gone(self.id))?;
            Ok(Look {
                cpu: Duration::from_millis(process.accumulated_cpu_time()),
                rss_bytes: Some(process.memory()),
                descriptors: process.open_files().map(|it| it as u64),
            })
        }
    }

    fn process(system: &mut System, id: u32) -> Option<&Process> {
        let pid = Pid::from_u32(id);
        let wanted = ProcessRefreshKind::nothing().with_cpu().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, wanted);
        system.process(pid)
    }

    pub fn cpu_of(id: u32) -> io::Result<Duration> {
        Ok(Watched::of(id)?.look()?.cpu)
    }

    pub fn lasting_input(_: &Path) -> io::Result<File> {
        let what = "processes are left running in the background on Linux only";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub fn started(id: u32) -> Option<String> {
        let mut system = System::new();
        Some(process(&mut system, id)?.start_time().to_string())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Stdio;
    use std::time::Instant;

    use super::*;

    /// This test again, as a process that waits until its input ends.
    fn waiting() -> std::process::Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "process::tests::waits_for_its_input",
                "--nocapture",
            ])
            .env("PLATFORM_TEST_WAITS", "yes")
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        apart(&mut command).spawn().unwrap()
    }

    #[test]
    fn waits_for_its_input() {
        if std::env::var_os("PLATFORM_TEST_WAITS").is_some() {
            io::stdin().read_line(&mut String::new()).unwrap();
        }
    }

    fn soon(is_so: impl FnMut() -> bool) -> bool {
        let began = Instant::now();
        let mut is_so = is_so;
        while began.elapsed() < Duration::from_secs(60) {
            if is_so() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    #[test]
    fn a_process_is_told_from_others_and_is_gone_when_it_has_ended() {
        let own = started(std::process::id()).unwrap();
        assert_eq!(started(std::process::id()), Some(own));
        let mut child = waiting();
        let mut watched = Watched::of(child.id()).unwrap();
        let look = watched.look().unwrap();
        assert!(
            soon(|| watched.look().unwrap().rss_bytes > Some(100_000)),
            "{look:?}"
        );
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(watched.look().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(started(child.id()), None);
    }

    #[test]
    fn a_process_that_is_not_there_has_spent_nothing_that_is_known() {
        let error = cpu_of(u32::MAX - 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    }

    #[test]
    fn descriptors_are_limited_where_there_is_such_a_limit() {
        match descriptors() {
            Ok((soft, hard)) => {
                assert!(soft > 0 && soft <= hard);
                set_descriptors(soft).unwrap();
                assert_eq!(descriptors().unwrap(), (soft, hard));
            }
            Err(error) => {
                let limited = [crate::System::Linux, crate::System::MacOs];
                assert!(!limited.contains(&crate::System::HERE));
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_input_that_lasts_does_not_end_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let input = lasting_input(&folder.path().join("input")).unwrap();
        let mut child = Command::new("cat")
            .stdin(input.try_clone().unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop(input);
        std::thread::sleep(Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none());
        assert!(kill(child.id()));
        child.wait().unwrap();
    }

    #[test]
    fn memory_that_is_held_is_seen() {
        let mut own = Watched::of(std::process::id()).unwrap();
        let before = own.look().unwrap().rss_bytes.unwrap();
        let held = vec![1u8; 64 << 20];
        let with = own.look().unwrap().rss_bytes.unwrap();
        assert!(with >= before + (32 << 20), "{before} {with}");
        assert!(held.iter().all(|it| *it == 1));
    }

    #[test]
    fn a_process_that_is_asked_to_end_ends_where_it_can_be_asked() {
        let mut child = waiting();
        // Who was started in the background of a shell may ignore what Ctrl-C sends, and its children with it.
        assert_eq!(interrupt(child.id()), cfg!(unix));
        assert_eq!(terminate(child.id()), cfg!(unix));
        if cfg!(not(unix)) {
            child.kill().unwrap();
        }
        let mut code = None;
        assert!(soon(|| {
            code = child.try_wait().unwrap();
            code.is_some()
        }));
        assert!(!code.unwrap().success());
        assert!(!terminate(u32::MAX) && !interrupt(u32::MAX));
    }
}
