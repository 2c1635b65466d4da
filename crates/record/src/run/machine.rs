//! On what a result was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Figure;

/// The machine, its settings and the build, as far as they change what is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The name of the host.
    #[serde(default)]
    pub host: Figure<String>,
    /// The operating system and its kernel.
    #[serde(default)]
    pub kernel: Figure<String>,
    /// The CPU's model.
    #[serde(default)]
    pub cpu: Figure<String>,
    /// Instructions for cryptography that it has, by the kernel's names; `none` without.
    #[serde(default)]
    pub cryptography: Figure<String>,
    /// Cores that the generator may use.
    #[serde(default)]
    pub cores: Figure<u64>,
    /// Cores of the machine.
    #[serde(default)]
    pub cores_online: Figure<u64>,
    /// RAM.
    #[serde(default)]
    pub ram_bytes: Figure<u64>,
    /// What sets the frequency of the cores.
    #[serde(default)]
    pub governor: Figure<String>,
    /// Cores that the scheduler leaves alone; empty when none is.
    #[serde(default)]
    pub isolated: Figure<String>,
    /// The hypervisor, or `no`.
    #[serde(default)]
    pub virtualisation: Figure<String>,
    /// The C library under the program, with its version; on Linux.
    #[serde(default)]
    pub libc: Figure<String>,
    /// Disks of the machine: name, size, model and how they are attached.
    #[serde(default)]
    pub storage: Figure<Vec<String>>,
    /// The kernel's source of time.
    #[serde(default)]
    pub clock_source: Figure<String>,
    /// Interfaces of the network that are up.
    #[serde(default)]
    pub network: Figure<Vec<String>>,
    /// The program.
    #[serde(default)]
    pub build: Build,
}

/// How the program was built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Its version.
    pub version: String,
    /// The compiler.
    #[serde(default)]
    pub rustc: Figure<String>,
    /// What it was built for.
    pub target: String,
    /// `release` or `debug`.
    pub profile: String,
    /// What the compiler was told besides (`RUSTFLAGS`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flags: String,
    /// It checks itself as it runs, which makes its times worthless.
    pub debug_assertions: bool,
}

impl fmt::Display for Build {
    /// Its version, and how it was built: `0.1.0 (release, -C target-cpu=native)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.version, self.profile)?;
        if !self.flags.is_empty() {
            write!(f, ", {}", self.flags)?;
        }
        f.write_str(")")
    }
}
