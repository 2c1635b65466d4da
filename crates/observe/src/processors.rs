//! Processors by their numbers, as the kernel lists them.

use std::collections::BTreeSet;

use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::tree::Tree;

const STATUS: &str = "/proc/self/status";

/// The processors that this process may use: those it can be pinned to.
pub fn processors() -> Figure<Vec<usize>> {
    allowed(&files::text(STATUS)?)
}

/// The processors that the threads of another process may use, all of them together.
pub fn processors_of(id: u32) -> Figure<Vec<usize>> {
    let mut all: BTreeSet<usize> = allowed(&files::text(&format!("/proc/{id}/status"))?)?
        .into_iter()
        .collect();
    let folder = format!("/proc/{id}/task");
    for thread in files::names(&folder)? {
        // One may have ended meanwhile.
        let status = files::text(&format!("{folder}/{thread}/status"));
        all.extend(status.and_then(|it| allowed(&it)).into_iter().flatten());
    }
    Ok(all.into_iter().collect())
}

/// The processors that the kernel keeps free of what was not put there; none where none were isolated at boot.
pub fn isolated(tree: &Tree) -> Figure<Vec<usize>> {
    // The file is empty when no core is isolated, and that is an answer.
    let list = tree.text("/sys/devices/system/cpu/isolated")?;
    match list.trim() {
        "" => Ok(Vec::new()),
        list => listed(list),
    }
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
