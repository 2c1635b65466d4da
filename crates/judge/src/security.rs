//! What follows from a sheet of `uaperf security`: costs of messages, and what should be mended at the server.

use record::run::Figure;
use record::security::{Cost, Outcome, Sheet, Size, Warning, Way};

/// With fewer days left a certificate is to be renewed now.
const SOON_DAYS: i64 = 90;

/// Adds costs and warnings to what was seen.
pub fn conclude(sheet: &mut Sheet) {
    for way in &mut sheet.ways {
        way.server_cost = cost(&way.sizes, |it| &it.server_cpu_ns);
        way.client_cost = cost(&way.sizes, |it| &it.client_cpu_ns);
    }
    sheet.warnings = warnings(sheet);
}

/// Of a request, and of each byte: from the smallest messages to the largest.
fn cost(sizes: &[Size], of: impl Fn(&Size) -> &Figure<f64>) -> Figure<Cost> {
    let point = |size: &Size| {
        let bytes = (size.request_bytes + size.response_bytes) as f64;
        match of(size) {
            Figure::Known(cpu) => Ok((bytes, *cpu)),
            Figure::Missing { not_available } => Err(not_available.clone()),
        }
    };
    let bytes = |it: &&Size| it.request_bytes + it.response_bytes;
    let ends = sizes
        .iter()
        .min_by_key(bytes)
        .zip(sizes.iter().max_by_key(bytes));
    let Some((small, large)) = ends else {
        return Figure::missing("nothing was read");
    };
    match (point(small), point(large)) {
        (Ok(small), Ok(large)) if large.0 > small.0 => {
            let byte_ns = (large.1 - small.1) / (large.0 - small.0);
            Figure::Known(Cost {
                request_ns: small.1 - byte_ns * small.0,
                byte_ns,
            })
        }
        (Ok(_), Ok(_)) => Figure::missing("messages of one size only"),
        (Err(why), _) | (_, Err(why)) => Figure::missing(why),
    }
}

fn warnings(sheet: &Sheet) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut warn = |what: String, cure: &str| {
        all.push(Warning {
            what,
            cure: cure.to_owned(),
        });
    };
    for refusal in &sheet.refusals {
        if refusal.outcome == Outcome::Accepted {
            warn(
                format!("it accepts {}: {}", refusal.what, refusal.told),
                "switch off what accepts everybody (\"auto accept\", \"trust all\"), and fill the server's trust list",
            );
        }
    }
    if let Some(rights) = sheet.rights.known().filter(|it| it.writable > 0) {
        let first = rights.first.as_deref().unwrap_or_default();
        let more = if rights.more { " at least" } else { "" };
        warn(
            format!(
                "anonymous users may write {} of {} variables{more}, such as {first}, over {}",
                rights.writable, rights.variables, rights.security
            ),
            "take the right to write from the anonymous user (its role at the server), or do not offer Anonymous",
        );
    }
    if sheet.ways.iter().any(|it| it.security == "None") {
        warn(
            "sessions without protection are offered (None): everybody on the way reads and changes what is sent".into(),
            "switch the policy None off for sessions; discovery works without it",
        );
    }
    let old: Vec<&str> = sheet
        .ways
        .iter()
        .filter(|it| it.deprecated)
        .map(policy)
        .collect();
    let old = each_once(old);
    if !old.is_empty() {
        warn(
            format!("deprecated policies are offered: {}", old.join(", ")),
            "switch them off: Basic256Sha256 and the policies after it are what clients of the last years speak",
        );
    }
    let clear = |way: &&Way| way.users.iter().any(|it| it.in_the_clear);
    let clear: Vec<&str> = sheet
        .ways
        .iter()
        .filter(clear)
        .map(|it| it.security.as_str())
        .collect();
    if !clear.is_empty() {
        warn(
            format!("passwords travel as they are over {}", clear.join(", ")),
            "give the user token policy a security policy of its own, or offer user names over SignAndEncrypt only",
        );
    }
    if let Some(shown) = sheet.certificate.known() {
        for problem in &shown.problems {
            warn(
                format!("its certificate: {problem}"),
                "make a new one for the server: RSA of 2048 bits or more, SHA-256",
            );
        }
        let is_told = shown.problems.iter().any(|it| it.contains("expire"));
        if (0..SOON_DAYS).contains(&shown.days_left) && !is_told {
            warn(
                format!("its certificate expires in {} days", shown.days_left),
                "renew it, and put the new one into the trust lists of the clients before",
            );
        }
        if let Some(host) = &shown.unnamed_host {
            warn(
                format!(
                    "its certificate does not name {host}, and clients that check it do not connect"
                ),
                "make one that names each host name and address by which clients come",
            );
        }
    }
    all
}

fn policy(way: &Way) -> &str {
    way.security.split(':').next().unwrap_or_default()
}

fn each_once(mut names: Vec<&str>) -> Vec<&str> {
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use record::security::{Refusal, Rights, Spread, User};

    use super::*;

    const SPREAD: Spread = Spread {
        count: 1,
        median_ns: 1,
        p90_ns: 1,
        min_ns: 1,
        max_ns: 1,
    };

    fn size(bytes: u64, cpu: f64) -> Size {
        Size {
            values: 1,
            requests: 1,
            request_bytes: bytes / 2,
            response_bytes: bytes / 2,
            round_trip: SPREAD,
            ratio: Figure::default(),
            server_cpu_ns: Figure::Known(cpu),
            client_cpu_ns: Figure::missing("unknown"),
        }
    }

    fn way(security: &str, deprecated: bool) -> Way {
        Way {
            security: security.into(),
            deprecated,
            users: vec![User {
                kind: "user name".into(),
                in_the_clear: security == "None",
                activation: Figure::Known(SPREAD),
            }],
            failed: None,
            steps: Vec::new(),
            connect: Figure::default(),
            server_connect_cpu_ns: Figure::default(),
            client_connect_cpu_ns: Figure::default(),
            handshakes: Figure::default(),
            renewal: Figure::default(),
            sizes: vec![
                size(100, 1_200.0),
                size(1_100, 3_200.0),
                size(10_100, 21_200.0),
            ],
            server_cost: Figure::default(),
            client_cost: Figure::default(),
        }
    }

    fn sheet(ways: Vec<Way>) -> Sheet {
        Sheet {
            format: record::security::FORMAT.into(),
            version: record::security::VERSION,
            started: record::Timestamp::from_unix_ns(0).unwrap(),
            url: "opc.tcp://plc:4840".into(),
            product: "a server".into(),
            process: Figure::default(),
            machine: Default::default(),
            rounds: 1,
            node: "i=2258".into(),
            interrupted: false,
            certificate: Figure::missing("none"),
            ways,
            refusals: Vec::new(),
            rights: Figure::missing("nobody"),
            warnings: Vec::new(),
        }
    }

    fn told(sheet: &Sheet) -> Vec<&str> {
        sheet.warnings.iter().map(|it| it.what.as_str()).collect()
    }

    #[test]
    fn a_request_and_each_byte_have_their_costs() {
        let mut sheet = sheet(vec![way("Basic256Sha256:Sign", false)]);
        conclude(&mut sheet);
        let way = &sheet.ways[0];
        let cost = way.server_cost.known().unwrap();
        assert!((cost.request_ns - 1_000.0).abs() < 1e-6, "{cost:?}");
        assert!((cost.byte_ns - 2.0).abs() < 1e-9, "{cost:?}");
        assert_eq!(way.client_cost, Figure::missing("unknown"));
    }

    #[test]
    fn a_server_that_is_as_it_should_be_has_no_warnings() {
        let mut sheet = sheet(vec![way("Basic256Sha256:SignAndEncrypt", false)]);
        sheet.refusals.push(Refusal {
            what: "an unknown client certificate".into(),
            outcome: Outcome::Refused,
            told: "BadSecurityChecksFailed at open channel".into(),
        });
        conclude(&mut sheet);
        assert_eq!(told(&sheet), [""; 0]);
    }

    #[test]
    fn what_should_be_mended_is_said_once_each() {
        let mut sheet = sheet(vec![
            way("None", false),
            way("Basic128Rsa15:Sign", true),
            way("Basic128Rsa15:SignAndEncrypt", true),
            way("Basic256:Sign", true),
        ]);
        sheet.refusals.push(Refusal {
            what: "an unknown client certificate".into(),
            outcome: Outcome::Accepted,
            told: "a session was activated".into(),
        });
        sheet.rights = Figure::Known(Rights {
            security: "None".into(),
            nodes: 10,
            more: false,
            variables: 5,
            writable: 2,
            callable: 0,
            first: Some("ns=1;s=valve".into()),
        });
        sheet.certificate = Figure::Known(record::security::Certificate {
            subject: "CN=a".into(),
            key: "RSA 1024".into(),
            days_left: 60,
            unnamed_host: Some("plc".into()),
            problems: vec!["a key of 1024 bits is too short".into()],
        });
        conclude(&mut sheet);
        let told = told(&sheet);
        for part in [
            "accepts an unknown client certificate",
            "may write 2 of 5 variables, such as ns=1;s=valve, over None",
            "without protection",
            "offered: Basic128Rsa15, Basic256",
            "as they are over None",
            "key of 1024 bits",
            "expires in 60 days",
            "does not name plc",
        ] {
            let with = told.iter().filter(|it| it.contains(part)).count();
            assert_eq!(with, 1, "{part}: {told:#?}");
        }
        assert!(sheet.warnings.iter().all(|it| !it.cure.is_empty()));
    }
}
