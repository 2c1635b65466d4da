//! Why there is no packet link here, and what to do about it.

use std::fs;
use std::io::{self, ErrorKind};

/// Why there is no packet link.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// No user namespace: this user may not make one.
    #[error("cannot make a user namespace: {0}")]
    User(#[source] io::Error),
    /// No network namespace.
    #[error("cannot make a network namespace: {0}")]
    Network(#[source] io::Error),
    /// No TUN device: the kernel has none, or this user may not open it.
    #[error("cannot use {DEVICE}: {0}")]
    Tun(#[source] io::Error),
    /// An interface did not take its addresses or routes.
    #[error("cannot set up the interface of the link: {what}: {source}")]
    Interface {
        /// What it did not take.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The kernel has no such congestion control, or not for namespaces.
    #[error("TCP of a namespace has no congestion control {name} here: {source}")]
    Congestion {
        /// What was asked for.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The server has an address that an end of the link has.
    #[error("the server's address {0} is that of an end of the link")]
    Own(std::net::IpAddr),
    /// The way to the server could not be offered at the far end.
    #[error("cannot listen at the far end of the link: {0}")]
    Listen(#[source] io::Error),
    /// The host has no thread for it.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// What a namespace may choose from; the host's root may choose from more.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Where the kernel gives out TUN devices.
pub(super) const DEVICE: &str = "/dev/net/tun";

impl SetUpError {
    /// What to do about it, as far as it is known.
    pub fn hint(&self) -> Option<String> {
        let what = match self {
            Self::User(_) => match forbidden() {
                Some((setting, allows)) => {
                    format!("{setting} forbids it: as root, `sysctl {allows}`, or run this as root")
                }
                None => "run it as root; in a container, with --cap-add NET_ADMIN and --cap-add SYS_ADMIN".to_owned(),
            },
            Self::Network(error) => match (error.kind(), forbidden()) {
                // The user namespace was made, and gave no rights.
                (ErrorKind::PermissionDenied, Some((setting, allows))) => {
                    format!("{setting} forbids it: as root, `sysctl {allows}`, or run this as root")
                }
                (ErrorKind::PermissionDenied, None) => {
                    "run it as root; in a container, with --cap-add NET_ADMIN and --cap-add SYS_ADMIN".to_owned()
                }
                (ErrorKind::StorageFull, _) => {
                    "user.max_net_namespaces is the limit: as root, `sysctl user.max_net_namespaces=1024`".to_owned()
                }
                _ => "the kernel needs CONFIG_NET_NS".to_owned(),
            },
            Self::Tun(error) => match error.kind() {
                ErrorKind::NotFound => {
                    "as root, `modprobe tun`; in a container, with --device /dev/net/tun".to_owned()
                }
                ErrorKind::PermissionDenied => {
                    "as root, `chmod 0666 /dev/net/tun` (what most distributions have anyway), or run this as root"
                        .to_owned()
                }
                _ => return None,
            },
            Self::Congestion { .. } => {
                let allowed = fs::read_to_string(ALLOWED).ok()?;
                let allowed = allowed.trim();
                format!(
                    "one of: {}; for others, as root, `sysctl net.ipv4.tcp_allowed_congestion_control='{allowed} NAME'`",
                    allowed.replace(' ', ", ")
                )
            }
            _ => return None,
        };
        Some(what)
    }
}

/// The first setting of this kernel that forbids user namespaces, or what they are for, and the value that allows them.
fn forbidden() -> Option<(&'static str, &'static str)> {
    let is = |file: &str, value: &str| fs::read_to_string(file).is_ok_and(|it| it.trim() == value);
    [
        (
            "/proc/sys/kernel/unprivileged_userns_clone",
            "0",
            "kernel.unprivileged_userns_clone=1",
        ),
        (
            "/proc/sys/user/max_user_namespaces",
            "0",
            "user.max_user_namespaces=1024",
        ),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ]
    .into_iter()
    .find(|(file, value, _)| is(file, value))
    .map(|(file, _, allows)| (file, allows))
}
