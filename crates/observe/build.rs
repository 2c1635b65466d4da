//! Keeps what only the build knows: the compiler and how much it was asked to optimise.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    // Without it the fingerprint says that it is not known.
    println!(
        "cargo::rustc-env=OBSERVE_RUSTC={}",
        version.unwrap_or_default()
    );
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    println!(
        "cargo::rustc-env=OBSERVE_FLAGS={}",
        flags.replace('\u{1f}', " ")
    );
    for name in ["TARGET", "PROFILE", "OPT_LEVEL"] {
        let value = std::env::var(name).unwrap_or_default();
        println!("cargo::rustc-env=OBSERVE_{name}={value}");
    }
}
