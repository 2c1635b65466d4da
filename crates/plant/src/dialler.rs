//! Reverse connect (Part 6, 7.1.2.6): the server dials clients, and has always one connection more at each of them than that
//! client uses.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info};
use wire::url::Url;

use crate::event_loop::{Mail, Post};
use crate::line::{Dialled, Line, LineState};

/// How long dialling may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// After a failure it is dialled again so soon …
const SOON: Duration = Duration::from_millis(250);
/// … and after each further one twice as late, up to this.
const LATE: Duration = Duration::from_secs(30);

/// Dials a client from now on, until its line ends.
///
/// # Errors
/// There are no more threads.
pub fn begin(client: Url, acceptor: Post) -> io::Result<Arc<Line>> {
    let line = Arc::new(Line::to(client));
    let own = Arc::clone(&line);
    std::thread::Builder::new()
        .name("plant-dialler".into())
        .spawn(move || keep_one(&own, &acceptor))?;
    Ok(line)
}

fn keep_one(line: &Arc<Line>, acceptor: &Post) {
    let mut pause = SOON;
    loop {
        match line.leaves(LineState::Idle, None) {
            LineState::Over => return,
            LineState::Missing => pause = SOON,
            // Whoever closes at once is not dialled all the time.
            LineState::Idle | LineState::Lost => {
                if line.leaves(LineState::Lost, Some(pause)) == LineState::Over {
                    return;
                }
            }
        }
        match dial(line.client()) {
            Ok(socket) => {
                line.set(LineState::Idle);
                let line = Arc::clone(line);
                acceptor.send(Mail::Dialled(Box::new(Dialled { socket, line })));
            }
            Err(error) => {
                pause = (pause * 2).min(LATE);
                info!(client = %line.client(), %error, again = ?pause, "cannot dial");
                line.set(LineState::Lost);
            }
        }
    }
}

/// A socket to a client, by the first of its addresses that answers.
fn dial(client: &Url) -> io::Result<mio::net::TcpStream> {
    let mut last = io::Error::other("it has no address");
    for address in (client.host(), client.port()).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(socket) => {
                debug!(%client, %address, "dialled");
                socket.set_nonblocking(true)?;
                return Ok(mio::net::TcpStream::from_std(socket));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
