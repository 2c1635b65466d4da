//! Eclipse Milo 1.1: the current generation.

use super::common::sources;
use super::milo;
use crate::stack::{Quirk, Stack};

pub(super) static STACK: Stack = Stack {
    name: "milo1",
    title: "Eclipse Milo 1.1",
    version: "1.1.2",
    language: "Java",
    tools: &[&milo::JAVA, &milo::JAVAC, &milo::MAVEN],
    sources: sources![
        "pom.xml" from "milo1/pom.xml",
        "src/Server.java" from "milo1/Server.java",
        "src/Client.java" from "milo1/Client.java",
        "src/Steps.java" from "milo/Steps.java",
        "src/Judge.java" from "milo/Judge.java",
        "src/Identity.java" from "milo/Identity.java",
        "src/Options.java" from "milo/Options.java",
    ],
    steps: milo::STEPS,
    server: milo::SERVER,
    client: milo::CLIENT,
    pubsub: &[],
    offers: milo::ALL,
    speaks: milo::ALL,
    quirks: &[
        Quirk {
            what: "starts slowly, and is several times slower until it has warmed up for about \
                   five seconds under load",
            clause: None,
        },
        Quirk {
            what: "a UserName token policy with an empty securityPolicyUri on a secured endpoint \
                   makes the server refuse every password with BadSecurityPolicyRejected (ours \
                   names the policy)",
            clause: Some("Part 4, 7.42 (UserTokenPolicy: empty means the endpoint's policy)"),
        },
        Quirk {
            what: "the client compares the endpoints of CreateSession with those of GetEndpoints \
                   and hangs up when they differ (switched off in ours)",
            clause: Some("Part 4, 5.7.2 (CreateSession: serverEndpoints, the client shall verify)"),
        },
    ],
};
