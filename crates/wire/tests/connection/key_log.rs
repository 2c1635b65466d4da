//! Keys that both sides give to a log.

use std::sync::{Arc, Mutex};

use wire::channel::{KeyLog, TokenKeys};

use super::pair::{Pair, configs};
use super::{HOUR, SECRET, SIGNED};

type Noted = Arc<Mutex<Vec<TokenKeys>>>;

fn log() -> (KeyLog, Noted) {
    let noted = Noted::default();
    let there = Arc::clone(&noted);
    (
        KeyLog::new(move |keys| there.lock().unwrap().push(keys)),
        noted,
    )
}

/// Channel, token, and all that encrypts.
fn told(noted: &Noted) -> Vec<(u32, u32, [Vec<u8>; 4])> {
    let noted = noted.lock().unwrap();
    let tell = |it: &TokenKeys| {
        let (client, server) = (&it.client, &it.server);
        let keys = [
            client.iv.to_vec(),
            client.key.to_vec(),
            server.iv.to_vec(),
            server.key.to_vec(),
        ];
        (it.channel_id, it.token_id, keys)
    };
    noted.iter().map(tell).collect()
}

#[test]
fn both_sides_log_the_same_keys_of_each_token_and_none_of_channels_that_only_sign() {
    for (protection, tokens) in [(SECRET, 2), (SIGNED, 0)] {
        let (mut client, mut server) = configs(protection, 2048);
        let ((ours, at_client), (theirs, at_server)) = (log(), log());
        client.key_log = Some(ours);
        server.key_log = Some(theirs);
        let mut pair = Pair::with(client, server);
        pair.run();
        assert!(pair.client.is_open());
        pair.wait(HOUR * 8 / 10);
        let (at_client, at_server) = (told(&at_client), told(&at_server));
        assert_eq!(at_client, at_server, "{protection}");
        let named: Vec<_> = at_client.iter().map(|it| (it.0, it.1)).collect();
        assert_eq!(named, [(77, 1), (77, 2)][..tokens], "{protection}");
        let mut keys: Vec<_> = at_client.iter().flat_map(|it| it.2.clone()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 4 * tokens, "a key was used twice");
    }
}
