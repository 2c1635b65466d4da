//! From a file as it is typed to a plant: everything but its variables.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use wire::channel::Protection;
use wire::url::{Transport, Url};

use super::common::path;
use super::document::{Document, Dscp, NamespaceTable, PublishTable};
use super::error::{Complaint, Read};
use super::event;
use super::group;
use super::ids::Taken;
use super::limits;
use super::origin::origin;
use super::security_group;
use super::types::Types;
use super::users::{Groups, rights};
use crate::describe::{
    Brokered, Does, EventSources, Folder, MethodNode, Namespace, Plant, Publishing,
};
use crate::directory::REGISTER_EVERY;
use crate::security_group::SecurityGroup;
use crate::space::Rights;
use crate::terms::{Id, Span};

/// What a plant is called that does not say.
const NAME: &str = "plant";

pub fn plant(document: Document, folder: &Path) -> Read<Plant> {
    let name = match document.name {
        Some(name) if name.get_ref().trim().is_empty() => {
            return Err(Complaint::about(&name, "is empty (want a name)"));
        }
        Some(name) => name.into_inner(),
        None => NAME.to_owned(),
    };
    let listen = document.endpoint.as_ref().map(listen).transpose()?;
    let named = listen.is_some_and(|listen| listen.1);
    let threads = |asked: Option<Spanned<u16>>, most: u16| match asked {
        Some(n) if !(1..=most).contains(n.get_ref()) => {
            let what = format!("is {} (want 1 to {most})", n.get_ref());
            Err(Complaint::about(&n, what))
        }
        asked => Ok(asked.map(|n| usize::from(n.into_inner()))),
    };
    let groups = Groups::new(document.group)?;
    let anonymous_rights = match (&document.anonymous_may, &document.anonymous_group) {
        (Some(may), Some(_)) => {
            let what = "stands beside anonymous_group (want one of them)";
            return Err(Complaint::about(may, what));
        }
        (Some(may), None) => rights(may.get_ref()),
        (None, Some(group)) => groups.rights(group)?,
        (None, None) => Rights::ALL,
    };
    if let (Some(url), Some(_)) = (&document.advertise, &document.host) {
        let what = "stands beside host (want one of them)";
        return Err(Complaint::about(url, what));
    }
    let users = groups.users(document.user, folder)?;
    let security_groups = security_group::groups(document.security_group, &users)?;
    let mut types = Types::default();
    let mut taken = Taken::default();
    let indices = indices(&document.namespace)?;
    let mut namespaces = Vec::new();
    for (at, (table, index)) in document.namespace.into_iter().zip(indices).enumerate() {
        let table = table.into_inner();
        namespaces.push(namespace(table, at, index, folder, &mut types, &mut taken)?);
    }
    Ok(Plant {
        name,
        listen: listen.map(|(listen, _)| listen),
        wss: document.wss,
        https: document.https,
        cors: document.cors.map(origin).transpose()?,
        host: document
            .host
            .or_else(|| named.then(|| "localhost".to_owned())),
        advertise: document.advertise.as_ref().map(advertised).transpose()?,
        protections: document.security.map(protections).transpose()?,
        anonymous: document.anonymous.unwrap_or(true),
        anonymous_rights,
        users,
        user_certificates: document.user_certificates.map(|own| folder.join(own)),
        zones: groups.zones,
        transfer: document.transfer,
        discovery: document.discovery.unwrap_or(false),
        audit: document.audit.unwrap_or(false),
        reverse: document
            .reverse
            .unwrap_or_default()
            .iter()
            .map(advertised)
            .collect::<Read<_>>()?,
        register: document
            .register
            .unwrap_or_default()
            .iter()
            .map(discovery_server)
            .collect::<Read<_>>()?,
        register_every: document.register_every.as_ref().map(every).transpose()?,
        publish: document
            .publish
            .into_iter()
            .map(|table| publishing(table, folder, &security_groups))
            .collect::<Read<_>>()?,
        security_groups,
        memory: limits::memory(document.limits.as_ref())?,
        limits: limits::limits(document.limits.unwrap_or_default())?,
        threads: threads(document.threads, 255)?,
        update_threads: threads(document.update_threads, 255)?.unwrap_or(1),
        metrics: document.metrics.unwrap_or(false),
        faults: document.fault,
        namespaces,
    })
}

/// Where to listen, and whether that was told by name.
fn listen(endpoint: &Spanned<String>) -> Read<(SocketAddr, bool)> {
    let text = endpoint.get_ref();
    let wrong = |why: &str| {
        let what = format!("{text:?} {why} (want \"opc.tcp://127.0.0.1:4840\")");
        Complaint::about(endpoint, what)
    };
    let url: Url = text.parse().map_err(|_| wrong("is no endpoint"))?;
    if url.transport() != Transport::Tcp {
        return Err(wrong(match url.transport() {
            Transport::Https => "is over HTTPS: give its port here as https",
            Transport::Wss | Transport::Tcp => "is over WebSockets: give their port here as wss",
        }));
    }
    if !url.path().trim_matches('/').is_empty() {
        return Err(wrong("has a path, which servers here do not"));
    }
    let host = url.host().trim_matches(['[', ']']);
    let (address, named) = match host.parse::<IpAddr>() {
        Ok(address) => (address, false),
        Err(_) if host == "localhost" => (Ipv4Addr::LOCALHOST.into(), true),
        Err(_) => {
            return Err(wrong(
                "listens on a name: give an address of this machine here and the name as host",
            ));
        }
    };
    Ok((SocketAddr::new(address, url.port()), named))
}

/// The whole URL that clients are told, or of a client that is dialled.
fn advertised(text: &Spanned<String>) -> Read<Url> {
    let url = text.get_ref().parse().ok();
    let over_tcp = url.filter(|url: &Url| url.transport() == Transport::Tcp);
    over_tcp.ok_or_else(|| {
        let what = format!(
            "{:?} is no endpoint (want \"opc.tcp://HOST:4840\")",
            text.get_ref()
        );
        Complaint::about(text, what)
    })
}

fn discovery_server(text: &Spanned<String>) -> Read<Url> {
    text.get_ref().parse().map_err(|_| {
        let what = format!(
            "{:?} is no discovery server (want \"opc.tcp://HOST:4840\")",
            text.get_ref()
        );
        Complaint::about(text, what)
    })
}

/// One of these words, or the first of them where there is none.
fn one_of(word: Option<&Spanned<String>>, words: &[&str]) -> Read<String> {
    let Some(word) = word else {
        return Ok(words.first().copied().unwrap_or_default().to_owned());
    };
    match words.contains(&word.get_ref().as_str()) {
        true => Ok(word.get_ref().clone()),
        false => {
            let what = format!("is {:?} (want {})", word.get_ref(), words.join(", "));
            Err(Complaint::about(word, what))
        }
    }
}

/// How a broker is spoken to, if it is one.
fn brokered(table: &PublishTable, folder: &Path) -> Read<Brokered> {
    let to = table.to.get_ref();
    let is_broker = to.starts_with("mqtt://") || to.starts_with("mqtts://");
    let is_direct = to.starts_with("opc.udp://") || to.starts_with("opc.eth://");
    if !is_broker && !is_direct {
        let what = format!(
            "{to:?} is no place to publish to (want \"opc.udp://HOST:PORT\", \"opc.eth://MAC\", or \"mqtt://HOST:PORT/PREFIX\" \
             of a broker)"
        );
        return Err(Complaint::about(&table.to, what));
    }
    let mapping = one_of(
        table.mapping.as_ref(),
        &["uadp", "json", "json-verbose", "json-reversible"],
    )?;
    if let Some(written) = table
        .mapping
        .as_ref()
        .filter(|_| !is_broker && mapping != "uadp")
    {
        let what = format!("is {mapping:?} (want uadp: JSON goes to brokers, mqtt://HOST)");
        return Err(Complaint::about(written, what));
    }
    if let Some(qos) = table.qos.as_ref().filter(|it| *it.get_ref() > 2) {
        let what = format!("is {} (want 0, 1 or 2)", qos.get_ref());
        return Err(Complaint::about(qos, what));
    }
    if let Some(file) = table
        .password_file
        .as_ref()
        .filter(|_| table.user.is_none())
    {
        return Err(Complaint::about(file, "is of nobody (want a user, too)"));
    }
    match (&table.client_cert, &table.client_key) {
        (Some(file), _) | (_, Some(file)) if !to.starts_with("mqtts://") => {
            let what = "is shown inside TLS only (want to = \"mqtts://HOST\")";
            return Err(Complaint::about(file, what));
        }
        (Some(certificate), None) => {
            return Err(Complaint::about(
                certificate,
                "has no key (want client_key, too)",
            ));
        }
        (None, Some(key)) => {
            return Err(Complaint::about(
                key,
                "is of no certificate (want client_cert, too)",
            ));
        }
        _ => {}
    }
    let found = |file: &Option<Spanned<PathBuf>>| file.as_ref().map(|it| folder.join(it.get_ref()));
    Ok(Brokered {
        mapping,
        mqtt: one_of(table.mqtt.as_ref(), &["3.1.1", "5"])?,
        qos: table.qos.as_ref().map_or(0, |it| *it.get_ref()),
        user: table.user.clone(),
        password_file: found(&table.password_file),
        client_cert: found(&table.client_cert),
        client_key: found(&table.client_key),
    })
}

/// Where signals are published. Files are looked for in `folder`.
fn publishing(table: PublishTable, folder: &Path, groups: &[SecurityGroup]) -> Read<Publishing> {
    let broker = brokered(&table, folder)?;
    let (security, group) = (table.security.as_ref(), table.security_group.as_ref());
    let security = security_group::secured(security, group, groups)?;
    if let Some(group) = group.filter(|_| broker.mapping != "uadp") {
        let what = "stands beside a mapping in JSON, which has no security (want uadp)";
        return Err(Complaint::about(group, what));
    }
    if let Some(none) = table.signals.as_ref().filter(|it| *it.get_ref() == 0) {
        return Err(Complaint::about(
            none,
            "is 0 (want 1 or more; without it all)",
        ));
    }
    let raw = match &table.encoding {
        None => false,
        Some(encoding) => match encoding.get_ref().as_str() {
            "variant" => false,
            "raw" => true,
            other => {
                let what = format!("is {other:?} (want variant or raw)");
                return Err(Complaint::about(encoding, what));
            }
        },
    };
    let over_udp = table.to.get_ref().starts_with("opc.udp://");
    if let Some(at) = &table.discovery
        && !(over_udp && at.get_ref().starts_with("opc.udp://"))
    {
        let what = "wants opc.udp://HOST:PORT, of what is published over UDP";
        return Err(Complaint::about(at, what));
    }
    let mut publishing = Publishing::new(table.to.into_inner());
    publishing.discovery = table.discovery.map(Spanned::into_inner);
    publishing.broker = broker;
    publishing.security = security;
    publishing.raw = raw;
    publishing.interface = table.interface;
    publishing.ttl = table.ttl.unwrap_or(publishing.ttl);
    publishing.dscp = table.dscp.map(|it| match it {
        Dscp::Name(name) => name,
        Dscp::Number(number) => number.to_string(),
    });
    publishing.signals = table.signals.map(Spanned::into_inner);
    publishing.publisher = table.publisher.unwrap_or(publishing.publisher);
    if let Some(interval) = table.interval {
        publishing.interval = interval.get_ref().0;
        if publishing.interval.is_zero() {
            return Err(Complaint::about(
                &interval,
                "is 0s (want more than nothing)",
            ));
        }
    }
    Ok(publishing)
}

/// Part 4, 5.5.5.1: at least each ten minutes.
fn every(span: &Spanned<Span>) -> Read<Duration> {
    let every = span.get_ref().0;
    match REGISTER_EVERY.contains(&every) {
        true => Ok(every),
        false => Err(Complaint::about(
            span,
            format!("is {every:?} (want 1s to 10m)"),
        )),
    }
}

fn protections(asked: Spanned<Vec<Spanned<String>>>) -> Read<Vec<Protection>> {
    if asked.get_ref().is_empty() {
        let what = "is empty (want \"none\" or POLICY:MODE; without it everything is offered)";
        return Err(Complaint::about(&asked, what));
    }
    let one = |text: Spanned<String>| {
        protection(text.get_ref()).ok_or_else(|| {
            let what = format!(
                "{:?} is no security (want \"none\", or POLICY:MODE as \"Basic256Sha256:SignAndEncrypt\")",
                text.get_ref()
            );
            Complaint::about(&text, what)
        })
    };
    asked.into_inner().into_iter().map(one).collect()
}

fn protection(text: &str) -> Option<Protection> {
    if text.eq_ignore_ascii_case("none") {
        return Some(Protection::NONE);
    }
    let (policy, mode) = text.split_once(':')?;
    let protection = Protection {
        policy: policy.parse().ok()?,
        mode: mode.parse().ok()?,
    };
    protection.is_consistent().then_some(protection)
}

/// The index that each namespace has when the plant is alone on a server.
fn indices(tables: &[Spanned<NamespaceTable>]) -> Read<Vec<u16>> {
    // OPC UA and the server itself.
    let mut uris: Vec<Option<&str>> = vec![Some("http://opcfoundation.org/UA/"), None];
    let mut indices = Vec::new();
    for table in tables {
        let NamespaceTable { uri, index, .. } = table.get_ref();
        let index = match (uri, index) {
            (None, Some(index)) if *index.get_ref() == 1 => 1,
            (None, _) => {
                let what = "missing field `uri` (only index = 1, the server's own, has none)";
                return Err(Complaint::about(table, what));
            }
            (Some(uri), _) if uri.get_ref().is_empty() => {
                return Err(Complaint::about(uri, "is empty (want a URI)"));
            }
            (Some(uri), _) if uris.contains(&Some(uri.get_ref())) => {
                let what = format!(
                    "{} is there already (want each namespace once)",
                    uri.get_ref()
                );
                return Err(Complaint::about(uri, what));
            }
            (Some(uri), None) => {
                uris.push(Some(uri.get_ref()));
                uris.len() - 1
            }
            (Some(uri), Some(index)) => {
                let next = uris.len();
                let asked = usize::from(*index.get_ref());
                if asked < next {
                    let what =
                        format!("is {asked}, which another namespace has (want {next} or more)");
                    return Err(Complaint::about(index, what));
                }
                uris.resize(asked, None);
                uris.push(Some(uri.get_ref()));
                asked
            }
        };
        indices.push(u16::try_from(index).unwrap_or(u16::MAX));
    }
    Ok(indices)
}

fn namespace(
    table: NamespaceTable,
    at: usize,
    index: u16,
    folder: &Path,
    types: &mut Types,
    taken: &mut Taken,
) -> Read<Namespace> {
    let mut folders = Vec::new();
    for folder in table.folder {
        let what = format!("folder {}", folder.path.get_ref());
        taken.one(index, &folder.id, folder.id.get_ref(), &what)?;
        folders.push(Folder {
            path: path(Some(folder.path))?,
            id: folder.id.into_inner(),
        });
    }
    let enumerations = types.enumerations(table.enumeration, at, index, taken)?;
    let structures = types.structures(table.structure, at, index, taken)?;
    let mut groups = Vec::new();
    for signals in table.signals {
        let span = signals.span();
        let number = groups.len() as u64;
        let seed = (at as u64) << 48 | number << 32;
        let group = group::group(signals.into_inner(), span.clone(), seed, folder, types)?;
        taken.group(index, span, &group)?;
        groups.push(group);
    }
    let mut events = Vec::new();
    for table in table.events {
        let span = table.span();
        let sources = event::sources(table.into_inner(), span.clone())?;
        let who = format!("events of {}", sources.name.with(sources.first));
        let EventSources {
            ids, count, first, ..
        } = &sources;
        taken.many(index, span, ids, (*count, *first), &who)?;
        events.push(sources);
    }
    let mut methods = Vec::new();
    for method in table.method {
        let span = method.span();
        let table = method.into_inner();
        let name = table.name.get_ref().clone();
        let id = Spanned::new(span.clone(), Id::text(&name));
        let id = table.id.unwrap_or(id);
        taken.one(index, &id, id.get_ref(), &format!("method {name}"))?;
        let object = path(
            table
                .object
                .or_else(|| Some(Spanned::new(span, METHODS.to_owned()))),
        )?;
        let does = table.does.map_or(Does::Echo, Spanned::into_inner);
        let arguments = types.fields(table.arguments)?;
        if does == Does::Sum && arguments.iter().any(|(field, _)| !is_double(field)) {
            let what = "adds Doubles up, and not all of its arguments are (want type = \"Double\")";
            return Err(Complaint::about(&table.name, what));
        }
        methods.push(MethodNode {
            object_id: match table.object_id {
                Some(id) => id.into_inner(),
                None => Id::text(&object),
            },
            object,
            name,
            id: id.into_inner(),
            does,
            arguments: arguments.into_iter().map(|(field, _)| field).collect(),
        });
    }
    Ok(Namespace {
        uri: table.uri.map(Spanned::into_inner),
        index: table.index.map(Spanned::into_inner),
        folders,
        structures,
        enumerations,
        groups,
        methods,
        events,
    })
}

/// The object of methods that do not name one.
const METHODS: &str = "Methods";

fn is_double(field: &crate::describe::Field) -> bool {
    field.len.is_none() && field.kind.wire() == wire::template::walk::BuiltInType::Double
}
