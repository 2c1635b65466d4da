//! Captures as Wireshark's own code reads them.

use std::path::Path;
use std::process::Command;

/// The first release whose dissector decrypts with a key log.
const DECRYPTS: (u32, u32) = (4, 4);

/// `tshark`, of which version.
pub fn version() -> Option<(u32, u32)> {
    let output = Command::new("tshark").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text
        .split_whitespace()
        .find(|it| it.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split('.').map(|it| it.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// Whether it is there; else the test is skipped.
pub fn is_there() -> bool {
    if version().is_none() {
        without::skipped("tshark", "not installed", "apt-get install tshark");
    }
    version().is_some()
}

/// Whether it decrypts.
pub fn decrypts() -> bool {
    let Some(version) = version() else {
        return is_there();
    };
    if version >= DECRYPTS {
        return true;
    }
    let reason = format!("{}.{} reads no key log of OPC UA", version.0, version.1);
    let command = "install tshark 4.4 or later from https://www.wireshark.org";
    match std::env::var("CI").is_ok_and(|it| it == "true") {
        // Debian 12 has none that does. The same keys are tried by other code in any case.
        true => without::say(&format!("SKIPPED tshark decrypting: {reason}: {command}")),
        false => without::skipped("tshark decrypting", &reason, command),
    }
    false
}

/// A line for each packet that a filter lets through: these fields of it, between tabs.
pub fn fields(file: &Path, port: u16, filter: &str, fields: &[&str]) -> Vec<String> {
    fields_with(file, port, filter, fields, &[])
}

/// The same with more options.
pub fn fields_with(
    file: &Path,
    port: u16,
    filter: &str,
    fields: &[&str],
    options: &[&str],
) -> Vec<String> {
    let mut command = Command::new("tshark");
    command
        .args(options)
        .arg("-r")
        .arg(file)
        .arg(format!("-oopcua.tcp.port:{port}"))
        .args(["-otcp.check_checksum:TRUE", "-oip.check_checksum:TRUE"])
        .args(["-Y", filter, "-Tfields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("cut short"), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}
