//! A link between two network namespaces: every packet that one sends to the other crosses it, as slowly and as
//! badly as a [`link::Spec`] says. So the kernel's own TCP runs over it, with slow start, acknowledgements and
//! what it sends again, and UDP too.
//!
//! [`PacketLink`] makes the namespaces, with a TUN device in each, and a thread that carries packets between the
//! two. Clients live at the near end, servers at the far one; or, at the far one, whoever connects is led on to a
//! server that lives where this process does ([`PacketLink::lead_to`]). Linux only. Without rights, a user
//! namespace gives them, which [`allow`] enters before the process has a second thread.

mod account;
mod error;
mod namespace;
mod netlink;
mod pump;

pub use account::{Account, Carried};
pub use error::SetUpError;
pub use namespace::Namespace;

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use link::Spec;
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::relay::{self, Background};
use error::DEVICE;
use netlink::Netlink;
use pump::Pump;

/// The address of the near end, where clients live. It is of the block that RFC 2544 sets aside for benchmarks,
/// which no network of anybody's uses.
pub const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The address of the far end, where servers live.
pub const FAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// The same in IPv6, of the block of RFC 5180. Only if a server has such an address: a kernel that knows of
/// IPv6 sends packets of its own on each interface.
const NEAR_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
const FAR_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);

/// What the interface is called, at both ends.
const INTERFACE: &str = "link0";
/// The first interface of each namespace is its loopback.
const LOOPBACK: u32 = 1;
/// Bytes of the largest packet: those of Ethernet.
const MTU: u16 = 1500;
/// Packets that wait in the kernel until the link looks at them, which is not what they wait for on its lines.
const WAITING: u32 = 10_000;

/// What TCP of a namespace does about congestion.
const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// How often it is looked whether packets are on their way.
const LOOKED: Duration = Duration::from_millis(2);

/// What a packet link is to be.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// What lies between the two ends.
    pub spec: Spec,
    /// The seed of chance.
    pub seed: u64,
    /// Further addresses of the far end: those of a server that is to be found there under its own.
    pub far: Vec<IpAddr>,
    /// How TCP at both ends finds out how much it may send: `cubic`, `bbr`; without, as this host does.
    pub congestion: Option<String>,
}

/// Makes sure that this process may make namespaces: enters a user namespace where it may not, which only a
/// process with a single thread can.
pub fn allow() -> Result<(), SetUpError> {
    match namespace::is_privileged() {
        true => Ok(()),
        false => namespace::enter_user_namespace(),
    }
}

/// A link between two namespaces, at work for as long as this is kept.
#[derive(Debug)]
pub struct PacketLink {
    near: Namespace,
    far: Namespace,
    pump: Option<JoinHandle<io::Result<Account>>>,
    stop: Arc<AtomicBool>,
    /// Packets that are on their way.
    under_way: Arc<AtomicUsize>,
    with_v6: bool,
    led: Option<Background>,
}

impl PacketLink {
    /// Two namespaces and the link between them; packets are carried from now on.
    pub fn start(settings: &Settings) -> Result<Self, SetUpError> {
        if let Err(error) = fs::metadata(DEVICE) {
            return Err(SetUpError::Tun(error));
        }
        // What is the host's own, or nobody's, nobody can be sent to.
        let mut others: Vec<IpAddr> = settings
            .far
            .iter()
            .filter(|it| !it.is_loopback() && !it.is_unspecified() && !it.is_multicast())
            .filter(|it| it.is_ipv4() || has_ipv6())
            .copied()
            .collect();
        others.sort();
        others.dedup();
        if let Some(own) = others.iter().find(|it| **it == NEAR || **it == FAR) {
            return Err(SetUpError::Own(*own));
        }
        let with_v6 = others.iter().any(IpAddr::is_ipv6);
        let mut near_has = vec![(NEAR.into(), 30)];
        let mut far_has = vec![(FAR.into(), 30)];
        if with_v6 {
            near_has.push((NEAR_V6.into(), 64));
            far_has.push((FAR_V6.into(), 64));
        }
        let alone = |it: IpAddr| (it, if it.is_ipv4() { 32 } else { 128 });
        far_has.extend(others.into_iter().map(alone));
        let congestion = settings.congestion.as_deref();
        let (near, near_device) = end("near end", near_has, congestion)?;
        let (far, far_device) = end("far end", far_has, congestion)?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let under_way = Arc::new(AtomicUsize::new(0));
        let pump = Pump {
            spec: settings.spec,
            seed: settings.seed,
            near: near_device,
            far: far_device,
            under_way: Arc::clone(&under_way),
        };
        let pump = std::thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || pump.run(&told))
            .map_err(SetUpError::Thread)?;
        Ok(Self {
            near,
            far,
            pump: Some(pump),
            stop,
            under_way,
            with_v6,
            led: None,
        })
    }

    /// Where clients live: all that they send goes over the link.
    pub fn near(&self) -> &Namespace {
        &self.near
    }

    /// Where servers live.
    pub fn far(&self) -> &Namespace {
        &self.far
    }

    /// How TCP finds out how much it may send here; unknown where the kernel does not say.
    pub fn congestion(&self) -> Option<String> {
        let name = self.near.inside(|| fs::read_to_string(CONGESTION));
        let name = name.and_then(|it| it).ok()?;
        Some(name.trim().to_owned())
    }

    /// From now on, TCP connections to this port of the far end are led on to a server at one of these
    /// addresses, outside: the link's end is the far end's kernel, and what lies behind it comes on top.
    pub fn lead_to(&mut self, port: u16, to: Vec<SocketAddr>) -> Result<(), SetUpError> {
        let any: IpAddr = match self.with_v6 {
            true => Ipv6Addr::UNSPECIFIED.into(),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        let listener = self
            .far
            .inside(move || TcpListener::bind((any, port)))
            .and_then(|it| it)
            .map_err(SetUpError::Listen)?;
        let settings = relay::Settings {
            listen: (any, port).into(),
            to,
            spec: Spec::default(),
            seed: 0,
            connections: 10_000,
        };
        self.led = Some(Background::with(listener, settings).map_err(SetUpError::Listen)?);
        Ok(())
    }

    /// Waits until nothing is on its way, so that what was sent last arrives; not for longer than this.
    pub fn settle(&self, within: Duration) {
        let began = Instant::now();
        // Twice: what was sent a moment ago may not have come to the line yet.
        let mut idle = 0;
        while idle < 2 && began.elapsed() < within {
            std::thread::sleep(LOOKED);
            idle = match self.under_way.load(Ordering::Relaxed) {
                0 => idle + 1,
                _ => 0,
            };
        }
    }

    /// Carries nothing more, and tells what was carried.
    pub fn finish(mut self) -> io::Result<Account> {
        let led = self.led.take().map(Background::finish);
        // The interfaces go with the pump, and their counters with them.
        let counted = [&self.near, &self.far].map(|end| end.inside(account::of_namespace));
        self.stop.store(true, Ordering::Relaxed);
        let pump = self.pump.take().map(JoinHandle::join);
        let mut account = match pump {
            Some(Ok(account)) => account?,
            _ => return Err(io::Error::other("the link's thread ended")),
        };
        account.led = led.transpose()?;
        let carried = [&mut account.up, &mut account.down];
        for (counted, carried) in counted.into_iter().zip(carried) {
            let counted = counted??;
            carried.again = counted.again;
            carried.overrun = counted.overrun;
        }
        Ok(account)
    }
}

impl Drop for PacketLink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(pump) = self.pump.take() {
            let _ = pump.join();
        }
    }
}

/// Whether new namespaces of this host have IPv6.
fn has_ipv6() -> bool {
    let off = fs::read_to_string("/proc/sys/net/ipv6/conf/default/disable_ipv6");
    off.is_ok_and(|off| off.trim() == "0")
}

/// A namespace with an interface that has these addresses and leads everywhere.
fn end(
    name: &str,
    addresses: Vec<(IpAddr, u8)>,
    congestion: Option<&str>,
) -> Result<(Namespace, SyncDevice), SetUpError> {
    let namespace = Namespace::new(name)?;
    let congestion = congestion.map(str::to_owned);
    let set_up = move || {
        if let Some(name) = congestion {
            fs::write(CONGESTION, &name)
                .map_err(|source| SetUpError::Congestion { name, source })?;
        }
        set_up(&addresses)
    };
    let device = namespace.inside(set_up).map_err(SetUpError::Thread)??;
    Ok((namespace, device))
}

fn set_up(addresses: &[(IpAddr, u8)]) -> Result<SyncDevice, SetUpError> {
    let failed = |what| move |source| SetUpError::Interface { what, source };
    let device = DeviceBuilder::new()
        .name(INTERFACE)
        .mtu(MTU)
        .inherit_enable_state()
        .build_sync()
        .map_err(SetUpError::Tun)?;
    device.set_nonblocking(true).map_err(SetUpError::Tun)?;
    if addresses.iter().all(|(it, _)| it.is_ipv4()) {
        // A kernel without IPv6 has no such file, and nothing to switch off.
        let file = format!("/proc/sys/net/ipv6/conf/{INTERFACE}/disable_ipv6");
        let _ = fs::write(file, "1");
    }
    let interface = device.if_index().map_err(failed("its number"))?;
    let mut netlink = Netlink::open().map_err(failed("a netlink socket"))?;
    netlink
        .queue(interface, WAITING)
        .map_err(failed("its queue"))?;
    for (address, prefix) in addresses {
        netlink
            .address(interface, *address, *prefix)
            .map_err(failed("an address"))?;
    }
    netlink.up(LOOPBACK).map_err(failed("loopback up"))?;
    netlink.up(interface).map_err(failed("up"))?;
    let first = |is: fn(&IpAddr) -> bool| addresses.iter().map(|it| it.0).find(is);
    let families = [first(IpAddr::is_ipv4), first(IpAddr::is_ipv6)];
    for like in families.into_iter().flatten() {
        netlink
            .default_route(interface, like)
            .map_err(failed("a route"))?;
    }
    Ok(device)
}
