//! Why something is not counted, and what mends it.

use nix::errno::Errno;

use super::super::Event;
use crate::figure::NotAvailable;
use crate::tree::Tree;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct CounterRequest {
    pub event: Event,
    /// Threads of the process: each needs a descriptor for each event.
    pub threads: usize,
    /// Whether it was asked for without the kernel, because that was not allowed.
    pub user_only: bool,
}

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// What makes counting allowed. 1 is enough for processes of the same user, and for the kernel's part.
const CURE: &str = "run as root, or `sudo sysctl kernel.perf_event_paranoid=1`, or `sudo setcap cap_perfmon+ep` the program; \
                    in a container it needs --cap-add PERFMON and a seccomp profile with perf_event_open";

/// From what the kernel answered to `perf_event_open(2)`.
pub(super) fn refused(tree: &Tree, asked: &CounterRequest, errno: Errno) -> NotAvailable {
    let level = || match tree.line(PARANOID) {
        Ok(level) => format!("kernel.perf_event_paranoid is {level}"),
        Err(why) => why.reason().to_owned(),
    };
    NotAvailable::because(match errno {
        Errno::EACCES | Errno::EPERM => {
            let of = match (asked.event.is_of_the_kernel(), asked.user_only) {
                (true, _) => "it happens in the kernel, which may not be counted",
                (false, true) => "it may not be counted, not even in user space",
                (false, false) => "it may not be counted",
            };
            format!("{of} ({}): {CURE}", level())
        }
        Errno::ENOENT | Errno::ENODEV | Errno::EOPNOTSUPP if asked.event.is_hardware() => {
            "the processor's counters are not there (usual in virtual machines: their host has to give them a PMU, \
             such as `-cpu host,pmu=on` of QEMU)"
                .to_owned()
        }
        Errno::EMFILE => format!(
            "too many open files: {} threads need {} descriptors (raise the hard limit, `ulimit -Hn`)",
            asked.threads,
            asked.threads * Event::ALL.len()
        ),
        Errno::ENOSYS => "this kernel was built without CONFIG_PERF_EVENTS".to_owned(),
        other => format!("perf_event_open: {}", other.desc()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn reason(event: Event, user_only: bool, errno: Errno) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(PARANOID.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "4\n").unwrap();
        let asked = CounterRequest {
            event,
            threads: 50,
            user_only,
        };
        let tree = Tree::at(folder.path());
        refused(&tree, &asked, errno).reason().to_owned()
    }

    #[test]
    fn what_is_not_allowed_names_the_setting_and_the_cure() {
        let switches = reason(Event::ContextSwitches, false, Errno::EACCES);
        assert!(
            switches.starts_with("it happens in the kernel, which may not be counted (kernel.perf_event_paranoid is 4): "),
            "{switches}"
        );
        assert!(
            switches.contains("sysctl kernel.perf_event_paranoid=1"),
            "{switches}"
        );
        let cycles = reason(Event::Cycles, true, Errno::EPERM);
        assert!(cycles.contains("not even in user space"), "{cycles}");
    }

    #[test]
    fn what_a_machine_has_not_is_no_matter_of_permission() {
        let cycles = reason(Event::Cycles, false, Errno::ENOENT);
        assert!(
            cycles.contains("virtual machines") && !cycles.contains("sysctl"),
            "{cycles}"
        );
        let files = reason(Event::Cycles, false, Errno::EMFILE);
        assert!(files.contains("50 threads need 450 descriptors"), "{files}");
        assert!(reason(Event::Cycles, false, Errno::ENOSYS).contains("CONFIG_PERF_EVENTS"));
    }
}
