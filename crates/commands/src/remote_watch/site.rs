//! What is observed on another host, as typed: `prom:http://host:9100#name`, `ssh:user@host:what`, `nats:tag/name:what`.

use std::fmt;

use revocation::Address;

use crate::fleet::{Spec, Way};

/// Where somebody looks for us, and at what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// A page of an exporter for Prometheus.
    Prometheus {
        /// Where it is.
        page: Address,
        /// A process, a group of processes or a container; the machine where nothing is said.
        name: Option<String>,
    },
    /// This program on a host that ssh reaches.
    Ssh {
        /// The host, and the program there.
        way: Way,
        /// A process as `uaperf watch` finds it there, or `host`.
        what: String,
    },
    /// An agent that waits at a broker.
    Nats {
        /// It, or one of a tag.
        spec: Spec,
        /// As above.
        what: String,
    },
}

const PROMETHEUS: &str = "prom:";
const SSH: &str = "ssh:";
const NATS: &str = "nats:";

/// The machine itself.
pub const HOST: &str = "host";

impl Site {
    /// What was typed, if it is of another host.
    pub fn read(typed: &str) -> Option<Result<Self, String>> {
        if let Some(url) = typed.strip_prefix(PROMETHEUS) {
            return Some(prometheus(url));
        }
        if let Some(rest) = typed.strip_prefix(NATS) {
            return Some(nats(typed, rest));
        }
        Some(ssh(typed, typed.strip_prefix(SSH)?))
    }
}

fn prometheus(typed: &str) -> Result<Site, String> {
    let (url, name) = match typed.split_once('#') {
        Some((url, name)) => (url, Some(name)),
        None => (typed, None),
    };
    if name.is_some_and(|it| it.trim().is_empty()) {
        return Err(format!("{typed:?}: want a name behind the #"));
    }
    let mut page: Address = url.parse().map_err(|_| {
        format!("{typed:?}: want prom:http://HOST:PORT/metrics, with #NAME behind it for a process (https is not spoken)")
    })?;
    if page.path == "/" {
        page.path = "/metrics".to_owned();
    }
    Ok(Site::Prometheus {
        page,
        name: name.map(str::to_owned),
    })
}

fn ssh(typed: &str, rest: &str) -> Result<Site, String> {
    let (to, rest) = rest.split_once(':').unwrap_or((rest, ""));
    // A path is that of the program, as --fleet has it.
    let (program, what) = match rest.starts_with('/') {
        true => rest.split_once(':').unwrap_or((rest, "")),
        false => ("", rest),
    };
    let way = match program {
        "" => format!("{SSH}{to}"),
        program => format!("{SSH}{to}:{program}"),
    };
    let way: Way = way.parse()?;
    let want = "want ssh:HOST, ssh:HOST:PID, ssh:HOST:NAME or ssh:HOST::PORT, or ssh:HOST:/path/to/uaperf:NAME";
    let what = there(what).ok_or_else(|| format!("{typed:?}: {want}"))?;
    Ok(Site::Ssh { way, what })
}

fn nats(typed: &str, rest: &str) -> Result<Site, String> {
    let (who, what) = rest.split_once(':').unwrap_or((rest, ""));
    let want = "want nats:TAG or nats:TAG/NAME, with :PID, :NAME or ::PORT behind it";
    let what = there(what).ok_or_else(|| format!("{typed:?}: {want}"))?;
    let spec: Spec = format!("{NATS}{who}").parse()?;
    match spec.is_weighed() {
        true => Err(format!("{typed:?}: {want}")),
        false => Ok(Site::Nats { spec, what }),
    }
}

/// What is looked at there: it becomes a word of a shell.
fn there(what: &str) -> Option<String> {
    let what = if what.is_empty() { HOST } else { what };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+:".contains(c);
    let fine = !what.starts_with('-') && what.chars().all(is_plain);
    fine.then(|| what.to_owned())
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A query may hold a token, which is nobody's who reads a result.
            Self::Prometheus { page, .. } => {
                let path = page.path.split('?').next().unwrap_or_default();
                write!(f, "http://{}{path}", page.authority())
            }
            Self::Ssh { way, .. } => match way {
                Way::Ssh { to, .. } => write!(f, "{SSH}{to}"),
                Way::Local(_) => f.write_str("local"),
                Way::Nats { tag, .. } => f.write_str(tag),
            },
            Self::Nats { spec, .. } => spec.fmt(f),
        }
    }
}

impl Site {
    /// The host alone.
    pub fn host(&self) -> &str {
        match self {
            Self::Prometheus { page, .. } => &page.host,
            Self::Ssh { way, .. } => match way {
                Way::Ssh { to, .. } => to,
                Way::Local(_) => "local",
                Way::Nats { tag, .. } => tag,
            },
            Self::Nats { spec, .. } => match spec.way() {
                Way::Nats { tag, name } => name.as_ref().unwrap_or(tag),
                Way::Ssh { to, .. } => to,
                Way::Local(_) => "local",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_page_has_its_usual_path_and_a_name_behind_it() {
        let read = |typed: &str| match Site::read(typed).unwrap().unwrap() {
            Site::Prometheus { page, name } => (page.to_string(), name),
            Site::Ssh { .. } | Site::Nats { .. } => panic!("{typed}"),
        };
        let url = |text: &str| text.to_owned();
        assert_eq!(
            read("prom:http://plc1:9100"),
            (url("http://plc1:9100/metrics"), None)
        );
        assert_eq!(
            read("prom:http://[::1]:9256/a?b=1#open62541"),
            (url("http://[::1]:9256/a?b=1"), Some("open62541".into()))
        );
        let shown = Site::read("prom:http://[::1]:9256/a?token=1#x");
        let shown = shown.unwrap().unwrap().to_string();
        assert_eq!(shown, "http://[::1]:9256/a");
        assert_eq!(Site::read("4711"), None);
        assert_eq!(Site::read(":4840"), None);
        for wrong in ["prom:", "prom:https://a", "prom:a:9100", "prom:http://a#"] {
            assert!(Site::read(wrong).unwrap().unwrap_err().contains("want"));
        }
    }

    #[test]
    fn an_agent_at_a_broker_has_a_tag_and_what_to_look_at() {
        let read = |typed: &str| match Site::read(typed).unwrap().unwrap() {
            Site::Nats { spec, what } => (spec.to_string(), what),
            other => panic!("{other:?}"),
        };
        for (typed, spec, what) in [
            ("nats:lab", "nats:lab", "host"),
            ("nats:lab/plc1.south:4711", "nats:lab/plc1.south", "4711"),
            ("nats:lab/plc1::4840", "nats:lab/plc1", ":4840"),
        ] {
            assert_eq!(read(typed), (spec.to_owned(), what.to_owned()), "{typed}");
        }
        for wrong in ["nats:", "nats:a.b", "nats:a*2", "nats:a:--x", "nats:a:$(x)"] {
            let why = Site::read(wrong).unwrap().unwrap_err();
            assert!(why.contains("want"), "{wrong}: {why}");
        }
    }

    #[test]
    fn a_host_that_ssh_reaches_has_a_program_and_what_to_look_at() {
        let read = |typed: &str| match Site::read(typed).unwrap().unwrap() {
            Site::Ssh {
                way: Way::Ssh { to, program },
                what,
            } => (to, program.unwrap_or_default(), what),
            other => panic!("{other:?}"),
        };
        for (typed, to, program, what) in [
            ("ssh:plc1", "plc1", "", "host"),
            ("ssh:lab@plc1:4711", "lab@plc1", "", "4711"),
            ("ssh:plc1::4840", "plc1", "", ":4840"),
            ("ssh:plc1:open62541", "plc1", "", "open62541"),
            ("ssh:plc1:/opt/uaperf", "plc1", "/opt/uaperf", "host"),
            ("ssh:plc1:/opt/uaperf::4840", "plc1", "/opt/uaperf", ":4840"),
        ] {
            let wanted = (to.to_owned(), program.to_owned(), what.to_owned());
            assert_eq!(read(typed), wanted, "{typed}");
        }
        for wrong in [
            "ssh:",
            "ssh:-o",
            "ssh:a:b;c",
            "ssh:a:$(x)",
            "ssh:a:--x",
            "ssh:a b",
        ] {
            assert!(
                Site::read(wrong).unwrap().unwrap_err().contains("want"),
                "{wrong}"
            );
        }
    }
}
