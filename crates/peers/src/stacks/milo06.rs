//! Eclipse Milo 0.6: the generation most installations have.

use super::common::sources;
use super::milo;
use crate::stack::{Quirk, Stack};

pub(super) static STACK: Stack = Stack {
    name: "milo06",
    title: "Eclipse Milo 0.6",
    version: "0.6.16",
    language: "Java",
    tools: &[&milo::JAVA, &milo::JAVAC, &milo::MAVEN],
    sources: sources![
        "pom.xml" from "milo06/pom.xml",
        "src/Server.java" from "milo06/Server.java",
        "src/Client.java" from "milo06/Client.java",
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
                   makes the server refuse every password with BadIdentityTokenInvalid (ours names \
                   the policy)",
            clause: Some("Part 4, 7.42 (UserTokenPolicy: empty means the endpoint's policy)"),
        },
        Quirk {
            what: "over HTTPS the server works at several requests of one connection at once and \
                   answers those first that are ready first, so a client has to wait for each answer",
            clause: Some("RFC 9112, 9.3.2 (a server sends responses in the order of the requests)"),
        },
    ],
};
