//! Under which URL clients are told that the server is (Part 4, 5.4.4).

use plant::{Config, Server};
use wire::channel::Protection;
use wire::types::{
    ApplicationDescription, CreateSessionRequest, EndpointDescription, FindServersRequest,
    GetEndpointsRequest, RequestHeader,
};

use crate::client::{Client, identity};
use crate::start;

/// What one who comes by this URL is told by every service that tells: the same.
fn told(url: &str) -> String {
    let mut client = Client::connect(url, Protection::NONE, None, None).unwrap();
    let found = client.call(FindServersRequest {
        request_header: RequestHeader::default(),
        endpoint_url: url.into(),
        locale_ids: None,
        server_uris: None,
    });
    let mut all = Vec::new();
    let urls = |server: &ApplicationDescription| {
        let urls = server.discovery_urls.iter().flatten();
        urls.map(|url| url.as_ref().to_owned()).collect::<Vec<_>>()
    };
    let found = found.unwrap().servers.unwrap();
    all.extend(urls(&found[0]));
    let mut add = |endpoints: Option<Vec<EndpointDescription>>| {
        for endpoint in endpoints.unwrap() {
            all.push(endpoint.endpoint_url.as_ref().to_owned());
            all.extend(urls(&endpoint.server));
        }
    };
    let request = GetEndpointsRequest {
        request_header: RequestHeader::default(),
        endpoint_url: url.into(),
        locale_ids: None,
        profile_uris: None,
    };
    add(client.call(request).unwrap().endpoints);
    let created = client.call(CreateSessionRequest::default()).unwrap();
    add(created.server_endpoints);
    assert!(all.len() >= 5, "{all:?}");
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn serve(listen: &str, config: Config) -> std::io::Result<Server> {
    let probe = std::net::TcpListener::bind(listen)?;
    drop(probe);
    Ok(start(Config {
        listen: listen.parse().unwrap(),
        ..config
    }))
}

#[test]
fn who_comes_to_one_of_many_addresses_is_told_that_one() {
    let server = serve("0.0.0.0:0", Config::default()).unwrap();
    let port = server.address().port();
    // Who starts it as a program connects to this, on the same machine.
    assert_eq!(server.url(), format!("opc.tcp://127.0.0.1:{port}"));
    // The whole of 127/8 is the loopback of Linux, and one address of it elsewhere.
    let hosts: &[&str] = match cfg!(target_os = "linux") {
        true => &["127.0.0.1", "127.0.0.2"],
        false => &["127.0.0.1"],
    };
    for host in hosts {
        let url = format!("opc.tcp://{host}:{port}");
        assert_eq!(told(&url), url);
    }
    // A name that nothing vouches for is not repeated.
    let named = told(&format!("opc.tcp://localhost:{port}"));
    assert_eq!(named, server.url());
}

#[test]
fn a_name_is_told_to_who_came_by_it_if_the_certificate_is_for_it() {
    let own = identity("urn:test:server");
    let config = Config {
        identity: Some(own),
        ..Config::default()
    };
    let server = serve("0.0.0.0:0", config).unwrap();
    let url = format!("opc.tcp://localhost:{}", server.address().port());
    assert_eq!(told(&url), url);
}

#[test]
fn both_families_of_addresses_are_told_in_their_own_form() {
    // Not every machine has IPv6.
    let Ok(server) = serve("[::]:0", Config::default()) else {
        return;
    };
    let url = format!("opc.tcp://[::1]:{}", server.address().port());
    assert_eq!(server.url(), url);
    assert_eq!(told(&url), url);
}

#[test]
fn what_is_asked_for_is_told_whoever_comes() {
    let fixed = "opc.tcp://gateway.example:14840";
    for (host, advertise) in [(None, Some(fixed)), (Some("gateway.example"), Some(fixed))] {
        let config = Config {
            host: host.map(str::to_owned),
            advertise: advertise.map(|it| it.parse().unwrap()),
            ..Config::default()
        };
        let server = serve("0.0.0.0:0", config).unwrap();
        assert_eq!(server.url(), fixed);
        let here = format!("opc.tcp://127.0.0.1:{}", server.address().port());
        assert_eq!(told(&here), fixed);
    }
    let config = Config {
        host: Some("line4.example".into()),
        ..Config::default()
    };
    let server = serve("0.0.0.0:0", config).unwrap();
    let port = server.address().port();
    assert_eq!(
        told(&format!("opc.tcp://127.0.0.1:{port}")),
        format!("opc.tcp://line4.example:{port}")
    );
}
