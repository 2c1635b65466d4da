//! What comes to the port of multicast DNS: by whoever is on the network, to who asks and to who answers.

use std::collections::BTreeMap;
use std::time::Duration;

use mdns::{Browser, Data, Kind, Name, Offer, Packet, Responder, Text};

use crate::script::Script;

/// So many bytes a packet may have here: with its names written out it still is one.
const MOST: usize = 600;

/// Packets one after another, each behind a byte that says how much later it comes and from which port, and two for its length.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let host = Name::dotted("plc.local").unwrap();
    let offer = |kind| Offer {
        name: "bench".to_owned(),
        kind,
        host: host.clone(),
        port: 4840,
        text: Text::default(),
    };
    let hosts = BTreeMap::from([(host.clone(), vec![[192, 0, 2, 7].into()])]);
    let offers = Kind::ALL.map(offer).into();
    let mut responder = Responder::new(offers, hosts, Duration::ZERO).unwrap();
    let mut browser = Browser::new().unwrap();
    let mut now = Duration::ZERO;
    while !script.is_over() {
        let how = script.byte();
        let len = usize::from(script.byte()) << 8 | usize::from(script.byte());
        now += Duration::from_millis(u64::from(how >> 1) * 8);
        if let Ok(packet) = Packet::read(script.take(len % MOST)) {
            // What was understood is written so that it is understood again; what was not is left out of it.
            let again = Packet::read(&packet.write()).unwrap();
            let understood = |it: &Packet| {
                let all = it.said().filter(|it| !matches!(it.data, Data::Other(_)));
                all.cloned().collect::<Vec<_>>()
            };
            assert_eq!(understood(&again), understood(&packet));
            browser.hear(&packet, 1, now);
            responder
                .hear(&packet, how & 1 == 1, now)
                .iter()
                .for_each(sent);
        }
        let said = [browser.poll(now), responder.poll(now)].concat();
        said.iter().for_each(sent);
    }
    for found in browser.found(now) {
        assert!(found.name.len() <= 3 * 63 && found.addresses.len() <= 64);
    }
    responder.end().iter().for_each(sent);
}

/// What is sent can be read.
fn sent(packet: &Packet) {
    assert_eq!(Packet::read(&packet.write()).as_ref(), Ok(packet));
}
