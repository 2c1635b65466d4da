//! Python with the packages that are compared with, in an environment of its own below `target`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use without::skipped;

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// What `golden.py` says. None where there is no Python to say it, which is said.
pub fn golden() -> Option<Value> {
    let python = match installed() {
        Ok(python) => python,
        Err(why) => {
            let command = "sudo apt-get install python3-venv";
            skipped("parity with scipy and scikit-learn", &why, command);
            return None;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parity/golden.py");
    // Small problems are slower with threads that wait for each other.
    let threads = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"].map(|it| (it, "1"));
    let said = run(Command::new(python).envs(threads).arg(script)).unwrap();
    Some(serde_json::from_slice(&said).unwrap())
}

/// The interpreter of an environment that has what is wanted. It is made once, and again when other packages are wanted.
fn installed() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parity");
    let python = home.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    // Written last, so that an installation that was interrupted is made anew.
    let stamp = home.join("installed.txt");
    let is_wanted = std::fs::read_to_string(&stamp).is_ok_and(|it| it == REQUIREMENTS);
    // The system's Python may have become another one since.
    let import = ["-c", "import scipy, sklearn, statsmodels"];
    if is_wanted && run(Command::new(&python).args(import)).is_ok() {
        return Ok(python);
    }
    let make = ["-m", "venv", "--clear"];
    run(Command::new("python3").args(make).arg(&home))?;
    // A mirror that does not answer is given up in minutes.
    let install = "-m pip install --quiet --no-input --disable-pip-version-check --prefer-binary --timeout 30 --retries 4";
    let packages = REQUIREMENTS.lines();
    run(Command::new(&python)
        .args(install.split(' '))
        .args(packages))?;
    std::fs::write(stamp, REQUIREMENTS).map_err(|error| error.to_string())?;
    Ok(python)
}

/// What a command printed, or the last line of what it complained about.
fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let last = told.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("it failed").to_owned())
}
