//! What several stacks share: tools, steps, and how their sources are embedded.

use crate::stack::{InstallStep, Tool};

/// Embeds files of `stacks/`, named by the path they get in the stack's folder and the place
/// they come from.
macro_rules! sources {
    ($($path:literal from $origin:literal),+ $(,)?) => {
        &[$($crate::stack::Source {
            path: $path,
            text: include_str!(concat!("../../stacks/", $origin)),
        }),+]
    };
}
pub(super) use sources;

/// What builds the stacks that come as crates; they share one target folder, `{dir}/../cargo`.
pub(super) const CARGO: Tool = Tool {
    name: "cargo 1.95 or newer",
    check: &["cargo", "--version"],
    when_running: false,
    cure: "see https://rustup.rs",
};

/// Python with the module that makes environments.
pub(super) const PYTHON: Tool = Tool {
    name: "python3 with venv",
    check: &[
        "python3",
        "-c",
        "import venv, ensurepip, sys; assert sys.version_info >= (3, 10); print(sys.version)",
    ],
    when_running: false,
    cure: "sudo apt-get install python3-venv",
};

pub(super) const MAKE_VENV: InstallStep = InstallStep {
    what: "make a Python environment",
    command: &["python3", "-m", "venv", "venv"],
    env: &[],
};

pub(super) const PIP_INSTALL: InstallStep = InstallStep {
    what: "install the Python packages",
    command: &[
        "{dir}/venv/{scripts}/python{exe}",
        "-m",
        "pip",
        "install",
        "--no-input",
        "--disable-pip-version-check",
        "--prefer-binary",
        "-r",
        "requirements.txt",
    ],
    env: &[],
};

/// Compiled once here, so that the first server does not start slower than the others.
pub(super) const PY_COMPILE: InstallStep = InstallStep {
    what: "compile the sources",
    command: &[
        "{dir}/venv/{scripts}/python{exe}",
        "-m",
        "compileall",
        "-q",
        "server.py",
        "client.py",
        "bench.py",
        "identity.py",
    ],
    env: &[],
};
