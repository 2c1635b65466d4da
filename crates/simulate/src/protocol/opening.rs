//! From a connection of TCP to the first message: TLS where it is, and who talks then.

use plan::Random;
use wss::{Tunnel, TunnelError};

use super::course::{ProtocolStep, Side};
use super::due::What;
use super::parties::{Answering, Caller, Opened};
use super::secured::{self, Progress, Tls};
use super::world::World;

impl World<'_> {
    /// TCP is there: what goes over it begins.
    pub fn opened(&mut self, session: usize, side: Side) {
        let (now, scene) = (self.now, self.scene);
        let it = self.session(session);
        let is_known = match side {
            Side::Client => it.caller.is_some(),
            Side::Server => it.answering.is_some(),
        };
        if is_known || it.tunnels[side.index()].is_some() {
            return;
        }
        if side == Side::Client {
            it.done(ProtocolStep::Connect, now);
        } else {
            let random = Random::stream(scene.seed, &[1, u64::from(it.number)]);
            it.answering = Some(Answering::new(
                &scene.server,
                scene.client.reads.value.clone(),
                scene.server_costs,
                random,
                it.number + 1,
                scene.tls.as_ref().and_then(Tls::shared_channel),
                now,
            ));
        }
        match scene.tls.as_ref().map(|tls| tls.end(side)) {
            None if side == Side::Client => self.call_if_open(session),
            None => {}
            Some(Err(error)) => self.end(session, Some(format!("TLS handshake: {error}"))),
            Some(Ok(mut tunnel)) => {
                let bytes = secured::taken(&mut tunnel);
                self.session(session).tunnels[side.index()] = Some(tunnel);
                self.ship(session, side, (0.0, 0.0), bytes, None);
            }
        }
    }

    /// The client begins where messages can go.
    pub fn call_if_open(&mut self, session: usize) {
        let (now, scene) = (self.now, self.scene);
        let it = self.session(session);
        let is_shut = |tunnel: &Tunnel| !tunnel.is_open();
        if it.tunnels[0].as_ref().is_some_and(is_shut) {
            return;
        }
        let random = Random::stream(scene.seed, &[0, u64::from(it.number)]);
        let way = Opened {
            discovers: it.discovers,
            shared_channel: scene.tls.as_ref().and_then(Tls::shared_channel),
            steps: std::mem::take(&mut it.before),
            began: it.began,
            at: now,
        };
        it.caller = Some(Caller::new(
            &scene.client,
            &scene.server,
            scene.client_costs,
            way,
            random,
        ));
        self.go(session, Side::Client);
    }

    /// Bytes of TCP: chunks as they are, or what TLS makes of them.
    pub fn take(&mut self, session: usize, side: Side, bytes: &[u8]) -> Result<(), TunnelError> {
        let (now, scene) = (self.now, self.scene);
        let it = self.session(session);
        let Some(tunnel) = &mut it.tunnels[side.index()] else {
            it.partial[side.index()].extend_from_slice(bytes);
            return Ok(());
        };
        let before = Progress::of(tunnel);
        let chunks = secured::receive(tunnel, bytes.to_vec())?;
        let (after, out) = (Progress::of(tunnel), secured::taken(tunnel));
        it.partial[side.index()].extend_from_slice(&chunks);
        let is_shaken = before == Progress::Shaking && after != Progress::Shaking;
        match side {
            Side::Client if is_shaken => {
                let costs = &scene.client_costs;
                let spent = (costs.verify + costs.check, costs.ask);
                self.ship(session, side, spent, out, Some(ProtocolStep::TlsHandshake));
            }
            Side::Client => {
                self.ship(session, side, (0.0, 0.0), out, None);
                if before == Progress::Upgrading && after == Progress::Open {
                    self.session(session).done(ProtocolStep::Upgrade, now);
                    self.call_if_open(session);
                }
            }
            Side::Server => {
                // Its certificate is behind a signature, which is the first that it sends.
                let signs = after == Progress::Shaking && !out.is_empty();
                let spent = if signs { scene.server_costs.sign } else { 0.0 };
                self.ship(session, side, (spent, 0.0), out, None);
            }
        }
        Ok(())
    }

    /// What TLS has to say takes its time; a step of the client's is done then.
    fn ship(
        &mut self,
        session: usize,
        side: Side,
        (cost, wait): (f64, f64),
        bytes: Vec<u8>,
        done: Option<ProtocolStep>,
    ) {
        if bytes.is_empty() && done.is_none() {
            return;
        }
        let at = self.occupy(session, side, cost) + wait as u64;
        self.plan(at, session, What::Ships(side, bytes, done));
    }
}
