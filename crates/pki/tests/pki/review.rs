//! What is said of a certificate that will cause trouble.

use pki::Usage;
use pki::make::Request;

use crate::plant::{NOW, Plant, key, request};

#[test]
fn what_is_made_here_has_no_problems() {
    let plant = Plant::new();
    assert_eq!(plant.leaf.problems(NOW), [""; 0]);
    assert_eq!(plant.line.certificate().problems(NOW), [""; 0]);
    let own = request().self_signed(&key(0), NOW).unwrap();
    assert_eq!(own.problems(NOW), [""; 0]);
}

#[test]
fn every_problem_is_named() {
    let bad = Request::application("urn:x")
        .without_uri()
        .usage(Usage::DIGITAL_SIGNATURE | Usage::NON_REPUDIATION)
        .days(10)
        .self_signed(&key(0), NOW)
        .unwrap();
    let text = bad.problems(NOW).join("\n");
    for part in [
        "expires in 10 days",
        "no application URI",
        "no host",
        "lacks keyEncipherment, dataEncipherment",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let later = NOW.plus_days(11);
    assert!(bad.problems(later)[0].contains("expired on"));
    assert!(bad.problems(NOW.plus_days(-1))[0].contains("not valid before"));

    let legacy = pki::testing::legacy().unwrap().certificate;
    assert!(legacy.problems(NOW)[0].contains("SHA-1"));
}
