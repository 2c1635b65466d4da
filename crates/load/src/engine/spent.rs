//! What a thread has spent: the CPU that it had, and the time that it would have liked to have it.

/// So far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// On a CPU.
    pub cpu_ns: Option<u64>,
    /// Able to run, and waiting for a CPU.
    pub starved_ns: Option<u64>,
}

impl Spent {
    /// Of the calling thread.
    #[cfg(target_os = "linux")]
    pub fn so_far() -> Self {
        // Documented in the kernel's sched-stats: CPU time, run-queue time, time slices.
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut words = text.split_whitespace().map(|word| word.parse().ok());
        Self {
            cpu_ns: words.next().flatten(),
            starved_ns: words.next().flatten(),
        }
    }

    /// Of the calling thread.
    #[cfg(not(target_os = "linux"))]
    pub fn so_far() -> Self {
        Self::default()
    }

    /// What was spent since.
    pub fn since(self, earlier: &Self) -> Self {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            cpu_ns: less(self.cpu_ns, earlier.cpu_ns),
            starved_ns: less(self.starved_ns, earlier.starved_ns),
        }
    }
}
