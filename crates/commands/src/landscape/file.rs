//! DEVICES.toml: what is typed, what it means, and which line is wrong.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use load::access::Security;
use pki::store::Keys;
use pki::{Curve, KeyKind};
use plant::file::{Complaint, Read};
use plant::{Plant, Profile, Publishing};
use serde::Deserialize;
use toml::Spanned;
use wire::channel::Protection;

use super::schedule::{self, Event, EventTable, time};
use crate::failure::Failure;
use crate::fleet::spec::Spec;
use crate::place;
use crate::publishing::broker::Url;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: Option<Spanned<String>>,
    listen: Option<Spanned<String>>,
    #[serde(default)]
    group: Vec<Spanned<GroupTable>>,
    #[serde(default)]
    event: Vec<Spanned<EventTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupTable {
    name: Spanned<String>,
    count: Option<Spanned<i64>>,
    on: Option<Spanned<String>>,
    host: Option<Spanned<String>>,
    port: Option<Spanned<i64>>,
    profile: Option<Spanned<String>>,
    plant: Option<Spanned<PathBuf>>,
    update: Option<Spanned<String>>,
    application: Option<Spanned<String>>,
    uri: Option<Spanned<String>>,
    keys: Option<Spanned<String>>,
    security: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    publish: Vec<Spanned<String>>,
    publish_interval: Option<Spanned<String>>,
    publish_signals: Option<Spanned<i64>>,
}

/// Devices in groups, and what happens to them.
#[derive(Debug)]
pub struct Landscape {
    /// Its name: the certificates of its devices are kept under it.
    pub name: String,
    /// What it was read from.
    pub text: String,
    /// Where all of them listen, where that is said.
    pub listen: Option<IpAddr>,
    /// Devices alike.
    pub groups: Vec<Group>,
    /// What happens when, in the order of time.
    pub events: Vec<Event>,
}

/// Devices alike.
#[derive(Debug)]
pub struct Group {
    /// What their names begin with.
    pub name: String,
    /// The agents that serve them, where that is said.
    pub on: Option<Spec>,
    /// The name by which their host is reached, where that is said.
    pub host: Option<String>,
    /// What is in their address space.
    pub plant: Arc<Plant>,
    /// Whether a file of this host says so.
    pub is_file: bool,
    /// Whose keys their certificates have; no certificates without.
    pub keys: Option<Keys>,
    /// What they offer, where it is not all that their certificates allow.
    pub security: Option<Vec<Protection>>,
    /// What they publish beside what their plant says.
    pub publish: Vec<Publishing>,
    /// The devices.
    pub devices: Vec<Device>,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// `GROUP-N`.
    pub name: String,
    /// Its place among all of the landscape.
    pub place: usize,
    /// Its place in its group.
    pub n: u16,
    /// Where it listens; 0 for a free port.
    pub port: u16,
    /// Its name for people.
    pub application: String,
    /// Its application URI.
    pub uri: String,
}

/// Devices of a landscape at most: so many ports there are.
const MOST: usize = 60_000;
/// Agents have files of their own hosts.
pub const NO_FILES: &str = "agents have no plant files (want a profile)";
/// Where the first group begins, unless it says otherwise.
const PORT: u16 = 4840;
/// The kinds of keys by their names.
const KEYS: &[(&str, Option<Keys>)] = &[
    ("P-256", Some(Keys::Each(KeyKind::On(Curve::P256)))),
    ("Ed25519", Some(Keys::Each(KeyKind::On(Curve::Ed25519)))),
    ("P-384", Some(Keys::Each(KeyKind::On(Curve::P384)))),
    ("RSA-2048", Some(Keys::Each(KeyKind::Rsa(2048)))),
    ("shared-RSA-2048", Some(Keys::Shared(KeyKind::Rsa(2048)))),
    ("none", None),
];

impl Landscape {
    /// Reads a file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map(|it| it.to_string_lossy().into_owned());
        let read = Self::parse(&text, &stem.unwrap_or_default(), folder);
        read.map_err(|it| {
            let wrong = it.in_text(&shown.to_string(), &text);
            Failure::usage(wrong.to_string()).into()
        })
    }

    /// A landscape from the text of a file that is called so.
    pub fn parse(text: &str, stem: &str, folder: &Path) -> Read<Self> {
        let document: Document = toml::from_str(text)?;
        let name = match document.name {
            Some(name) => word(&name)?,
            None => plain(stem).unwrap_or_else(|| "landscape".to_owned()),
        };
        let listen = match &document.listen {
            Some(text) => Some(
                text.get_ref()
                    .parse()
                    .map_err(|_| Complaint::about(text, "want an address such as 127.0.0.1"))?,
            ),
            None => None,
        };
        let mut groups: Vec<Group> = Vec::new();
        let mut next = PORT;
        for table in &document.group {
            let before = groups.iter().map(|it| it.devices.len()).sum();
            let group = group(table, (&name, before), &mut next, folder)?;
            if groups.iter().any(|it| it.name == group.name) {
                let table = &table.get_ref().name;
                return Err(Complaint::about(table, "there is a group of this name"));
            }
            groups.push(group);
            once_each(table, &groups)?;
        }
        if groups.is_empty() {
            return Err(Complaint {
                span: 0..0,
                what: "no devices (want a [[group]] with name and count)".to_owned(),
            });
        }
        let names: Vec<&str> = groups
            .iter()
            .flat_map(|it| it.devices.iter().map(|it| it.name.as_str()))
            .collect();
        let events = schedule::events(&document.event, &names)?;
        Ok(Self {
            name,
            text: text.to_owned(),
            listen,
            groups,
            events,
        })
    }

    /// Whether a text names files; it is read to find that out, they are not.
    pub fn names_files(text: &str) -> bool {
        let document: Result<Document, _> = toml::from_str(text);
        document.is_ok_and(|it| it.group.iter().any(|it| it.get_ref().plant.is_some()))
    }

    /// All devices.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.groups.iter().flat_map(|it| &it.devices)
    }
}

/// No two devices have a port or an application URI.
fn once_each(table: &Spanned<GroupTable>, groups: &[Group]) -> Read<()> {
    let about = table.get_ref();
    let Some((last, before)) = groups.split_last() else {
        return Ok(());
    };
    let others = || before.iter().flat_map(|it| &it.devices);
    let ports: HashSet<u16> = others().map(|it| it.port).filter(|it| *it > 0).collect();
    if let Some(taken) = last.devices.iter().find(|it| ports.contains(&it.port)) {
        let what = format!("port {} is that of another group", taken.port);
        return Err(match &about.port {
            Some(port) => Complaint::about(port, what),
            None => Complaint::about(&about.name, what),
        });
    }
    let all = groups.iter().flat_map(|it| &it.devices).count();
    if all > MOST {
        let what = format!("that makes {all} devices (want {MOST} or fewer)");
        return Err(Complaint::about(&about.name, what));
    }
    let mut uris: HashSet<&str> = others().map(|it| it.uri.as_str()).collect();
    if let (Some(uri), Some(twice)) = (
        &about.uri,
        last.devices.iter().find(|it| !uris.insert(&it.uri)),
    ) {
        let what = format!(
            "{} would be the URI of two devices (put {{device}} or {{n}} into it)",
            twice.uri
        );
        return Err(Complaint::about(uri, what));
    }
    Ok(())
}

fn group(
    table: &Spanned<GroupTable>,
    (landscape, before): (&str, usize),
    next: &mut u16,
    folder: &Path,
) -> Read<Group> {
    let about = table.get_ref();
    let name = word(&about.name)?;
    let count = match &about.count {
        None => 1,
        Some(count) => {
            let most = 1..=MOST as i64;
            let range = most.contains(count.get_ref());
            range.then_some(*count.get_ref()).ok_or_else(|| {
                let what = format!("{} (want 1 to {MOST})", count.get_ref());
                Complaint::about(count, what)
            })?
        }
    };
    let first = match &about.port {
        None => *next,
        Some(port) => u16::try_from(*port.get_ref()).map_err(|_| {
            let what = format!("{} (want 0, for free ports, to 65535)", port.get_ref());
            Complaint::about(port, what)
        })?,
    };
    let last = i64::from(first) + count - 1;
    if first > 0 {
        // The port after the last one is where the next group begins.
        *next = u16::try_from(last)
            .map_err(|_| {
                let what = format!("{count} devices from port {first} on go beyond port 65535");
                match &about.port {
                    Some(port) => Complaint::about(port, what),
                    None => Complaint::about(&about.name, what),
                }
            })?
            .saturating_add(1);
    }
    let (on, reached) = placed(about)?;
    let plant = plant(about, folder)?;
    if let (Some(file), Some(what)) = (&about.plant, unfit(&plant, count)) {
        return Err(Complaint::about(file, what));
    }
    let (keys, security) = (keys(about)?, security(about)?);
    if keys.is_none() {
        unsecured(about, security.as_deref())?;
    }
    let (application, uri) = (template(&about.application)?, template(&about.uri)?);
    let host = place::host_name();
    let device = |n: i64| {
        let device = format!("{name}-{n}");
        let fill = |text: &str| {
            text.replace("{device}", &device)
                .replace("{group}", &name)
                .replace("{n}", &n.to_string())
                .replace("{host}", &host)
        };
        let own = || format!("urn:{host}:uaperf:{landscape}:{device}");
        let place = u16::try_from(n - 1).unwrap_or(u16::MAX);
        Device {
            place: before + usize::from(place),
            n: place,
            port: match first {
                0 => 0,
                first => first.saturating_add(place),
            },
            application: application.as_deref().map_or_else(|| device.clone(), fill),
            uri: uri.as_deref().map_or_else(own, fill),
            name: device.clone(),
        }
    };
    Ok(Group {
        devices: (1..=count).map(device).collect(),
        keys,
        security,
        publish: publish(about)?,
        plant: Arc::new(plant),
        is_file: about.plant.is_some(),
        on,
        host: reached,
        name,
    })
}

/// The agents that serve a group, and the name by which their host is reached.
fn placed(about: &GroupTable) -> Read<(Option<Spec>, Option<String>)> {
    let spec = |text: &Spanned<String>| {
        let spec: Result<Spec, String> = text.get_ref().parse();
        spec.map_err(|what| Complaint::about(text, what))
    };
    let on = about.on.as_ref().map(spec).transpose()?;
    if let (Some(file), Some(_)) = (&about.plant, &on) {
        return Err(Complaint::about(file, NO_FILES));
    }
    let host = |text: &Spanned<String>| {
        let is_name = |it: char| it.is_ascii_alphanumeric() || "._-[]:".contains(it);
        match !text.get_ref().is_empty() && text.get_ref().chars().all(is_name) {
            true => Ok(text.get_ref().clone()),
            false => Err(Complaint::about(text, "want a host's name or its address")),
        }
    };
    Ok((on, about.host.as_ref().map(host).transpose()?))
}

fn plant(about: &GroupTable, folder: &Path) -> Read<Plant> {
    let mut plant = match (&about.plant, &about.profile) {
        (Some(file), Some(_)) => {
            let what = "a group has a plant or a profile, not both";
            return Err(Complaint::about(file, what));
        }
        (Some(file), None) => Plant::read(&folder.join(file.get_ref()))
            .map_err(|error| Complaint::about(file, error.to_string()))?,
        (None, profile) => {
            let name = profile.as_ref().map_or("devices", |it| it.get_ref());
            let found = Profile::named(name).and_then(Result::ok);
            match (found, profile) {
                (Some(plant), _) => plant,
                (None, Some(profile)) => {
                    let all: Vec<_> = Profile::all().map(|(name, _)| name).collect();
                    let what = format!("no profile {name:?} (want one of {})", all.join(", "));
                    return Err(Complaint::about(profile, what));
                }
                (None, None) => {
                    let what = "there is no profile devices (want a profile or a plant)";
                    return Err(Complaint::about(&about.name, what));
                }
            }
        }
    };
    if let Some(text) = &about.update {
        let update = time(text)?;
        if update < Duration::from_millis(1) {
            return Err(Complaint::about(text, "want 1ms or more"));
        }
        plant.update_each(update);
    }
    Ok(plant)
}

/// What of a plant makes no sense for so many devices.
fn unfit(plant: &Plant, count: i64) -> Option<String> {
    let beyond = |port: u16| port > 0 && i64::from(port) + count - 1 > i64::from(u16::MAX);
    if !plant.register.is_empty() {
        let what =
            "it registers at a discovery server, which devices cannot do yet (want no register)";
        return Some(what.to_owned());
    }
    if count > 1 && plant.advertise.is_some() {
        let what = "it advertises one URL, and there are several devices (want no advertise)";
        return Some(what.to_owned());
    }
    let ports = [("wss", plant.wss), ("https", plant.https)];
    let (what, port) = ports
        .into_iter()
        .find_map(|(what, port)| Some((what, port.filter(|port| beyond(*port))?)))?;
    Some(format!(
        "{count} devices from {what} = {port} on go beyond port 65535"
    ))
}

fn keys(about: &GroupTable) -> Read<Option<Keys>> {
    let Some(text) = &about.keys else {
        return Ok(Some(Keys::Each(KeyKind::On(Curve::P256))));
    };
    let found = KEYS.iter().find(|(name, _)| name == text.get_ref());
    found.map(|(_, keys)| *keys).ok_or_else(|| {
        let names: Vec<_> = KEYS.iter().map(|(name, _)| *name).collect();
        let what = format!("{:?} (want one of {})", text.get_ref(), names.join(", "));
        Complaint::about(text, what)
    })
}

fn security(about: &GroupTable) -> Read<Option<Vec<Protection>>> {
    let one = |text: &Spanned<String>| match text.get_ref().parse() {
        Ok(Security::Exactly(protection)) => Ok(protection),
        Ok(_) => Err(Complaint::about(text, "want POLICY:MODE or none")),
        Err(error) => Err(Complaint::about(text, format!("{error}"))),
    };
    let all = about.security.as_ref();
    all.map(|all| all.iter().map(one).collect()).transpose()
}

/// Devices without certificates offer nothing that needs one.
fn unsecured(about: &GroupTable, security: Option<&[Protection]>) -> Read<()> {
    let typed = about.security.iter().flatten();
    let mut both = typed.zip(security.unwrap_or_default());
    match both.find(|(_, it)| **it != Protection::NONE) {
        Some((text, _)) => Err(Complaint::about(
            text,
            "needs a certificate, and keys = \"none\" makes none",
        )),
        None => Ok(()),
    }
}

fn publish(about: &GroupTable) -> Read<Vec<Publishing>> {
    let interval = about.publish_interval.as_ref().map(time).transpose()?;
    if let (Some(text), Some(Duration::ZERO)) = (&about.publish_interval, interval) {
        return Err(Complaint::about(text, "want more than nothing"));
    }
    let signals = about.publish_signals.as_ref().map(|n| {
        let many = usize::try_from(*n.get_ref()).ok().filter(|n| *n > 0);
        many.ok_or_else(|| Complaint::about(n, "want 1 or more"))
    });
    let signals = signals.transpose()?;
    let one = |to: &Spanned<String>| {
        let url: Url = to
            .get_ref()
            .parse()
            .map_err(|error| Complaint::about(to, error))?;
        Ok(Publishing {
            interval: interval.unwrap_or(Duration::from_millis(100)),
            signals,
            ..Publishing::new(url.to_string())
        })
    };
    let all: Vec<Publishing> = about.publish.iter().map(one).collect::<Read<_>>()?;
    if all.is_empty() {
        let idle = "nothing is published (want publish)";
        if let Some(text) = &about.publish_interval {
            return Err(Complaint::about(text, idle));
        }
        if let Some(n) = &about.publish_signals {
            return Err(Complaint::about(n, idle));
        }
    }
    Ok(all)
}

/// A name that is part of others, and of file names.
fn word(text: &Spanned<String>) -> Read<String> {
    plain(text.get_ref()).ok_or_else(|| {
        let what = format!(
            "{:?} (want letters, digits, - and _, 64 at most)",
            text.get_ref()
        );
        Complaint::about(text, what)
    })
}

fn plain(text: &str) -> Option<String> {
    let fits = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    let fine = (1..=64).contains(&text.len()) && text.chars().all(fits);
    fine.then(|| text.to_owned())
}

/// A text with places to fill: nothing else stands in braces.
fn template(text: &Option<Spanned<String>>) -> Read<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let mut rest = text.get_ref().clone();
    for place in ["{device}", "{group}", "{n}", "{host}"] {
        rest = rest.replace(place, "");
    }
    match rest.contains(['{', '}']) || text.get_ref().is_empty() {
        false => Ok(Some(text.get_ref().clone())),
        true => {
            let what = format!(
                "{:?} (want text with {{device}}, {{group}}, {{n}} or {{host}} in it)",
                text.get_ref()
            );
            Err(Complaint::about(text, what))
        }
    }
}
