//! How each kind of attack is made on a server: found out once, before the good clients begin.

use std::net::SocketAddr;
use std::time::Duration;

use wire::policy::Policy;
use wire::types::{AttributeId, NodeId, ObjectId, UserTokenType, Variant};

use super::Kind;
use super::attacker::{
    Attacker, Forger, Guesser, IdleConnections, ManyItems, OpenConnections, Reach, Replayer,
    SessionRequest, UnfinishedMessages, WrongBytes,
};
use super::{forged, raw};
use crate::access::{Access, Credentials, Endpoint, Opening, Security, ServerFacts};
use crate::security::wrong_user;
use crate::transport::Steps;
use crate::work::find;

/// Attackers wait no longer for a server.
const PATIENCE: Duration = Duration::from_secs(2);
/// Nodes that are looked at for a history.
const LOOKED_AT: usize = 3_000;
/// Histories in a request.
const HISTORIES: usize = 50;
/// CurrentRead of the history: HistoryRead of AccessLevel (Part 3, 8.57).
const HISTORY_READ: u8 = 4;
/// What a server is asked for at once that says nothing of a limit.
const AT_ONCE: usize = 1_000;
/// Items in a request.
const ITEMS_AT_ONCE: usize = 10_000;

/// What is known of a server that is to be attacked.
pub(super) struct Known<'a> {
    pub access: &'a Access,
    pub about: &'a ServerFacts,
    pub endpoints: &'a [Endpoint],
    pub address: SocketAddr,
    /// What good clients read.
    pub nodes: &'a [NodeId],
    /// Connections that are left open at most.
    pub open: usize,
    pub attackers: usize,
}

/// How a kind is made.
pub(super) struct Way {
    kind: Kind,
    access: Access,
    openings: Vec<(&'static str, Opening)>,
    wish: SessionRequest,
    hello: Vec<u8>,
    address: SocketAddr,
    /// Connections that attackers leave open, and how many share them.
    open: (usize, usize),
}

impl Way {
    /// Finds out how; why it says nothing here, if so.
    pub fn of(kind: Kind, known: &Known<'_>) -> Result<Self, String> {
        let access = Access {
            timeout: known.access.timeout.min(PATIENCE),
            ..known.access.clone()
        };
        let mut way = Self {
            kind,
            hello: raw::hello(&access.url.to_string()),
            access,
            openings: Vec::new(),
            wish: SessionRequest::Renewal,
            address: known.address,
            open: (known.open, known.attackers),
        };
        match kind {
            Kind::Certificates => way.certificates(known)?,
            Kind::Passwords => way.passwords(known)?,
            Kind::Renewals => way.best()?,
            _ => way.plain()?,
        }
        way.wish = match kind {
            Kind::Browse => SessionRequest::Everything {
                at_once: limit(known.about, "MaxNodesPerBrowse", AT_ONCE),
            },
            Kind::History => SessionRequest::Year {
                nodes: way.histories(known.about)?,
            },
            Kind::Items => SessionRequest::Items {
                nodes: known.nodes.to_vec(),
                at_once: limit(known.about, "MaxMonitoredItemsPerCall", ITEMS_AT_ONCE),
            },
            _ => SessionRequest::Renewal,
        };
        Ok(way)
    }

    /// As the good clients come.
    fn plain(&mut self) -> Result<(), String> {
        let opening = self.access.discover().map_err(|error| error.to_string())?;
        self.openings = vec![("", opening)];
        Ok(())
    }

    /// By the best protection with which a session can be had.
    fn best(&mut self) -> Result<(), String> {
        let best = Access {
            security: Security::Best,
            ..self.access.clone()
        };
        let tried = best.discover().and_then(|opening| {
            best.open(&opening, &mut Steps::new())?.leave();
            Ok(opening)
        });
        match tried {
            Ok(opening) => {
                self.access = best;
                self.openings = vec![("", opening)];
                Ok(())
            }
            Err(_) => self.plain(),
        }
    }

    fn certificates(&mut self, known: &Known<'_>) -> Result<(), String> {
        let secured = known.endpoints.iter().filter_map(|it| {
            let protection = it.protection?;
            (protection.policy != Policy::None).then_some((it, protection))
        });
        let best = secured.max_by_key(|(_, it)| (it.mode, it.policy));
        let (endpoint, protection) = best.ok_or("no endpoint asks for certificates")?;
        let anonymous =
            endpoint.tokens().is_empty() || endpoint.token(UserTokenType::Anonymous).is_some();
        self.access.security = Security::Exactly(protection);
        // Somebody has to be named; that nobody of this name exists shows after the certificate.
        self.access.user = match anonymous {
            true => Credentials::Anonymous,
            false => wrong_user(),
        };
        self.access.plain_password = true;
        let made = forged::all(&self.access, protection.policy);
        for (name, identity) in made.map_err(|error| error.to_string())? {
            let opening = self.access.discover().map_err(|error| error.to_string())?;
            let identity = crate::access::identity(&identity).map_err(|error| error.to_string())?;
            self.openings
                .push((name, opening.posing(forged::URI, Some(identity))));
        }
        Ok(())
    }

    /// By the least protection that takes names: what is of interest is what a password costs.
    fn passwords(&mut self, known: &Known<'_>) -> Result<(), String> {
        let takes = |it: &&Endpoint| it.token(UserTokenType::UserName).is_some();
        let protections = known.endpoints.iter().filter(takes);
        let protections = protections.filter_map(|it| it.protection);
        let least = protections.min_by_key(|it| (it.policy != Policy::None, it.mode, it.policy));
        let least = least.ok_or("no endpoint takes user names")?;
        self.access.security = Security::Exactly(least);
        self.access.user = wrong_user();
        // Of a user that does not exist nothing is given away.
        self.access.plain_password = true;
        self.plain()
    }

    /// Variables with a history, the nearest first.
    fn histories(&self, about: &ServerFacts) -> Result<Vec<NodeId>, String> {
        let opening = self.openings.first().map(|it| &it.1);
        let opening = opening.ok_or("no way in")?;
        let mut session = self
            .access
            .open(opening, &mut Steps::new())
            .map_err(|error| error.to_string())?;
        let found = (|| {
            let root = [NodeId::from(ObjectId::ObjectsFolder)];
            let nodes = find::nearest(&root, LOOKED_AT, &mut session)?;
            let mut found = Vec::new();
            for nodes in nodes.chunks(find::AT_A_TIME) {
                let levels = find::attributes(nodes, AttributeId::AccessLevel, &mut session)?;
                let remembered = nodes.iter().zip(levels).filter(|(_, level)| {
                    matches!(level.value, Some(Variant::Byte(level)) if level & HISTORY_READ != 0)
                });
                found.extend(remembered.map(|it| it.0.clone()));
            }
            Ok::<_, crate::work::WorkError>(found)
        })();
        session.leave();
        let mut found = found.map_err(|error| error.to_string())?;
        found.truncate(limit(about, "MaxNodesPerHistoryReadData", HISTORIES));
        match found.is_empty() {
            true => Err(format!(
                "no history was found among the {LOOKED_AT} nodes nearest to Objects"
            )),
            false => Ok(found),
        }
    }

    /// An attacker of so many.
    pub fn attacker<'a>(
        &'a self,
        number: u64,
        goes_on: &'a (dyn Fn() -> bool + Sync),
    ) -> Option<Box<dyn Attacker + 'a>> {
        let opening = &self.openings.first()?.1;
        let reach = Reach {
            address: self.address,
            hello: &self.hello,
            timeout: self.access.timeout,
        };
        let access = &self.access;
        let open = part(self.open, number as usize);
        Some(match self.kind {
            Kind::Certificates => Box::new(Forger {
                access,
                openings: &self.openings,
            }),
            Kind::HalfOpen => Box::new(IdleConnections(OpenConnections::new(
                reach, access, opening, open,
            ))),
            Kind::Unfinished => Box::new(UnfinishedMessages(OpenConnections::new(
                reach, access, opening, open,
            ))),
            Kind::Replayed => Box::new(Replayer { access, opening }),
            Kind::Malformed => Box::new(WrongBytes { reach }),
            Kind::Passwords => Box::new(Guesser { access, opening }),
            Kind::Renewals | Kind::Browse | Kind::History | Kind::Items => {
                Box::new(ManyItems::new(access, opening, &self.wish, goes_on))
            }
        })
    }
}

/// What one of several has of all.
fn part((all, several): (usize, usize), number: usize) -> usize {
    let several = several.max(1);
    all / several + usize::from(number < all % several)
}

/// A limit that the server declares, and no more than this.
fn limit(about: &ServerFacts, name: &str, most: usize) -> usize {
    let declared = about.limits.iter().find(|it| it.name == name);
    match declared.map_or(0.0, |it| it.value) {
        none if none < 1.0 => most,
        limit => most.min(limit as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attackers_leave_as_many_open_as_were_allowed_in_all() {
        for (all, several) in [(1, 256), (500, 8), (256, 256), (20_000, 7)] {
            let each = (0..several).map(|number| part((all, several), number));
            assert_eq!(each.sum::<usize>(), all, "{several}");
        }
    }
}
