//! Processors by their numbers, as the kernel lists them.

use crate::figure::{Figure, NotAvailable};
use crate::files;

const STATUS: &str = "/proc/self/status";

/// The processors that this process may use: those it can be pinned to.
pub fn processors() -> Figure<Vec<usize>> {
    allowed(&files::text(STATUS)?)
}

/// The processors that another process may use.
pub fn processors_of(id: u32) -> Figure<Vec<usize>> {
    allowed(&files::text(&format!("/proc/{id}/status"))?)
}

fn allowed(status: &str) -> Figure<Vec<usize>> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.ok_or_else(|| NotAvailable::because(format!("{STATUS} has no Cpus_allowed_list")))
        .and_then(listed)
}

/// The processors that a list such as `0-3,8` names.
pub(crate) fn listed(list: &str) -> Figure<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<usize>(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => all.extend(first..=last),
            _ => return Err(NotAvailable::because(format!("no list of CPUs: {list:?}"))),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_numbers_and_ranges() {
        assert_eq!(listed("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(listed("0"), Ok(vec![0]));
        assert!(listed("3-0").is_err());
        assert!(listed("").is_err());
    }

    #[test]
    fn what_a_process_may_use_stands_in_its_status() {
        let status = "Name:\tuaperf\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n";
        assert_eq!(allowed(status), Ok(vec![0, 2]));
        assert!(allowed("Name:\tuaperf\n").is_err());
    }
}
