//! A server makes itself known to a discovery server: RegisterServer2, or RegisterServer where that one is not
//! known (Part 4, 5.5.5 and 5.5.6).

use thiserror::Error;
use wire::types::{
    ExtensionObject, MdnsDiscoveryConfiguration, NodeId, RegisterServer2Request,
    RegisterServerRequest, RegisteredServer, StatusCode,
};

use crate::access::{Access, AccessError};
use crate::transport::{CallError, Link, Steps};

/// What a discovery server is told of a server.
#[derive(Debug, Clone)]
pub struct Registration {
    /// The server, but for whether it is there.
    pub server: RegisteredServer,
    /// What it can do, in the words of Part 12, annex D: `DA`, `HD`, `AC`.
    pub capabilities: Vec<String>,
}

/// By which service a server is known now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The one since 1.03, with capabilities.
    RegisterServer2,
    /// The one before.
    RegisterServer,
}

impl By {
    /// Its name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::RegisterServer2 => "RegisterServer2",
            Self::RegisterServer => "RegisterServer",
        }
    }
}

/// Why a discovery server does not know a server now.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// It was not asked.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It was asked and refused, or did not answer.
    #[error("{} failed: {error}", .by.name())]
    Call {
        /// Which service.
        by: By,
        /// Why.
        error: CallError,
    },
}

/// How a registration was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// By which service.
    pub by: By,
    /// Policy and mode of the channel.
    pub security: String,
}

/// Tells a discovery server that a server is there, or that it is no longer.
///
/// # Errors
/// The discovery server cannot be reached, is not trusted, or refuses.
pub fn register(
    access: &Access,
    registration: &Registration,
    is_online: bool,
) -> Result<Registered, RegisterError> {
    let opening = access.discover()?;
    let mut link = access.connect(&opening, &mut Steps::new())?;
    let by = call(&mut link, registration, is_online)?;
    // What was asked for is done, whether it lets go politely or not.
    let _ = link.close();
    Ok(Registered {
        by,
        security: opening.endpoint().name(),
    })
}

fn call(
    link: &mut Link,
    registration: &Registration,
    is_online: bool,
) -> Result<By, RegisterError> {
    let server = RegisteredServer {
        is_online,
        ..registration.server.clone()
    };
    let names = server.server_names.as_deref().unwrap_or_default();
    let name = names.first().map_or("", |name| name.text.as_ref());
    let mdns = MdnsDiscoveryConfiguration {
        mdns_server_name: mdns_name(name).into(),
        server_capabilities: Some(
            registration
                .capabilities
                .iter()
                .map(|one| one.as_str().into())
                .collect(),
        ),
    };
    let newer = RegisterServer2Request {
        request_header: Default::default(),
        server: server.clone(),
        discovery_configuration: Some(vec![ExtensionObject::from_message(mdns)]),
    };
    match link.call(&NodeId::null(), newer) {
        Ok(_) => return Ok(By::RegisterServer2),
        // Part 4, 5.5.6.1: the older service is for those that say so.
        Err(error) if error.status() == StatusCode::BadServiceUnsupported => {}
        Err(error) => {
            let by = By::RegisterServer2;
            return Err(RegisterError::Call { by, error });
        }
    }
    let older = RegisterServerRequest {
        request_header: Default::default(),
        server,
    };
    let by = By::RegisterServer;
    match link.call(&NodeId::null(), older) {
        Ok(_) => Ok(by),
        Err(error) => Err(RegisterError::Call { by, error }),
    }
}

/// Part 4, 7.22: less than 64 bytes.
fn mdns_name(name: &str) -> &str {
    name.get(..name.floor_char_boundary(63)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_on_the_network_is_shorter_than_64_bytes() {
        assert_eq!(mdns_name("line 4"), "line 4");
        assert_eq!(mdns_name(&"x".repeat(64)).len(), 63);
        assert_eq!(mdns_name(&"ä".repeat(40)).len(), 62);
    }
}
