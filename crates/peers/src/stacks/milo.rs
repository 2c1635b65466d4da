//! Eclipse Milo, the Java implementation, in two generations: what they share.

use crate::security::{Policy, Security, Token};
use crate::stack::{InstallStep, Tool};

pub(super) const JAVA: Tool = Tool {
    name: "java 17 or newer",
    check: &["java", "-version"],
    when_running: true,
    cure: "sudo apt-get install openjdk-17-jdk-headless",
};

pub(super) const JAVAC: Tool = Tool {
    name: "a Java compiler",
    check: &["javac", "-version"],
    when_running: false,
    cure: "sudo apt-get install openjdk-17-jdk-headless",
};

pub(super) const MAVEN: Tool = Tool {
    name: "maven",
    check: &["mvn", "--version"],
    when_running: false,
    cure: "sudo apt-get install maven",
};

/// One folder of archives is a class path without a separator, which differs between systems.
pub(super) const STEPS: &[InstallStep] = &[
    InstallStep {
        what: "fetch the archives, compile server and client",
        command: &[
            "mvn",
            "--quiet",
            "--batch-mode",
            "compile",
            "dependency:copy-dependencies",
            "-DoutputDirectory=lib",
        ],
        env: &[],
    },
    InstallStep {
        what: "put them into an archive",
        command: &[
            "jar",
            "--create",
            "--file",
            "lib/peer.jar",
            "-C",
            "target/classes",
            ".",
        ],
        env: &[],
    },
];

pub(super) const SERVER: &[&str] = &["java", "-cp", "{dir}/lib/*", "Server"];

/// A client lives for seconds: the second compiler would only cost it time.
pub(super) const CLIENT: &[&str] = &[
    "java",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-cp",
    "{dir}/lib/*",
    "Client",
];

pub(super) const ALL: Security = Security {
    policies: Policy::OF_RSA,
    tokens: &[Token::Anonymous, Token::UserName, Token::X509],
};
