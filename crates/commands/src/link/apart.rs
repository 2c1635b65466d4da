//! A relay on the host of an agent: what the agent does, and what is heard of it here.

use std::time::{Duration, Instant};

use ::fleet::frame::{pack, unpack};
use load::engine::Control;
use load::relay::Account;
use serde::{Deserialize, Serialize};

use super::{Relayed, begun, bind, line};
use crate::failure::Failure;
use crate::fleet::{Links, Role, RoleEvent, Roles, Spec, Way, wait_until};
use crate::global::Global;
use crate::publishing::role::Stage;
use crate::{interrupt, screen};

/// What an agent tells of its relay.
#[derive(Debug, Serialize, Deserialize)]
enum FromRelay {
    /// Clients may come, to this port.
    Listening(u16),
    /// How things stand.
    Stands(Account),
}

/// An interrupt is looked for so often.
const LOOK_UP: Duration = Duration::from_millis(20);

/// Relays for a controller until that ends it or is gone.
pub fn carry_out(links: &Links, stage: &Stage<'_>) -> anyhow::Result<Vec<u8>> {
    let relay = bind(links)?;
    let port = relay.address()?.port();
    let at = (stage.ready)().ok_or_else(Failure::interrupted)?;
    if !wait_until(at, stage.control) {
        return Err(Failure::interrupted().into());
    }
    let tell = |it: &FromRelay| {
        // It is short.
        pack(it).into_iter().for_each(|bytes| (stage.tell)(bytes));
    };
    tell(&FromRelay::Listening(port));
    let is_over = || stage.control.is_over();
    let account = relay.run(&is_over, None, &mut |it| tell(&FromRelay::Stands(*it)))?;
    Ok(pack(&account)?)
}

/// Has an agent relay until this command is ended, or for so long.
pub fn run(
    on: &Spec,
    links: Links,
    duration: Option<Duration>,
    global: &Global,
) -> anyhow::Result<Relayed> {
    if matches!(on.way(), Way::Local(many) if *many != 1) {
        return Err(Failure::usage(format!("--on {on}: want one agent")).into());
    }
    let control = Control::default();
    interrupt::stops(&control)?;
    let mut roles = Roles::gather(std::slice::from_ref(on), &control, global)?;
    let listen = links.listen;
    let host = match listen.ip().is_unspecified() {
        true => roles.host(0),
        false => None,
    };
    let url = |port: u16| match &host {
        Some(host) if host.contains(':') => format!("opc.tcp://[{host}]:{port}"),
        Some(host) => format!("opc.tcp://{host}:{port}"),
        None => format!("opc.tcp://{}", std::net::SocketAddr::new(listen.ip(), port)),
    };
    roles.begin(vec![Role::Link(links.clone())], &[1], &control)?;
    let name = roles.name(0).to_owned();
    let mut relayed = Relayed {
        listen: url(listen.port()),
        on: Some(name.clone()),
        interrupted: false,
        lost: None,
        account: Account::default(),
    };
    let mut until = None::<Instant>;
    let mut ending = false;
    loop {
        match roles.next(LOOK_UP) {
            RoleEvent::Progress(_, bytes) => match unpack(&bytes)? {
                FromRelay::Listening(port) => {
                    relayed.listen = url(port);
                    begun(&relayed.listen, Some(&name), &links);
                    until = duration.map(|it| Instant::now() + it);
                }
                FromRelay::Stands(account) => {
                    screen::status(&line(&account));
                    relayed.account = account;
                }
            },
            RoleEvent::Results(_, bytes) => {
                relayed.account = unpack(&bytes)?;
                break;
            }
            RoleEvent::Gone(_) => {
                relayed.lost = Some(roles.failed(0).to_string());
                break;
            }
            RoleEvent::Over => {
                relayed.lost = Some(format!("nothing more comes of {name}"));
                break;
            }
            RoleEvent::Nothing => {}
        }
        let is_due = until.is_some_and(|it| Instant::now() >= it);
        if !ending && (control.is_over() || is_due) {
            ending = true;
            relayed.interrupted = control.is_over();
            roles.stop();
        }
    }
    roles.end();
    Ok(relayed)
}
