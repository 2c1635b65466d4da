//! Browsers and responders on one network, without a network: packets go as bytes from each to all, and time passes at once.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use mdns::{
    Browser, Data, FoundServer, Kind, Name, Offer, Packet, Question, Record, Responder, Text,
};

const MS: Duration = Duration::from_millis(1);

fn name(text: &str) -> Name {
    Name::dotted(text).unwrap()
}

fn offer(name_: &str, kind: Kind, port: u16) -> Offer {
    Offer {
        name: name_.into(),
        kind,
        host: name("plc-9.local"),
        port,
        text: Text {
            path: "/line4".into(),
            capabilities: vec!["DA".into(), "HD".into()],
        },
    }
}

fn responder(offers: &[Offer], address: &str, jitter: Duration) -> Responder {
    let addresses: Vec<IpAddr> = vec![address.parse().unwrap()];
    let hosts = BTreeMap::from([(name("plc-9.local"), addresses)]);
    Responder::new(offers.to_vec(), hosts, jitter).unwrap()
}

/// A network.
#[derive(Default)]
struct Net {
    responders: Vec<Responder>,
    browsers: Vec<Browser>,
    now: Duration,
    /// What was sent, and when.
    sent: Vec<(Duration, Packet)>,
}

impl Net {
    /// Lets time pass.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let mut said: Vec<Packet> = Vec::new();
            for it in &mut self.responders {
                said.extend(it.poll(self.now));
            }
            for it in &mut self.browsers {
                said.extend(it.poll(self.now));
            }
            for packet in said {
                self.send(&packet);
            }
            let responders = self.responders.iter().filter_map(Responder::due);
            let due = responders
                .chain(self.browsers.iter().filter_map(Browser::due))
                .min();
            self.now = due.map_or(end, |it| it.min(end)).max(self.now + MS / 8);
        }
        self.now = end;
    }

    /// To all, whoever sent it among them.
    fn send(&mut self, packet: &Packet) {
        let bytes = packet.write();
        assert!(bytes.len() < 1400, "{} bytes", bytes.len());
        let read = Packet::read(&bytes).unwrap();
        assert_eq!(read, *packet);
        for it in &mut self.responders {
            let unicast = it.hear(&read, false, self.now);
            for browser in &mut self.browsers {
                if let Some(packet) = &unicast {
                    browser.hear(packet, 1, self.now);
                }
            }
        }
        for it in &mut self.browsers {
            it.hear(&read, 1, self.now);
        }
        self.sent.push((self.now, read));
    }

    fn found(&self) -> Vec<FoundServer> {
        self.browsers[0].found(self.now)
    }

    fn answers(&self) -> usize {
        self.sent.iter().filter(|(_, it)| it.is_answer).count()
    }
}

fn pointer(packet: &Packet) -> Option<&Record> {
    packet
        .answers
        .iter()
        .find(|it| matches!(it.data, Data::Pointer(_)))
}

#[test]
fn who_asks_finds_each_server_with_all_that_it_says() {
    let offers = [
        offer("line 4.1", Kind::Tcp, 4840),
        offer("line 4.1", Kind::Tls, 4843),
        offer("line 4.1", Kind::Https, 8443),
    ];
    let mut net = Net::default();
    net.responders
        .push(responder(&offers, "192.0.2.7", 100 * MS));
    net.pass(3000 * MS);
    let before = net.answers();
    net.browsers.push(Browser::new().unwrap());
    let asked = net.now;
    net.pass(3000 * MS);
    let found = net.found();
    assert_eq!(found.len(), 3, "{found:?}");
    for (found, offer) in found.iter().zip(&offers) {
        assert_eq!((&found.name, found.kind), (&offer.name, offer.kind));
        assert_eq!(found.place, Some(("plc-9.local".into(), offer.port)));
        assert_eq!(found.text.as_ref(), Some(&offer.text));
        assert_eq!(found.addresses, [("192.0.2.7".parse().unwrap(), 0)]);
        assert!(
            found.first > asked,
            "it was heard of before it was asked for"
        );
    }
    // What is known already is not told again, though it is asked for again.
    let questions = net
        .sent
        .iter()
        .filter(|(at, it)| *at >= asked && !it.is_answer);
    assert!(questions.count() >= 2);
    assert_eq!(net.answers(), before + 1);
}

#[test]
fn what_does_not_come_by_itself_is_asked_for() {
    let mut browser = Browser::new().unwrap();
    let asked = browser.poll(Duration::ZERO);
    assert_eq!(asked[0].questions.len(), Kind::ALL.len());
    let (service, host) = (Kind::Tcp.name().unwrap(), name("plc.local"));
    let instance = Name::below("open62541", &service).unwrap();
    let say = |name: &Name, data: Data| {
        let record = Record {
            name: name.clone(),
            ttl: 120,
            is_all: false,
            data,
        };
        Packet {
            is_answer: true,
            answers: vec![record],
            ..Packet::default()
        }
    };
    let mut now = 10 * MS;
    browser.hear(&say(&service, Data::Pointer(instance.clone())), 1, now);
    let next = |browser: &mut Browser, now: &mut Duration| {
        *now = browser.due().unwrap();
        let packets = browser.poll(*now);
        let questions = packets.into_iter().flat_map(|it| it.questions);
        questions.map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(
        next(&mut browser, &mut now),
        [instance.clone(), instance.clone()]
    );
    let place = Data::Service {
        port: 4840,
        host: host.clone(),
    };
    browser.hear(&say(&instance, place), 1, now);
    browser.hear(
        &say(&instance, Data::Text(vec![b"caps=LDS".to_vec()])),
        1,
        now,
    );
    assert_eq!(next(&mut browser, &mut now), [host.clone(), host.clone()]);
    // A host that nobody asked for is not kept, and one address of two families is enough.
    browser.hear(
        &say(&name("other.local"), Data::Address([192, 0, 2, 1].into())),
        1,
        now,
    );
    browser.hear(
        &say(&host, Data::Address("fe80::7".parse().unwrap())),
        5,
        now,
    );
    let found = browser.found(now);
    assert_eq!(found[0].addresses, [("fe80::7".parse().unwrap(), 5)]);
    assert_eq!(found[0].text.as_ref().unwrap().capabilities, ["LDS"]);
    let asked = next(&mut browser, &mut now);
    assert!(
        !asked.contains(&host) && !asked.contains(&instance),
        "{asked:?}"
    );
}

#[test]
fn a_server_that_says_goodbye_is_gone_and_one_whose_time_is_over_as_well() {
    let mut net = Net::default();
    net.responders
        .push(responder(&[offer("a", Kind::Tcp, 1)], "192.0.2.7", MS));
    net.browsers.push(Browser::new().unwrap());
    net.pass(3000 * MS);
    assert_eq!(net.found().len(), 1);
    assert!(
        net.browsers[0]
            .found(net.now + Duration::from_secs(4501))
            .is_empty()
    );
    let goodbye = net.responders[0].end();
    for packet in &goodbye {
        net.send(packet);
    }
    assert!(net.found().is_empty());
    assert!(
        goodbye
            .iter()
            .flat_map(|it| &it.answers)
            .all(|it| it.ttl == 0)
    );
    // The host's own records are not taken back with it.
    let hosts = goodbye.iter().flat_map(Packet::said);
    assert!(
        !hosts
            .into_iter()
            .any(|it| matches!(it.data, Data::Address(_)))
    );
}

#[test]
fn two_of_one_name_become_two_names_whenever_they_begin() {
    // Together, one a moment later, and when the other is long there.
    for (jitter, after) in [(MS, 0), (120 * MS, 0), (MS, 100), (MS, 5000)] {
        let mut net = Net::default();
        net.browsers.push(Browser::new().unwrap());
        net.responders.push(responder(
            &[offer("press", Kind::Tcp, 4840)],
            "192.0.2.7",
            MS,
        ));
        net.pass(after * MS);
        let late = Responder::new(
            vec![offer("press", Kind::Tcp, 4841)],
            BTreeMap::new(),
            net.now + jitter,
        );
        net.responders.push(late.unwrap());
        net.pass(8000 * MS);
        let mut found: Vec<_> = net
            .found()
            .into_iter()
            .map(|it| (it.name, it.place.unwrap().1))
            .collect();
        found.sort();
        let names: Vec<_> = found.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(
            names,
            ["press", "press (2)"],
            "{jitter:?}, {after}: {found:?}"
        );
        let mut ports: Vec<_> = found.iter().map(|it| it.1).collect();
        ports.sort_unstable();
        assert_eq!(ports, [4840, 4841]);
        if after == 5000 {
            assert_eq!(found[0].1, 4840, "who was there first has the name");
            let renamed = net.responders[1].renamed();
            assert_eq!(renamed, [("press".to_owned(), "press (2)".to_owned())]);
        }
    }
}

#[test]
fn names_are_cut_at_a_letter_where_they_are_too_long() {
    let long = "Süd".repeat(30);
    let mut net = Net::default();
    net.browsers.push(Browser::new().unwrap());
    net.responders
        .push(responder(&[offer(&long, Kind::Tcp, 1)], "192.0.2.7", MS));
    net.pass(3000 * MS);
    let found = net.found();
    assert!(long.starts_with(&found[0].name), "{found:?}");
    assert!(found[0].name.len() >= 60 && found[0].name.len() <= 63);
}

#[test]
fn a_hundred_servers_fit_into_packets_of_the_network_and_are_all_found() {
    let offers: Vec<_> = (0..100)
        .map(|n| offer(&format!("device {n}"), Kind::Tcp, 4840 + n))
        .collect();
    let mut net = Net::default();
    net.responders.push(responder(&offers, "192.0.2.7", MS));
    net.pass(3000 * MS);
    net.browsers.push(Browser::new().unwrap());
    net.pass(3000 * MS);
    let found = net.found();
    assert_eq!(found.len(), 100);
    assert!(
        found
            .iter()
            .all(|it| it.place.is_some() && it.text.is_some())
    );
}

#[test]
fn a_flood_of_questions_is_answered_once_a_second() {
    let mut net = Net::default();
    net.responders
        .push(responder(&[offer("a", Kind::Tcp, 1)], "192.0.2.7", MS));
    net.pass(5000 * MS);
    let before = net.answers();
    let question = Packet {
        questions: vec![Question::instances(Kind::Tcp.name().unwrap())],
        ..Packet::default()
    };
    for _ in 0..5000 {
        net.send(&question);
        net.pass(MS);
    }
    let answers = net.answers() - before;
    assert!((5..=6).contains(&answers), "{answers}");
}

#[test]
fn a_resolver_without_multicast_is_answered_as_it_wants_it() {
    let mut net = Net::default();
    net.responders
        .push(responder(&[offer("a", Kind::Tcp, 1)], "192.0.2.7", MS));
    net.pass(5000 * MS);
    let asked = Packet {
        id: 4711,
        questions: vec![Question::instances(Kind::Tcp.name().unwrap())],
        ..Packet::default()
    };
    let answer = net.responders[0].hear(&asked, true, net.now).unwrap();
    assert_eq!((answer.id, &answer.questions), (4711, &asked.questions));
    assert!(answer.said().all(|it| it.ttl <= 10 && !it.is_all));
    assert!(pointer(&answer).is_some() && answer.said().count() == 4);
    // Addresses of the host, the list of services, and nothing for what nobody has here.
    let mut ask = |question: Question| {
        let asked = Packet {
            questions: vec![question],
            ..Packet::default()
        };
        let answer = net.responders[0].hear(&asked, true, net.now);
        answer.map_or(0, |it| it.said().count())
    };
    let [four, six] = Question::addresses(&name("PLC-9.local"));
    assert_eq!((ask(four), ask(six)), (1, 0));
    assert_eq!(
        ask(Question::instances(name("_services._dns-sd._udp.local"))),
        1
    );
    assert_eq!(ask(Question::instances(Kind::Https.name().unwrap())), 0);
    assert_eq!(ask(Question::all(name("plc-8.local"))), 0);
    // Nobody is answered while the name may still be another's.
    let mut new = responder(&[offer("a", Kind::Tcp, 1)], "192.0.2.7", MS);
    assert!(new.hear(&asked, true, Duration::ZERO).is_none());
}

#[test]
fn who_talks_without_end_fills_no_memory() {
    let mut browser = Browser::new().unwrap();
    let service = Kind::Tcp.name().unwrap();
    let mut heard = Packet {
        is_answer: true,
        ..Packet::default()
    };
    for n in 0..2000u16 {
        let instance = Name::below(&format!("server {n}"), &service).unwrap();
        let host = name("plc.local");
        let record = |name: &Name, data: Data| Record {
            name: name.clone(),
            ttl: 120,
            is_all: false,
            data,
        };
        heard.answers = vec![
            record(&service, Data::Pointer(instance.clone())),
            record(
                &instance,
                Data::Service {
                    port: n,
                    host: host.clone(),
                },
            ),
            record(
                &host,
                Data::Address([10, 0, (n >> 8) as u8, n as u8].into()),
            ),
        ];
        if n % 7 == 0 {
            // An instance of another service has no place here.
            let other = Name::below("x", &name("_http._tcp.local")).unwrap();
            heard.answers.push(record(&service, Data::Pointer(other)));
        }
        browser.hear(&heard, 1, MS);
    }
    let found = browser.found(2 * MS);
    assert_eq!(found.len(), 1000);
    assert!(
        found
            .iter()
            .all(|it| it.addresses.len() == 64 && it.name.starts_with("server "))
    );
}
