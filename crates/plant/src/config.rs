//! What a server is told before it starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use capture::Recorder;
use wire::budget::Budget;
use wire::channel::{Protection, all_protections};
use wire::url::Url;

use crate::describe::{Plant, Publishing};
use crate::fault::Fault;
use crate::limits::{Limits, Transfer};
use crate::nodeset::NodeSet;
use crate::profile::Profile;
use crate::security_group::SecurityGroup;
use crate::trust::TrustPolicy;
use crate::users::Users;

/// What a server is told before it starts.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The port at which clients come over WebSockets inside TLS (`opc.wss`), at the same address; port 0 takes a free
    /// one.
    pub wss: Option<u16>,
    /// The port at which clients come over HTTPS (`opc.https`), at the same address; port 0 takes a free one.
    pub https: Option<u16>,
    /// Whose pages browsers may let ask over HTTPS: an origin such as `https://hmi.example`, or `*` (CORS).
    pub cors: Option<String>,
    /// The host in the endpoint's URL. When not given it is the address, or with one that stands for all what each
    /// client came by.
    pub host: Option<String>,
    /// The whole URL that clients are told, where they come by another way than this machine knows of.
    pub advertise: Option<Url>,
    /// Clients that this server dials, so that they need not reach it (Part 6, 7.1.2.6).
    pub reverse: Vec<Url>,
    /// The application URI, when there is no certificate that says it.
    pub application_uri: String,
    /// The application's name, for people.
    pub name: String,
    /// Certificate and key; without them only the policy None is on offer.
    pub identity: Option<pki::Identity>,
    /// More of them, of the same application, with other kinds of keys: policies are on offer as far as there is a
    /// certificate for them.
    pub beside: Vec<pki::Identity>,
    /// The policies and modes on offer.
    pub protections: Vec<Protection>,
    /// Which clients are trusted.
    pub trust: TrustPolicy,
    /// Whether certificates are checked for others, too, by the same lists (Part 12, 7.9.11).
    pub check_revocation: bool,
    /// Who may activate a session.
    pub users: Users,
    /// Who may take subscriptions over.
    pub transfer: Transfer,
    /// What is granted at most.
    pub limits: Limits,
    /// Memory for what clients send, ask for and do not take. Servers of one process share it.
    pub memory: Budget,
    /// Whether other servers may register here (Part 4, 5.5.5), so that it is a discovery server for them.
    pub discovery: bool,
    /// Whether audit events tell what clients do (Part 4, 6.5).
    pub audit: bool,
    /// What is in the address space beside the standard one.
    pub profiles: Vec<Profile>,
    /// Nodes that files describe.
    pub nodesets: Vec<NodeSet>,
    /// What is published, over PubSub. Whoever runs the server sees to that; it says so.
    pub publish: Vec<Publishing>,
    /// Who gets keys of PubSub here.
    pub security_groups: Vec<SecurityGroup>,
    /// What goes wrong from the start.
    pub faults: Vec<Fault>,
    /// Loops that serve connections, each with a thread of its own; 0 for half of the processors.
    pub threads: usize,
    /// Processors that the loops are bound to, one after the other; none for the system's choice.
    pub pin: Vec<usize>,
    /// Loops never sleep: answers come some microseconds earlier, for a processor each.
    pub spin: bool,
    /// Records what goes over all connections, and the keys of their channels.
    pub recorder: Option<Recorder>,
}

impl Default for Config {
    /// Loopback, a free port, every policy, anybody; subscriptions are of their users.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            wss: None,
            https: None,
            cors: None,
            host: None,
            advertise: None,
            reverse: Vec::new(),
            application_uri: "urn:uaperf:plant".into(),
            name: "uaperf plant".into(),
            identity: None,
            beside: Vec::new(),
            protections: all_protections().collect(),
            trust: TrustPolicy::All,
            check_revocation: false,
            users: Users::default(),
            transfer: Transfer::default(),
            limits: Limits::default(),
            memory: Budget::default(),
            discovery: false,
            audit: false,
            profiles: vec![Profile::Demo],
            nodesets: Vec::new(),
            publish: Vec::new(),
            security_groups: Vec::new(),
            faults: Vec::new(),
            threads: 1,
            pin: Vec::new(),
            spin: false,
            recorder: None,
        }
    }
}

impl Config {
    /// Whether messages in JSON are taken over WebSockets. They have no secure channel: TLS alone protects them, which is
    /// for a server to offer that takes sessions without protection, or over HTTPS.
    pub(crate) fn has_json_sockets(&self) -> bool {
        self.https.is_some() || self.protections.contains(&Protection::NONE)
    }
}

impl Plant {
    /// How it is to be served: what it says, and the rest of `config`. What is in the address
    /// space of `config` already stays there.
    pub fn config(self, config: Config) -> Config {
        Arc::new(self).shared_config(config)
    }

    /// The same for one of many that have this plant.
    pub fn shared_config(self: &Arc<Self>, mut config: Config) -> Config {
        config.name.clone_from(&self.name);
        if let Some(listen) = self.listen {
            config.listen = listen;
        }
        config.wss = self.wss.or(config.wss);
        config.https = self.https.or(config.https);
        if self.cors.is_some() {
            config.cors.clone_from(&self.cors);
        }
        if self.host.is_some() {
            config.host.clone_from(&self.host);
        }
        if let Some(url) = &self.advertise {
            config.advertise = Some(url.clone());
        }
        config.reverse.extend(self.reverse.iter().cloned());
        if let Some(bytes) = self.memory {
            config.memory = Budget::of(bytes);
        }
        if let Some(protections) = &self.protections {
            config.protections.clone_from(protections);
        }
        if let Some(threads) = self.threads {
            config.threads = threads;
        }
        if let Some(transfer) = self.transfer {
            config.transfer = transfer;
        }
        config.discovery |= self.discovery;
        config.audit |= self.audit;
        config.limits = self.limits.clone();
        let users = self.users.iter();
        config.users = Users {
            anonymous: self.anonymous,
            anonymous_rights: self.anonymous_rights,
            passwords: users
                .clone()
                .filter_map(|user| Some((user.name.clone(), user.hash.clone()?)))
                .collect(),
            tokens: users
                .clone()
                .filter_map(|user| Some((user.name.clone(), user.token.clone()?)))
                .collect(),
            certificates: match &self.user_certificates {
                Some(folder) => Some(TrustPolicy::from(pki::Store::new(folder))),
                None => config.users.certificates,
            },
            owners: users
                .clone()
                .filter(|user| user.certificate)
                .map(|user| user.name.clone())
                .collect(),
            rights: users.map(|user| (user.name.clone(), user.rights)).collect(),
            ..config.users
        };
        config.faults.extend(self.faults.iter().cloned());
        config.publish.extend(self.publish.iter().cloned());
        let groups = self.security_groups.iter().cloned();
        config.security_groups.extend(groups);
        config.profiles.push(Profile::Plant(Arc::clone(self)));
        config
    }
}
