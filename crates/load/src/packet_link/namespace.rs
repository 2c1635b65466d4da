//! Network namespaces: each with a thread that lives in it.

use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use nix::sched::{CloneFlags, unshare};

use super::SetUpError;

/// A network namespace of our own. Sockets and processes that are made [inside](Self::inside) it belong to it;
/// it is gone when the last of them is.
#[derive(Debug)]
pub struct Namespace {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce() + Send>;

impl Namespace {
    /// A namespace with nothing in it but a loopback that is off.
    pub(super) fn new(name: &str) -> Result<Self, SetUpError> {
        let (jobs, waiting) = channel();
        let (tell, told) = channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let made = unshare(CloneFlags::CLONE_NEWNET);
                let lives = made.is_ok();
                let _ = tell.send(made);
                if lives {
                    live(&waiting);
                }
            })
            .map_err(SetUpError::Thread)?;
        let namespace = Self {
            jobs: Some(jobs),
            thread: Some(thread),
        };
        match told.recv() {
            Ok(Ok(())) => Ok(namespace),
            Ok(Err(errno)) => Err(SetUpError::Network(errno.into())),
            Err(_) => Err(SetUpError::Thread(gone())),
        }
    }

    /// Does something in this namespace, on its thread, and waits for it: threads and processes that are
    /// started there are born in the namespace.
    pub fn inside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let (tell, told) = channel();
        let job: Job = Box::new(move || drop(tell.send(job())));
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job).map_err(|_| gone())?;
        told.recv().map_err(|_| gone())
    }

    /// Whether somebody takes TCP connections or datagrams at a port here.
    pub fn listens(&self, port: u16) -> io::Result<bool> {
        self.inside(move || is_open(port))
    }
}

/// Whether one of the calling thread's namespace takes connections or datagrams at a port.
fn is_open(port: u16) -> bool {
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
        let sockets = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
        // A kernel without IPv6 has no table of it, and nobody listens there.
        any_at(&sockets.unwrap_or_default(), table.starts_with("tcp"), port)
    })
}

/// What the state of a TCP socket that listens is called (TCP_LISTEN).
const LISTENS: &str = "0A";

/// Whether a table of sockets has one that is open at a port.
fn any_at(sockets: &str, tcp: bool, port: u16) -> bool {
    sockets.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next().and_then(|it| it.split_once(':'));
        let state = fields.nth(1);
        let at = local.and_then(|(_, at)| u16::from_str_radix(at, 16).ok());
        at == Some(port) && (!tcp || state == Some(LISTENS))
    })
}

fn live(waiting: &Receiver<Job>) {
    while let Ok(job) = waiting.recv() {
        job();
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread of a network namespace ended")
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Linux's numbers of the capabilities that interfaces and namespaces need.
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;

/// Whether this thread may make network namespaces as it is.
pub(super) fn is_privileged() -> bool {
    // Rights that cannot be read are none: whoever asks is told which are needed.
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let capabilities = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|it| u64::from_str_radix(it.trim(), 16).ok())
        .unwrap_or_default();
    capabilities & NET_ADMIN != 0 && capabilities & SYS_ADMIN != 0
}

/// Moves the process into a user namespace of its own, where it may make network namespaces. Its user and
/// group stay what they are; processes that it starts have no more rights than before.
pub(super) fn enter_user_namespace() -> Result<(), SetUpError> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| SetUpError::User(errno.into()))?;
    // Groups can only be mapped by who gives up the right to leave them (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny").map_err(SetUpError::User)?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(SetUpError::User)?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(SetUpError::User)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_is_told_from_who_is_connected() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
                   0: 0200C612:12E8 00000000:0000 0A 00000000:00000000 00:00000000\n   \
                   1: 0200C612:12E9 0100C612:8F2A 01 00000000:00000000 00:00000000\n";
        assert!(any_at(tcp, true, 4840));
        assert!(!any_at(tcp, true, 4841));
        // A datagram socket has one state only.
        assert!(any_at(tcp, false, 4841));
        assert!(!any_at(tcp, false, 4842));
    }

    #[test]
    fn this_process_is_seen_to_listen() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert!(is_open(port));
        drop(socket);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(is_open(socket.local_addr().unwrap().port()));
    }
}
