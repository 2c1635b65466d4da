//! Which core does what: the server's side one, the client's another, where there are two.

/// The cores of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub server: Option<usize>,
    pub client: Option<usize>,
}

impl Place {
    /// Takes the last two cores that this process may use: interrupts like the first.
    pub fn find() -> Self {
        match allowed().as_slice() {
            [.., server, client] => Self {
                server: Some(*server),
                client: Some(*client),
            },
            _ => Self {
                server: None,
                client: None,
            },
        }
    }

    /// The server's core, as `taskset` takes it.
    pub fn server_list(&self) -> Option<String> {
        self.server.map(|core| core.to_string())
    }

    /// The client's core, likewise.
    pub fn client_list(&self) -> Option<String> {
        self.client.map(|core| core.to_string())
    }
}

/// Holds the calling thread to a core.
#[cfg(target_os = "linux")]
pub fn pin(core: Option<usize>) -> anyhow::Result<()> {
    let Some(core) = core else {
        return Ok(());
    };
    let mut set = nix::sched::CpuSet::new();
    set.set(core)?;
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set)?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn allowed() -> Vec<usize> {
    let Ok(set) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else {
        return Vec::new();
    };
    let cores = 0..nix::sched::CpuSet::count();
    cores
        .filter(|&core| set.is_set(core).unwrap_or(false))
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub fn pin(_core: Option<usize>) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Vec<usize> {
    Vec::new()
}
