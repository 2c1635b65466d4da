//! A plant on another host: how `[start]` asks for it, and with which words it is started there.

use plan::scenario::{Kind, Refusal, Setting, Start};
use wire::url::Url;

use crate::failure::Failure;
use crate::fleet::{Way, carrier};
use crate::serving::Serving;

/// Whether a server can be started there; `files` are the options that name files.
pub fn check(
    kind: Kind,
    name: &str,
    settings: &[Setting],
    on: &str,
    files: &[&str],
) -> Result<(), Refusal> {
    let refused = |option: Option<&str>, what: &str| {
        Err(Refusal {
            option: option.map(str::to_owned),
            what: what.to_owned(),
        })
    };
    let way: Way = match on.parse() {
        Ok(way @ Way::Ssh { .. }) => way,
        Ok(Way::Local(_)) => {
            let what = "servers of this machine are started without it (want ssh:user@host)";
            return refused(None, what);
        }
        Ok(Way::Nats { .. }) => {
            let what = "no servers are started by way of a broker (want ssh:user@host)";
            return refused(None, what);
        }
        Err(what) => return refused(None, &what),
    };
    if kind == Kind::Peer {
        let what = "other stacks are started on this machine only (want plant, or target)";
        return refused(None, what);
    }
    if name.ends_with(".toml") {
        let what = "a plant file is not on that host (want a profile as plant)";
        return refused(None, what);
    }
    for setting in settings {
        let option = setting.option.as_str();
        if files.contains(&option) {
            return refused(Some(option), "files are not on the host of start.on");
        }
        if !setting.words().iter().all(|it| is_plain(it)) {
            let what = "a shell of the host of start.on would not leave it as it is (want letters, digits and \
                        ._-+:=@/,%)";
            return refused(Some(option), what);
        }
    }
    words(&way, &[], settings).map(drop)
}

/// It becomes a word of a shell there.
fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+:=@/,%".contains(c);
    word.chars().all(is_plain)
}

/// How the plant is started there: reached by the host's name, where nothing else was said.
fn words(way: &Way, typed: &[String], settings: &[Setting]) -> Result<Vec<String>, Refusal> {
    let mut words = typed.to_vec();
    let is_said = |option: &str| settings.iter().any(|it| it.option == option);
    if let Some(host) = way.host()
        && !["listen", "host", "advertise"].into_iter().any(is_said)
    {
        words.push("--listen=0.0.0.0".to_owned());
        words.push(format!("--host={host}"));
    }
    match words.iter().all(|it| is_plain(it)) {
        true => Ok(words),
        false => Err(Refusal {
            option: None,
            what: "an address in brackets is no name to be reached by (want host or listen in [start])"
                .to_owned(),
        }),
    }
}

/// Starts the plant there, with the certificates of its user there.
pub fn started(on: &str, typed: &[String], start: &Start) -> anyhow::Result<Serving> {
    let way: Way = on.parse().map_err(Failure::usage)?;
    let typed = words(&way, typed, &start.settings).map_err(|it| Failure::usage(it.what))?;
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let mut words = vec!["serve", "--with-parent"];
    if !typed.iter().any(|word| word.starts_with("--port")) {
        words.push("--port=0");
    }
    words.extend(&typed);
    // The process here is that of ssh.
    let command = carrier::program(&way, &words)?;
    Serving::of(command, &typed, start.servers()).map_err(|error| {
        Failure::new(format!("{error} on {on}"))
            .hint("uaperf fleet check SPEC says whether that host can be reached")
            .into()
    })
}

/// What is observed of it there, by ssh.
pub fn observed(on: &str, urls: &[Url]) -> Vec<String> {
    let site = |url: &Url| format!("--observe={on}::{}", url.port());
    urls.iter().map(site).collect()
}
