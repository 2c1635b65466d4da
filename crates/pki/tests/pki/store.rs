//! The folder on disk.

use std::fs;
use std::sync::{Arc, Barrier, Mutex};

use pki::make::{Authority, Request};
use pki::store::{Keys, MAX_REJECTED, Place, Wanted, read_certificates};
use pki::{Curve, Identity, Key, KeyKind, Reason, Store, StoreError, WatchedTrust};
use tempfile::TempDir;

use crate::plant::{NOW, Plant, expected, key, request, root};

fn store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::new(folder.path().join("pki"));
    (folder, store)
}

#[test]
fn a_certificate_is_made_at_first_use_and_found_again() {
    let (_folder, store) = store();
    let made = store.own(&request(), KeyKind::Rsa(2048), NOW).unwrap();
    assert_eq!(made.application_uri(), Some("urn:plc1:drives"));
    assert!(made.key.belongs_to(&made.certificate));
    let found = store
        .own(&request(), KeyKind::Rsa(2048), NOW.plus_days(1))
        .unwrap();
    assert_eq!(found.certificate, made.certificate);
    assert_eq!(found.key.pkcs8(), made.key.pkcs8());
    let path = found.path.unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        name,
        format!("drives [{}].der", made.certificate.thumbprint_hex())
    );
}

#[test]
#[cfg(unix)]
fn nobody_else_can_read_the_private_key() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, store) = store();
    store.own(&request(), KeyKind::Rsa(2048), NOW).unwrap();
    let private = store.folder().join("own/private");
    assert_eq!(
        private.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
    for entry in fs::read_dir(private).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn of_many_that_come_first_at_once_one_makes_the_certificate() {
    let (_folder, store) = store();
    let barrier = Barrier::new(8);
    let thumbprints: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let own = store.own(&request(), KeyKind::Rsa(2048), NOW).unwrap();
                    *own.certificate.thumbprint()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(thumbprints.windows(2).all(|pair| pair[0] == pair[1]));
    let files = fs::read_dir(store.certificates(Place::Own)).unwrap();
    assert_eq!(files.count(), 1);
}

#[test]
fn a_new_certificate_of_our_own_replaces_the_one_before() {
    let (_folder, store) = store();
    let old = store.make_own(&request(), KeyKind::Rsa(2048), NOW).unwrap();
    let new = store.make_own(&request(), KeyKind::Rsa(2048), NOW).unwrap();
    let found = store.find_own(NOW).unwrap().unwrap();
    assert_eq!(found.certificate, new.certificate);
    let name = old.path.unwrap().file_name().unwrap().to_owned();
    let kept = store.folder().join("own/replaced").join(name);
    assert_eq!(read_certificates(&kept).unwrap(), [old.certificate]);
}

#[test]
fn a_valid_certificate_of_our_own_is_preferred_to_an_expired_one() {
    let (_folder, store) = store();
    let own = store.own(&request(), KeyKind::Rsa(2048), NOW).unwrap();
    let folder = store.certificates(Place::Own);
    for (name, from) in [("a.der", -100), ("z.der", 100)] {
        let other = request().from(NOW.plus_days(from)).days(10);
        let other = other.self_signed(&own.key, NOW).unwrap();
        fs::write(folder.join(name), other.der()).unwrap();
    }
    let found = store.find_own(NOW).unwrap().unwrap();
    assert_eq!(found.certificate, own.certificate);
}

#[test]
fn a_key_from_another_tool_is_found_by_what_it_opens() {
    let (_folder, store) = store();
    let certificate = request().self_signed(&key(0), NOW).unwrap();
    let certs = store.certificates(Place::Own);
    let private = store.folder().join("own/private");
    fs::create_dir_all(&certs).unwrap();
    fs::create_dir_all(&private).unwrap();
    fs::write(certs.join("mine.crt"), certificate.pem()).unwrap();
    let error = store.find_own(NOW).unwrap_err();
    assert!(matches!(error, StoreError::NoKey { .. }), "{error}");

    fs::write(private.join("a.pem"), key(1).pem().as_bytes()).unwrap();
    fs::write(private.join("b.txt"), "not a key").unwrap();
    fs::write(private.join("z.key"), key(0).pkcs8()).unwrap();
    let found = store.find_own(NOW).unwrap().unwrap();
    assert_eq!(found.key.pkcs8(), key(0).pkcs8());
}

#[test]
fn old_keys_in_pkcs1_are_read_as_well() {
    let legacy = pki::testing::legacy().unwrap();
    let pkcs8 = legacy.key.pkcs8();
    // The PKCS #1 key sits in the last element, behind 26 bytes of wrapping.
    let pkcs1 = &pkcs8[26..];
    let key = Key::from_der(pkcs1).unwrap();
    assert!(key.belongs_to(&legacy.certificate));
    assert_eq!(key.pkcs8(), pkcs8);
    assert!(!key.belongs_to(&request().self_signed(&crate::plant::key(0), NOW).unwrap()));
}

#[test]
fn the_authorities_above_are_sent_along_but_for_the_root() {
    let (_folder, store) = store();
    let plant = Plant::new();
    for authority in [&plant.root, &plant.division, &plant.line] {
        store.know_issuer(authority.certificate()).unwrap();
    }
    store
        .put_own(Identity::new(plant.leaf.clone(), key(3)))
        .unwrap();
    let own = store.find_own(NOW).unwrap().unwrap();
    let mut trust = plant.trust();
    trust.issuers.clear();
    trust.judge(&own.sent(), &expected()).unwrap();
    assert_eq!(own.above.len(), 2);
}

#[test]
fn trust_and_rejection_move_a_certificate_between_the_folders() {
    let (_folder, store) = store();
    let certificate = request().self_signed(&key(0), NOW).unwrap();
    let places = || {
        let entries = store.list().unwrap().entries;
        let places: Vec<_> = entries.iter().map(|entry| entry.place).collect();
        places
    };
    let kept = store.distrust(&certificate).unwrap();
    assert_eq!(kept, store.distrust(&certificate).unwrap());
    assert_eq!(places(), [Place::Distrusted]);
    assert!(store.trust().unwrap().0.trusted.is_empty());

    store.trust_certificate(&certificate).unwrap();
    store.trust_certificate(&certificate).unwrap();
    assert_eq!(places(), [Place::Trusted]);
    let (trust, _) = store.trust().unwrap();
    trust.judge(certificate.der(), &expected()).unwrap();

    store.distrust(&certificate).unwrap();
    assert_eq!(places(), [Place::Distrusted]);
}

#[test]
fn who_is_noted_after_he_was_distrusted_stays_distrusted() {
    let (_folder, store) = store();
    let plant = Plant::new();
    store.trust_certificate(plant.root.certificate()).unwrap();
    store.distrust(&plant.leaf).unwrap();
    store.note(&plant.leaf).unwrap();
    let (trust, _) = store.trust().unwrap();
    assert_eq!(trust.distrusted, std::slice::from_ref(&plant.leaf));
    let refused = trust.judge(plant.leaf.der(), &expected()).unwrap_err();
    assert_eq!(refused.reason, Reason::Distrusted);
    store.forgive(&plant.leaf).unwrap();
    assert!(store.trust().unwrap().0.distrusted.is_empty());
}

#[test]
fn the_rejected_do_not_pile_up() {
    let (_folder, store) = store();
    let folder = store.certificates(Place::Rejected);
    fs::create_dir_all(&folder).unwrap();
    for index in 0..MAX_REJECTED + 10 {
        fs::write(folder.join(format!("{index:03}.der")), "x").unwrap();
    }
    let certificate = request().self_signed(&key(0), NOW).unwrap();
    let path = store.note(&certificate).unwrap().unwrap();
    assert!(path.exists());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), MAX_REJECTED);
}

#[test]
fn the_rejected_are_bounded_in_bytes_too_and_the_oldest_go() {
    let (_folder, store) = store();
    let folder = store.certificates(Place::Rejected);
    fs::create_dir_all(&folder).unwrap();
    for index in 0..12 {
        let path = folder.join(format!("{index:02}.der"));
        fs::write(&path, vec![0; 100 << 10]).unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(index);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(at).unwrap();
    }
    let certificate = request().self_signed(&key(0), NOW).unwrap();
    store.note(&certificate).unwrap();
    let mut left: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("drives"))
        .collect();
    left.sort();
    // Ten of 100 KiB and the new one are less than a mebibyte.
    assert_eq!(left.len(), 10);
    assert_eq!(left[0], "02.der");
}

#[test]
fn what_is_noted_stays_trusted_and_is_written_once() {
    let (_folder, store) = store();
    let certificate = request().self_signed(&key(0), NOW).unwrap();
    store.trust_certificate(&certificate).unwrap();
    store.know_issuer(&certificate).unwrap();
    let path = store.note(&certificate).unwrap().unwrap();
    let (trust, _) = store.trust().unwrap();
    assert_eq!(trust.trusted, std::slice::from_ref(&certificate));
    assert_eq!(trust.issuers, std::slice::from_ref(&certificate));

    fs::write(&path, "marked").unwrap();
    store.note(&certificate).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"marked");
}

#[test]
fn trust_lists_are_read_when_they_change_and_shared() {
    let (_folder, store) = store();
    let lists = WatchedTrust::new(store.clone());
    let one = request().self_signed(&key(0), NOW).unwrap();
    let other = request().self_signed(&key(1), NOW).unwrap();
    assert!(lists.current(NOW).unwrap().trusted.is_empty());

    let path = store.trust_certificate(&one).unwrap();
    let held = lists.current(NOW).unwrap();
    assert_eq!(held.trusted, std::slice::from_ref(&one));
    for seconds in 0..10 {
        let later = NOW.plus(std::time::Duration::from_secs(seconds));
        store.note(&other).unwrap();
        assert!(Arc::ptr_eq(&held, &lists.current(later).unwrap()));
    }
    assert_eq!(lists.readings(), 2);

    // Changed in place: a second later at the latest.
    fs::write(&path, other.der()).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let later = NOW.plus(std::time::Duration::from_secs(60));
    assert_eq!(
        lists.current(later).unwrap().trusted,
        std::slice::from_ref(&other)
    );

    // Taken out: at once.
    store.distrust(&other).unwrap();
    assert!(lists.current(later).unwrap().trusted.is_empty());
    assert_eq!(lists.readings(), 4);

    // And so is whoever is distrusted while only his authority is trusted.
    store.distrust(&one).unwrap();
    assert_eq!(lists.current(later).unwrap().distrusted.len(), 2);
}

#[test]
fn a_broken_file_is_named_and_does_not_stop_the_rest() {
    let (_folder, store) = store();
    let plant = Plant::new();
    store.trust_certificate(plant.root.certificate()).unwrap();
    let path = store.add_revocations(&plant.root.revoke(&[], NOW, 30).unwrap());
    assert!(path.unwrap().starts_with(store.revocations(Place::Trusted)));
    let folder = store.certificates(Place::Trusted);
    for (name, content) in [
        ("empty.der", &b""[..]),
        ("garbage.der", b"\x30\x82\xff"),
        (
            "key.pem",
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ),
        ("cut.pem", b"-----BEGIN CERTIFICATE-----\nMIIB\n"),
    ] {
        fs::write(folder.join(name), content).unwrap();
    }
    let (trust, broken) = store.trust().unwrap();
    assert_eq!(trust.trusted, [plant.root.certificate().clone()]);
    assert_eq!(trust.revocations.len(), 1);
    let names: Vec<_> = broken
        .iter()
        .map(|file| file.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["cut.pem", "empty.der", "garbage.der", "key.pem"]);
    assert!(broken[0].to_string().contains("cut.pem: "));
}

#[test]
fn pem_files_may_hold_several_certificates_and_talk_between() {
    let (_folder, store) = store();
    let plant = Plant::new();
    let folder = store.certificates(Place::Trusted);
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "Certificate:\n  Data: …\n{}\n{}",
        plant.root.certificate().pem(),
        plant.line.certificate().pem()
    );
    let path = folder.join("bundle.pem");
    fs::write(&path, text).unwrap();
    assert_eq!(read_certificates(&path).unwrap().len(), 2);

    // Rejecting one of them keeps the other.
    store.distrust(plant.line.certificate()).unwrap();
    let (trust, broken) = store.trust().unwrap();
    assert_eq!(trust.trusted, [plant.root.certificate().clone()]);
    assert_eq!(broken, []);
}

#[test]
fn a_name_from_a_stranger_stays_inside_the_folder() {
    let (_folder, store) = store();
    for name in [
        "../../../evil",
        "..",
        "",
        "a/b\\c:d*e\u{0}f\u{202e}",
        &"x".repeat(5000),
    ] {
        let request = Request::application("urn:x").common_name(name);
        let certificate = request.self_signed(&key(0), NOW).unwrap();
        let path = store.note(&certificate).unwrap().unwrap();
        assert_eq!(path.parent(), Some(&*store.certificates(Place::Rejected)));
        assert_eq!(read_certificates(&path).unwrap(), [certificate]);
    }
}

#[test]
fn an_empty_store_is_not_an_error() {
    let (_folder, store) = store();
    assert!(store.find_own(NOW).unwrap().is_none());
    let listing = store.list().unwrap();
    assert!(listing.entries.is_empty() && listing.broken.is_empty());
    assert!(!store.folder().exists());
}

#[test]
fn an_authority_needs_its_own_key() {
    let root = root();
    assert!(Authority::new(root.certificate().clone(), key(1)).is_err());
    let application = request().self_signed(&key(0), NOW).unwrap();
    assert!(Authority::new(application, key(0)).is_err());
}

#[test]
fn a_certificate_is_found_by_the_beginning_of_its_thumbprint() {
    let (_folder, store) = store();
    let certificate = request().self_signed(&key(0), NOW).unwrap();
    store.distrust(&certificate).unwrap();
    let all = certificate.thumbprint_hex();
    let lower = format!("{}:{}", &all[..2], &all[2..6]).to_lowercase();
    for good in [&all[..], &all[..4], &lower] {
        let found = store.find(good).unwrap();
        assert_eq!(found.len(), 1, "{good}");
        assert_eq!(found[0].place, Place::Distrusted);
    }
    for bad in ["", "xyz", &format!("{all}0")] {
        assert_eq!(store.find(bad).unwrap().len(), 0, "{bad}");
    }
}

fn clients(n: u32) -> Vec<Wanted> {
    let client = |n| Wanted {
        name: format!("client-{n}"),
        request: Request::application(format!("urn:plc1:client-{n}")),
    };
    (1..=n).map(client).collect()
}

#[test]
fn each_client_has_a_certificate_that_is_made_once_and_again_when_it_has_expired() {
    let (_folder, store) = store();
    let told = Mutex::new(Vec::new());
    let go_on = |made, all| {
        told.lock().unwrap().push((made, all));
        true
    };
    let two = store
        .own_each(&clients(2), Keys::Each(KeyKind::Rsa(2048)), NOW, &go_on)
        .unwrap();
    assert_eq!(*told.lock().unwrap(), [(0, 2), (1, 2), (2, 2)]);
    assert_eq!(two[1].application_uri(), Some("urn:plc1:client-2"));
    assert_ne!(two[0].key.pkcs8(), two[1].key.pkcs8());

    told.lock().unwrap().clear();
    let three = store
        .own_each(&clients(3), Keys::Each(KeyKind::Rsa(2048)), NOW, &go_on)
        .unwrap();
    assert_eq!(*told.lock().unwrap(), [(0, 1), (1, 1)]);
    assert_eq!(three[0].certificate, two[0].certificate);
    assert_eq!(three[1].key.pkcs8(), two[1].key.pkcs8());
    assert!(store.find_own(NOW).unwrap().is_none(), "they are not ours");

    let later = NOW.plus_days(6 * 365);
    let new = store
        .own_each(&clients(1), Keys::Each(KeyKind::Rsa(2048)), later, &go_on)
        .unwrap();
    assert_ne!(new[0].certificate, two[0].certificate);
}

#[test]
fn whoever_stops_it_keeps_the_clients_certificates_that_are_made() {
    let (_folder, store) = store();
    let stopped = store.own_each(
        &clients(40),
        Keys::Each(KeyKind::Rsa(2048)),
        NOW,
        &|made, _| made < 1,
    );
    let error = stopped.unwrap_err().to_string();
    assert!(error.contains("of 40 certificates were made"), "{error}");
    let there = fs::read_dir(store.each()).unwrap().count();
    assert!((1..40).contains(&there), "{there}");
}

#[test]
fn a_clients_certificate_without_its_key_is_an_error_and_not_replaced() {
    let (_folder, store) = store();
    let made = store
        .own_each(&clients(1), Keys::Each(KeyKind::Rsa(2048)), NOW, &|_, _| {
            true
        })
        .unwrap();
    fs::remove_file(store.folder().join("own/each/private/client-1.pem")).unwrap();
    let again = store.own_each(&clients(1), Keys::Each(KeyKind::Rsa(2048)), NOW, &|_, _| {
        true
    });
    assert!(matches!(again, Err(StoreError::NoKey { .. })), "{again:?}");
    let path = made[0].path.as_ref().unwrap();
    let there = read_certificates(path).unwrap();
    assert_eq!(there, [made[0].certificate.clone()]);
}

#[test]
fn many_may_share_a_key_and_have_certificates_of_their_own_all_the_same() {
    let (_folder, store) = store();
    let shared = Keys::Shared(KeyKind::Rsa(2048));
    let own = |n| {
        let made = store.own_each(&clients(n), shared, NOW, &|_, _| true);
        made.unwrap()
    };
    let two = own(2);
    assert_eq!(two[0].key.pkcs8(), two[1].key.pkcs8());
    assert_ne!(two[0].certificate, two[1].certificate);
    assert_eq!(two[1].application_uri(), Some("urn:plc1:client-2"));
    let three = own(3);
    assert_eq!(three[0].certificate, two[0].certificate, "it is kept");
    assert_eq!(three[2].key.pkcs8(), two[0].key.pkcs8());
    // Those with a key each are others.
    let each = store.own_each(&clients(1), Keys::Each(KeyKind::Rsa(2048)), NOW, &|_, _| {
        true
    });
    assert_ne!(each.unwrap()[0].key.pkcs8(), two[0].key.pkcs8());
}

#[test]
fn an_application_has_a_certificate_for_each_kind_of_key() {
    let (_folder, store) = store();
    let curve = |curve| KeyKind::On(curve);
    let kinds = [
        curve(Curve::P384),
        KeyKind::Rsa(2048),
        curve(Curve::Ed25519),
        curve(Curve::P256),
    ];
    let made = kinds.map(|kind| store.own(&request(), kind, NOW).unwrap());
    for (kind, made) in kinds.into_iter().zip(&made) {
        assert_eq!(made.curve(), kind.curve());
        let found = store.own(&request(), kind, NOW).unwrap();
        assert_eq!(found.certificate, made.certificate, "it is found again");
        assert!(found.key.belongs_to(&found.certificate));
    }
    let all = store.all_own(NOW).unwrap();
    let curves: Vec<_> = all.iter().map(Identity::curve).collect();
    let each = Curve::ALL.map(Some);
    assert_eq!(curves, [&[None], each.as_slice()].concat());
    assert_eq!(store.find_own(NOW).unwrap().unwrap().curve(), None);

    let newer = store
        .make_own(&request(), curve(Curve::P256), NOW.plus_days(1))
        .unwrap();
    let all = store.all_own(NOW.plus_days(1)).unwrap();
    assert_eq!(
        all.len(),
        kinds.len(),
        "it takes the place of one, not of all"
    );
    assert_eq!(all[1].certificate, newer.certificate);
}
