//! `--listen-reverse`: servers that dial, awaited at one port of this process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use load::transport::Callers;
use wire::url::{Transport, Url};

use crate::failure::Failure;

/// Whether servers dial.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "reverse")]
pub struct Args {
    /// Do not dial: await the servers here, which dial (reverse connect), such as opc.tcp://0.0.0.0:4841, or a port
    #[arg(long, value_name = "URL|PORT", value_parser = place, help_heading = "Reverse connect")]
    listen_reverse: Option<SocketAddr>,
}

/// The port, once somebody listens: a process has one at most, for all its servers.
static OPEN: Mutex<Option<Arc<Callers>>> = Mutex::new(None);

impl Args {
    /// Whether servers are awaited.
    pub fn is_asked(&self) -> bool {
        self.listen_reverse.is_some()
    }

    /// Where servers are awaited, if they are: since before, or from now on.
    pub fn begin(&self) -> Result<Option<Arc<Callers>>, Failure> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(address)) = (&*open, self.listen_reverse) {
            let callers = Callers::listen(address).map_err(|error| {
                let what = format!("--listen-reverse: cannot listen on {address}: {error}");
                Failure::new(what).hint("is another program there? name another port")
            })?;
            *open = Some(Arc::new(callers));
        }
        Ok(open.clone())
    }
}

/// An address of this machine and a port, as a URL or the port alone.
fn place(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::UNSPECIFIED, port).into());
    }
    let wrong = || format!("{text:?} is no place to listen (want opc.tcp://0.0.0.0:4841, or 4841)");
    let url: Url = text.parse().map_err(|_| wrong())?;
    if url.transport() != Transport::Tcp {
        return Err(wrong());
    }
    let host = url.host().trim_matches(['[', ']']);
    let address: IpAddr = match host.parse() {
        Ok(address) => address,
        Err(_) if host == "localhost" => Ipv4Addr::LOCALHOST.into(),
        Err(_) => return Err(wrong()),
    };
    Ok(SocketAddr::new(address, url.port()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_port_or_an_address_of_this_machine() {
        let at = |text| place(text).unwrap().to_string();
        assert_eq!(at("4841"), "0.0.0.0:4841");
        assert_eq!(at("opc.tcp://127.0.0.1:4841"), "127.0.0.1:4841");
        assert_eq!(at("opc.tcp://localhost:4841"), "127.0.0.1:4841");
        assert_eq!(at("opc.tcp://[::]:4841"), "[::]:4841");
        for wrong in [
            "opc.tcp://plc1:4841",
            "opc.wss://127.0.0.1:4843",
            "4841/x",
            "",
        ] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
