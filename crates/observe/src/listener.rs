//! Whose port that is.

use crate::figure::{Figure, NotAvailable};
use crate::files;

/// The state of a socket that listens, in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// The process that listens on a TCP port of this machine, where this user may see that.
///
/// Linux numbers the sockets of a machine in `/proc/net/tcp`; whoever has a descriptor of that number
/// is the one.
pub fn listener(port: u16) -> Figure<u32> {
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // A machine without IPv6 has no second table.
        if let Ok(text) = files::text(table) {
            let named = text.lines().filter_map(|line| socket(line, port));
            sockets.extend(named.map(|number| format!("socket:[{number}]")));
        }
    }
    if sockets.is_empty() {
        files::text("/proc/net/tcp")?;
        let what = format!("nobody listens on port {port} of this machine");
        return Err(NotAvailable::because(what));
    }
    for id in files::names("/proc")?
        .iter()
        .filter_map(|it| it.parse().ok())
    {
        if has(id, &sockets) {
            return Ok(id);
        }
    }
    let what = format!("port {port} belongs to a process that this user may not look into");
    Err(NotAvailable::because(what))
}

/// The number of the socket that a line of the table is about, if it listens on this port.
fn socket(line: &str, port: u16) -> Option<&str> {
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …
    let mut words = line.split_whitespace().skip(1);
    let local = words.next()?.rsplit(':').next()?;
    let state = words.nth(1)?;
    let number = words.nth(5)?;
    let same = u16::from_str_radix(local, 16).ok()? == port;
    (same && state == LISTENS).then_some(number)
}

fn has(id: u32, sockets: &[String]) -> bool {
    let folder = format!("/proc/{id}/fd");
    // Those of others may not be read, and any of them may end meanwhile.
    let Ok(descriptors) = std::fs::read_dir(folder) else {
        return false;
    };
    descriptors
        .flatten()
        .filter_map(|it| std::fs::read_link(it.path()).ok())
        .any(|it| {
            it.to_str()
                .is_some_and(|it| sockets.iter().any(|socket| socket == it))
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_line_of_the_table_names_its_socket_only_for_its_port_and_while_it_listens() {
        let line = "   3: 0100007F:12E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  \
                    1000        0 424242 1 0000000000000000 100 0 0 10 0";
        assert_eq!(socket(line, 4840), Some("424242"));
        assert_eq!(socket(line, 4841), None);
        assert_eq!(socket(&line.replace(" 0A ", " 01 "), 4840), None);
        assert_eq!(socket("  sl  local_address rem_address   st", 4840), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_of_this_process_is_found_to_be_its_own() {
        let listens = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listens.local_addr().unwrap().port();
        assert_eq!(listener(port), Ok(std::process::id()));
        drop(listens);
        assert!(listener(port).is_err());
    }
}
