//! The licences of everything that uaperf is built from, on every platform.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::files::root;

/// What may be linked into an Apache-2.0 program without a further promise to its users.
/// MPL-2.0 asks for the source of its own files only, which are published unchanged.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether somebody who accepts only [`ALLOWED`] may use what an expression covers.
fn acceptable(expression: &str) -> Result<bool, String> {
    // Old crates write `MIT/Apache-2.0`.
    let mode = ParseMode {
        allow_slash_as_or_operator: true,
        ..ParseMode::STRICT
    };
    Expression::parse_mode(expression, mode)
        .map(|parsed| parsed.evaluate(|required| ALLOWED.contains(&required.to_string().as_str())))
        .map_err(|error| error.reason.to_string())
}

/// Why a package may not be used, if so.
fn objection(package: &Value) -> Option<String> {
    let name = format!(
        "{} {}",
        package["name"].as_str().unwrap_or("?"),
        package["version"].as_str().unwrap_or("?")
    );
    match package["license"].as_str() {
        None => Some(format!("{name}: states no licence")),
        Some(licence) => match acceptable(licence) {
            Ok(true) => None,
            Ok(false) => Some(format!("{name}: {licence}")),
            Err(reason) => Some(format!("{name}: {licence}: {reason}")),
        },
    }
}

#[test]
fn every_dependency_of_every_platform_has_an_allowed_licence() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo metadata (it needs the packages of all platforms; `cargo fetch` gets them): {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    // Known to be there, one of them on Windows only: the list is the whole one.
    assert!(names.contains("async-opcua-types") && names.contains("windows-sys"));

    let refused: Vec<String> = packages.iter().filter_map(objection).collect();
    assert!(
        refused.is_empty(),
        "licences that are not on the list in {}:\n{}",
        file!(),
        refused.join("\n")
    );
}

#[test]
fn a_copyleft_or_missing_licence_is_refused() {
    let package = |licence: Value| {
        objection(&serde_json::json!({ "name": "x", "version": "1.0.0", "license": licence }))
    };
    assert_eq!(package("MIT OR Apache-2.0".into()), None);
    assert_eq!(package("MIT/Apache-2.0".into()), None);
    assert!(package("GPL-3.0-only".into()).is_some());
    assert!(package("MIT AND GPL-2.0-or-later".into()).is_some());
    assert!(package("LicenseRef-Proprietary".into()).is_some());
    assert!(package("no expression at all".into()).is_some());
    assert!(package(Value::Null).is_some());
}

#[test]
fn a_choice_is_acceptable_when_one_side_of_it_is() {
    assert_eq!(
        acceptable("MIT OR Apache-2.0 OR LGPL-2.1-or-later"),
        Ok(true)
    );
    assert_eq!(
        acceptable("(MIT OR GPL-3.0-only) AND Unicode-3.0"),
        Ok(true)
    );
    assert_eq!(acceptable("Apache-2.0 WITH LLVM-exception"), Ok(true));
    assert_eq!(
        acceptable("GPL-2.0-only WITH Classpath-exception-2.0"),
        Ok(false)
    );
}
