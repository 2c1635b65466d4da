use std::io::Read as _;
use std::net::SocketAddr;

use wire::channel::{DirectionKeys, TokenKeys};
use zeroize::Zeroizing;

use super::*;
use crate::conversation::Numbers;
use crate::reader::Captures;

fn addresses() -> (SocketAddr, SocketAddr) {
    (
        "127.0.0.1:40000".parse().unwrap(),
        "127.0.0.1:4840".parse().unwrap(),
    )
}

/// A folder, and a recording into the files `capture` and `keys` in it.
fn recording(longest: u64, most: usize) -> (tempfile::TempDir, Recording) {
    let folder = tempfile::tempdir().unwrap();
    let make = |name| File::create(folder.path().join(name)).unwrap();
    let it = Recording::start_with(make("capture"), make("keys"), longest, most).unwrap();
    (folder, it)
}

/// The lengths of all packets in the file.
fn packets(folder: &tempfile::TempDir) -> Vec<usize> {
    let file = File::open(folder.path().join("capture")).unwrap();
    let mut captures = Captures::begin(file).unwrap();
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    while captures.next(&mut bytes).unwrap().is_some() {
        all.push(bytes.len());
    }
    assert!(!captures.is_torn());
    all
}

fn keys(channel_id: u32) -> TokenKeys {
    let direction = || DirectionKeys {
        iv: Zeroizing::new([1; 16]),
        key: Zeroizing::new(vec![2; 32]),
        signature_len: 32,
    };
    TokenKeys {
        channel_id,
        token_id: 1,
        client: direction(),
        server: direction(),
    }
}

#[test]
fn what_a_connection_carries_is_in_the_file_with_its_beginning_and_end() {
    let (folder, recording) = recording(u64::MAX, WAITING);
    let (own, peer) = addresses();
    let mut tap = recording.recorder().connected(own, peer);
    tap.sent(b"hello");
    tap.received(b"yes");
    tap.received(b"");
    drop(tap);
    let outcome = recording.finish();
    assert_eq!(packets(&folder), [48, 48, 40, 45, 43, 40, 40, 40]);
    assert_eq!((outcome.packets, outcome.missed), (8, 0));
    let length = folder.path().join("capture").metadata().unwrap().len();
    assert_eq!(outcome.bytes, length);
    assert!(outcome.error.is_none() && outcome.key_error.is_none() && !outcome.full);
}

#[test]
fn keys_stand_before_the_bytes_that_they_protect_and_in_a_file_of_their_own() {
    let (folder, recording) = recording(u64::MAX, WAITING);
    let (own, peer) = addresses();
    let mut tap = recording.recorder().accepted(own, peer);
    recording.recorder().key_log().note(keys(77));
    tap.sent(b"SECRET");
    drop(tap);
    recording.finish();
    let mut capture = Vec::new();
    let file = File::open(folder.path().join("capture"));
    file.unwrap().read_to_end(&mut capture).unwrap();
    let find = |what: &[u8]| capture.windows(what.len()).position(|it| it == what);
    let lines = std::fs::read_to_string(folder.path().join("keys")).unwrap();
    assert_eq!(lines, *crate::keys::lines(&keys(77)));
    assert!(find(lines.as_bytes()).unwrap() < find(b"SECRET").unwrap());
}

#[test]
fn a_capture_is_no_longer_than_it_may_be_and_says_what_is_missing() {
    let (folder, recording) = recording(2000, WAITING);
    let (own, peer) = addresses();
    let mut tap = recording.recorder().connected(own, peer);
    for _ in 0..30 {
        tap.sent(&[7; 100]);
    }
    drop(tap);
    let outcome = recording.finish();
    let carried = packets(&folder).iter().filter(|&&it| it == 140).count() as u64;
    assert!(outcome.full && carried > 5, "{carried}");
    assert_eq!(outcome.missed, 3000 - 100 * carried);
    assert!(outcome.bytes <= 2000);
}

/// Nobody takes anything out of the queue: the disk is slower than any.
#[test]
fn what_waits_for_a_slow_disk_has_a_bound_and_keys_have_room_beyond_it() {
    let (queue, events) = Queue::new(10_000);
    let queue = Arc::new(queue);
    let recorder = Recorder(Arc::clone(&queue));
    let (own, peer) = addresses();
    let mut tap = recorder.connected(own, peer);
    for _ in 0..50 {
        tap.sent(&[7; 1000]);
    }
    recorder.key_log().note(keys(1));
    drop(tap);
    let mut carried = 0;
    let mut last = None;
    for event in events.try_iter() {
        queue.took(&event);
        if let Event::Carried { bytes, .. } = &event {
            carried += bytes.len();
        }
        last = Some((event, last.map(|(it, _)| it)));
    }
    assert!((5000..=10_000).contains(&carried), "{carried}");
    assert_eq!(queue.missed(), 50_000 - carried as u64);
    assert_eq!(queue.waiting(), 0);
    // Keys and the end came all the same, with numbers behind all that was sent.
    let Some((Event::Closed { next, .. }, Some(Event::Keys(_)))) = last else {
        panic!("the end is missing");
    };
    let first = Numbers::first(0).after(Side::Client, 1);
    assert_eq!(next.client, first.after(Side::Client, 50_000).client);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_in_the_end_and_disturbs_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let keys = File::create(folder.path().join("keys")).unwrap();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    // There is no room for the beginning: known at once.
    let error = Recording::start(full(), keys.try_clone().unwrap(), u64::MAX).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    // Room for the keys alone.
    let capture = File::create(folder.path().join("capture")).unwrap();
    let recording = Recording::start(capture, full(), u64::MAX).unwrap();
    recording.recorder().key_log().note(self::keys(1));
    let outcome = recording.finish();
    assert!(outcome.error.is_none());
    let error = outcome.key_error.unwrap();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

/// A pipe whose reader leaves is a disk that becomes full in the middle.
#[cfg(unix)]
#[test]
fn what_cannot_be_written_any_more_is_counted_and_what_was_written_stays() {
    use std::os::fd::OwnedFd;
    let folder = tempfile::tempdir().unwrap();
    let keys = File::create(folder.path().join("keys")).unwrap();
    let (reader, writer) = io::pipe().unwrap();
    let recording = Recording::start(File::from(OwnedFd::from(writer)), keys, u64::MAX).unwrap();
    drop(reader);
    let (own, peer) = addresses();
    let mut tap = recording.recorder().connected(own, peer);
    for _ in 0..10 {
        tap.sent(&[7; 100]);
    }
    drop(tap);
    let outcome = recording.finish();
    assert_eq!(outcome.error.unwrap().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!((outcome.missed, outcome.packets), (1000, 0));
}
