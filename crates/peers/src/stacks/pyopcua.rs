//! python-opcua: the older, threaded implementation of the FreeOpcUa project, which the studies
//! call "FreeOpcUa Python".

use super::common::{MAKE_VENV, PIP_INSTALL, PY_COMPILE, PYTHON, sources};
use crate::security::{Policy, Security, Token};
use crate::stack::{Quirk, Stack};

pub(super) static STACK: Stack = Stack {
    name: "pyopcua",
    title: "python-opcua (FreeOpcUa)",
    version: "0.98.13",
    language: "Python",
    tools: &[&PYTHON],
    sources: sources![
        "requirements.txt" from "pyopcua/requirements.txt",
        "server.py" from "pyopcua/server.py",
        "client.py" from "pyopcua/client.py",
        "bench.py" from "python/bench.py",
        "identity.py" from "python/identity.py",
    ],
    steps: &[MAKE_VENV, PIP_INSTALL, PY_COMPILE],
    server: &["{dir}/venv/{scripts}/python{exe}", "{dir}/server.py"],
    client: &["{dir}/venv/{scripts}/python{exe}", "{dir}/client.py"],
    pubsub: &[],
    offers: Security {
        policies: &[Policy::None, Policy::Basic256Sha256],
        tokens: &[Token::Anonymous, Token::UserName, Token::X509],
    },
    speaks: Security {
        policies: &[
            Policy::None,
            Policy::Basic128Rsa15,
            Policy::Basic256,
            Policy::Basic256Sha256,
        ],
        tokens: &[Token::Anonymous, Token::UserName, Token::X509],
    },
    quirks: &[
        Quirk {
            what: "its server never looks at an X.509 user token: any is accepted, without proof",
            clause: Some("Part 4, 5.7.3 (ActivateSession): userTokenSignature shall be verified"),
        },
        Quirk {
            what: "its server accepts every client certificate; --strict is refused",
            clause: Some("Part 4, 6.1.3 (determining if a Certificate is trusted)"),
        },
        Quirk {
            what: "its user token policies name no security policy, so that on a channel without \
                   security the password travels as it is",
            clause: Some("Part 4, 7.42 (UserTokenPolicy): empty means the endpoint's policy"),
        },
        Quirk {
            what: "an activated session cannot be activated again: BadSessionIdInvalid",
            clause: Some("Part 4, 5.7.3 (ActivateSession): a new channel or user is allowed"),
        },
        Quirk {
            what: "its server grants the buffer sizes that the client proposes, however large, \
                   and names no limits",
            clause: Some("Part 6, 7.1.2.4 (Acknowledge)"),
        },
        Quirk {
            what: "keeps the interval it was asked for and does not sample: each change of a value \
                   is a notification, whatever samplingInterval says",
            clause: Some("Part 4, 5.13.1.2 (sampling interval)"),
        },
    ],
};
