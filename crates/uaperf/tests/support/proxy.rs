//! A proxy of HTTP as far as tests need one: it makes tunnels to this machine, whatever the name of the host.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What it does to who asks for a tunnel.
#[derive(Clone)]
pub enum Does {
    /// Makes it.
    Tunnels,
    /// Makes it for who sends this field.
    Tunnelling(&'static str),
    /// Answers this, and ends the connection.
    Answers(&'static [u8]),
    /// Says nothing.
    Waits,
}

/// A proxy, until its test ends.
pub struct Proxy {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub fn start(does: Does) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::default();
        let proxy = Self {
            address,
            asked: Arc::clone(&asked),
        };
        thread::spawn(move || {
            for client in listener.incoming() {
                let (does, asked) = (does.clone(), Arc::clone(&asked));
                thread::spawn(move || serve(client.unwrap(), &does, &asked));
            }
        });
        proxy
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where tunnels were asked for, in this order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut client: TcpStream, does: &Does, asked: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match client.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let to = head.strip_prefix("CONNECT ").unwrap();
    let to = to.split(' ').next().unwrap().to_owned();
    let port: u16 = to.rsplit(':').next().unwrap().parse().unwrap();
    asked.lock().unwrap().push(to);
    let is_known = match does {
        Does::Tunnels => true,
        Does::Tunnelling(field) => head.lines().any(|it| it == *field),
        Does::Answers(answer) => {
            client.write_all(answer).unwrap();
            return;
        }
        Does::Waits => {
            // Until it is left.
            let _ = client.read(&mut byte);
            return;
        }
    };
    if !is_known {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\
                        Content-Length: 0\r\n\r\n";
        let _ = client.write_all(refusal);
        return;
    }
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n");
        return;
    };
    // In two parts, as a network may have it.
    let answer = b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n";
    client.write_all(&answer[..20]).unwrap();
    thread::sleep(std::time::Duration::from_millis(5));
    client.write_all(&answer[20..]).unwrap();
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || carry(from, to));
    carry(server, client);
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
