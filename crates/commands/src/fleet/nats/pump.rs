//! A line over a broker: its segments as messages, until both ends are done with it.

use async_nats::connection::State;
use async_nats::{Client, Subscriber};
use fleet::line::{Arrived, Line};
use futures_util::StreamExt;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Duration, Instant, sleep};

use super::super::pipe::stamp;

/// What is to be sent.
pub enum Out {
    Bytes(Vec<u8>),
    End(String),
}

/// Time is looked at this often.
const TICK: Duration = Duration::from_millis(100);

/// An end that has nothing more to say waits so long for the other one to hear the last of it.
const LINGER: Duration = Duration::from_secs(3);

/// Carries until there is nothing more to say. What comes is given to `arrived`.
pub async fn pump(
    client: Client,
    mut messages: Subscriber,
    to: String,
    mut out: UnboundedReceiver<Out>,
    mut arrived: impl FnMut(Arrived),
) {
    let mut line = Line::default();
    let mut closing: Option<Instant> = None;
    let mut ended = false;
    loop {
        // What would wait for a broker that is away is sent when it is back, and no more than once.
        while client.connection_state() == State::Connected
            && let Some(Ok(message)) = line.poll_transmit(stamp().mono_ns)
        {
            let _ = client.publish(to.clone(), message.into()).await;
        }
        // An agent is free again when its controller leaves.
        if closing.is_some_and(|since| ended || since.elapsed() > LINGER) {
            let _ = tokio::time::timeout(TICK, client.flush()).await;
            return;
        }
        tokio::select! {
            message = messages.next() => match message {
                Some(message) => {
                    if line.receive(&message.payload, stamp().mono_ns).is_err() {
                        arrived(Arrived::End("what came over the broker cannot be read".into()));
                        return;
                    }
                    while let Some(it) = line.poll_arrived() {
                        ended |= matches!(it, Arrived::End(_));
                        arrived(it);
                    }
                }
                None => {
                    arrived(Arrived::End("the broker's client ended".into()));
                    return;
                }
            },
            next = out.recv(), if closing.is_none() => match next {
                Some(Out::Bytes(bytes)) => line.send(&bytes),
                end => {
                    let why = match end {
                        Some(Out::End(why)) => why,
                        _ => "it is not needed any more".to_owned(),
                    };
                    line.close(why);
                    closing = Some(Instant::now());
                }
            },
            () = sleep(TICK) => line.handle_timeout(stamp().mono_ns),
        }
    }
}
