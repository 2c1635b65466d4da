//! Judging as a conversation: what is asked, when, and what follows from the answers.

use std::sync::Arc;

use pki::make::{Answers, Authority, Request};
use pki::ocsp::{CertificateId, OcspRequest, OcspResponse, Standing};
use pki::{
    Answer, Ask, Certificate, Checked, Expected, Fail, Judging, Moment, Next, Question, Reason,
    Refusal, Revocation, Source, Trust,
};

use crate::plant::{NOW, Plant, expected, key, request};

const STATUS: &str = "http://ca.plant/ocsp";
const LIST: &str = "http://ca.plant/line.crl";

/// A plant whose application says where its issuer can be asked. The lists of the two above are at hand.
fn plant(leaf: Request) -> (Plant, Trust) {
    let plant = Plant::with(
        Request::authority("Division"),
        Request::authority("Line"),
        leaf,
    );
    let mut trust = plant.trust();
    trust.revocations.truncate(2);
    (plant, trust)
}

fn pointing() -> Request {
    request().responder_at(STATUS).list_at(LIST)
}

fn asking(source: Source, fail: Fail) -> Expected<'static> {
    Expected {
        revocation: Revocation { source, fail },
        ..expected()
    }
}

/// What becomes of the application if questions are answered so, and what was asked.
fn judged(
    trust: &Trust,
    sent: &[u8],
    expected: Expected<'_>,
    mut answer: impl FnMut(&Question) -> Result<Answer, String>,
) -> (Result<Vec<Refusal>, Reason>, Vec<String>) {
    let mut asked = Vec::new();
    let judging = match Judging::new(Arc::new(trust.clone()), sent, expected) {
        Ok(judging) => judging,
        Err(refusal) => return (Err(refusal.reason), asked),
    };
    let judged = judging.finish(|questions| {
        let mut answers = Vec::new();
        for question in questions {
            asked.push(question.url.clone());
            let answer = answer(&question);
            answers.push((question, answer));
        }
        answers
    });
    let judged = judged.map(|accepted| accepted.overlooked);
    (judged.map_err(|refusal| refusal.reason), asked)
}

fn nobody(_: &Question) -> Result<Answer, String> {
    Err("no answer in time".to_owned())
}

/// An answer of OCSP by this authority about this certificate.
fn status(
    by: &Authority,
    of: &Certificate,
    issuer: &Authority,
    standing: Standing,
    now: Moment,
) -> Answer {
    let id = CertificateId::of(of, issuer.certificate());
    let answers = Answers {
        certificates: vec![(id, standing)],
        now,
        next: Some(now.plus_days(1)),
        nonce: None,
    };
    let der = by.answer(&answers).unwrap();
    Answer::Status(Arc::new(OcspResponse::from_der(&der).unwrap()))
}

fn list(by: &Authority, revoked: &[&Certificate], now: Moment) -> Answer {
    Answer::List(Arc::new(by.revoke(revoked, now, 7).unwrap()))
}

const REVOKED: Standing = Standing::Revoked {
    at: NOW,
    reason: Some(1),
};

#[test]
fn the_responder_is_asked_first_and_the_list_if_it_says_nothing() {
    let (plant, trust) = plant(pointing());
    let (leaf, line) = (&plant.leaf, &plant.line);
    let hard = asking(Source::Online, Fail::Hard);
    let good = |_: &Question| Ok(status(line, leaf, line, Standing::Good, NOW));
    assert_eq!(
        judged(&trust, leaf.der(), hard, good),
        (Ok(vec![]), vec![STATUS.to_owned()])
    );
    let both = vec![STATUS.to_owned(), LIST.to_owned()];
    let lists = |question: &Question| match question.ask {
        Ask::List => Ok(list(line, &[], NOW)),
        _ => nobody(question),
    };
    assert_eq!(
        judged(&trust, leaf.der(), hard, lists),
        (Ok(vec![]), both.clone())
    );
    for standing in [Standing::Unknown, Standing::Good] {
        // One that does not know it, and one about somebody else.
        let lists = |question: &Question| match question.ask {
            Ask::List => Ok(list(line, &[leaf], NOW)),
            _ => {
                let of = match standing {
                    Standing::Unknown => leaf,
                    _ => line.certificate(),
                };
                Ok(status(line, of, line, standing, NOW))
            }
        };
        assert_eq!(
            judged(&trust, leaf.der(), hard, lists),
            (Err(Reason::Revoked), both.clone())
        );
    }
    let revoked = |_: &Question| Ok(status(line, leaf, line, REVOKED, NOW));
    let (judged, asked) = judged(&trust, leaf.der(), hard, revoked);
    assert_eq!((judged, asked.len()), (Err(Reason::Revoked), 1));
}

#[test]
fn what_nobody_answers_is_unknown_and_soft_lets_it_pass_with_a_word() {
    let (plant, trust) = plant(pointing());
    let leaf = plant.leaf.der();
    let (result, asked) = judged(&trust, leaf, asking(Source::Online, Fail::Hard), nobody);
    assert_eq!(result, Err(Reason::RevocationUnknown));
    assert_eq!(asked, [STATUS, LIST]);
    let (result, _) = judged(&trust, leaf, asking(Source::Online, Fail::Soft), nobody);
    let overlooked = result.unwrap();
    let [refusal] = overlooked.as_slice() else {
        panic!("{overlooked:?}")
    };
    assert_eq!(refusal.reason, Reason::RevocationUnknown);
    assert!(refusal.detail.contains("no answer in time"), "{refusal}");
    // Soft is about what is not known: what was revoked stays out.
    let soft = asking(Source::Online, Fail::Soft);
    let revoked = |_: &Question| Ok(list(&plant.line, &[&plant.leaf], NOW));
    assert_eq!(judged(&trust, leaf, soft, revoked).0, Err(Reason::Revoked));
}

#[test]
fn of_an_authority_above_the_status_codes_are_the_issuers() {
    let plant = Plant::with(
        Request::authority("Division"),
        Request::authority("Line").list_at(LIST),
        request(),
    );
    let mut trust = plant.trust();
    trust.revocations.remove(1);
    let hard = asking(Source::Cached, Fail::Hard);
    let (line, division) = (plant.line.certificate(), &plant.division);
    let judged = |answer: &dyn Fn(&Question) -> Result<Answer, String>| {
        judged(&trust, plant.leaf.der(), hard, answer).0
    };
    assert_eq!(judged(&nobody), Err(Reason::IssuerRevocationUnknown));
    let revoked = |_: &Question| Ok(list(division, &[line], NOW));
    assert_eq!(judged(&revoked), Err(Reason::IssuerRevoked));
    let good = |_: &Question| Ok(list(division, &[], NOW));
    assert_eq!(judged(&good), Ok(vec![]));
}

#[test]
fn offline_and_with_a_current_list_at_hand_nobody_is_asked() {
    let (plant, trust) = plant(pointing());
    let leaf = plant.leaf.der();
    for source in [Source::Offline, Source::Reread] {
        let (result, asked) = judged(&trust, leaf, asking(source, Fail::Hard), nobody);
        assert_eq!(result, Err(Reason::RevocationUnknown));
        assert!(asked.is_empty());
    }
    let all = plant.trust();
    let (result, asked) = judged(&all, leaf, asking(Source::Cached, Fail::Hard), nobody);
    assert_eq!((result, asked.len()), (Ok(vec![]), 0));
    // Online asks all the same, and the list at hand counts if nobody answers.
    let (result, asked) = judged(&all, leaf, asking(Source::Online, Fail::Hard), nobody);
    assert_eq!((result, asked.len()), (Ok(vec![]), 2));
}

#[test]
fn nobody_is_asked_for_a_certificate_that_is_refused_anyway() {
    let (plant, mut trust) = plant(pointing());
    let online = asking(Source::Online, Fail::Soft);
    let refused = |trust: &Trust, expected: Expected<'_>| {
        let (result, asked) = judged(trust, plant.leaf.der(), expected, nobody);
        assert!(asked.is_empty(), "{asked:?}");
        result.unwrap_err()
    };
    let late = Expected {
        now: NOW.plus_days(100_000),
        ..online
    };
    assert_eq!(refused(&trust, late), Reason::Time);
    let elsewhere = Expected {
        host: Some("plc2"),
        ..online
    };
    assert_eq!(refused(&trust, elsewhere), Reason::Host);
    // A list at hand takes it back.
    let taken = plant.line.revoke(&[&plant.leaf], NOW, 1).unwrap();
    trust.revocations.push(taken);
    assert_eq!(refused(&trust, online), Reason::Revoked);
    trust.revocations.pop();
    // Its chain is whole, and nobody trusts it.
    trust.issuers.push(trust.trusted.remove(0));
    assert_eq!(refused(&trust, online), Reason::Untrusted);
    trust.issuers.clear();
    assert_eq!(refused(&trust, online), Reason::ChainIncomplete);
}

#[test]
fn a_peer_cannot_send_addresses_along_that_nobody_trusted_has_signed() {
    // An application that is trusted by itself, its authority is known to nobody.
    let (plant, _) = plant(request());
    let trust = Trust {
        trusted: vec![plant.leaf.clone()],
        ..Trust::default()
    };
    // Whoever holds it makes an authority of his own, and lets that certify the name and key of the true one.
    let theirs = Request::authority("Root").list_at("http://victim/1");
    let theirs = Authority::root(theirs, key(3), NOW).unwrap();
    let posing = Request::authority("Line")
        .responder_at("http://victim/2")
        .list_at("http://victim/3");
    let posing = theirs.sign(&posing, &key(2), NOW).unwrap();
    assert!(plant.leaf.is_signed_by(&posing));
    let mut sent = plant.leaf.der().to_vec();
    sent.extend_from_slice(posing.der());
    sent.extend_from_slice(theirs.certificate().der());
    let (result, asked) = judged(&trust, &sent, asking(Source::Online, Fail::Soft), nobody);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(asked, Vec::<String>::new());
}

#[test]
fn only_http_is_asked_and_not_more_than_two_addresses_of_a_kind() {
    let mut leaf = request();
    for url in [
        "https://ca/1",
        "ldap://ca/2",
        "http://ca/3",
        "file:///4",
        "HTTP://ca/5",
        "http://ca/6",
    ] {
        leaf = leaf.list_at(url);
    }
    let (plant, trust) = plant(leaf);
    let hard = asking(Source::Online, Fail::Hard);
    let (result, asked) = judged(&trust, plant.leaf.der(), hard, nobody);
    assert_eq!(result, Err(Reason::RevocationUnknown));
    assert_eq!(asked, ["http://ca/3", "HTTP://ca/5"]);
}

#[test]
fn an_answer_is_believed_as_far_as_its_signature_goes() {
    let (plant, trust) = plant(request().responder_at(STATUS));
    let (leaf, line, division) = (&plant.leaf, &plant.line, &plant.division);
    let hard = asking(Source::Online, Fail::Hard);
    let good = Standing::Good;
    for (answer, why) in [
        (
            status(division, leaf, line, good, NOW),
            "by another authority",
        ),
        (
            status(line, leaf, division, good, NOW),
            "about another issuer",
        ),
        (status(line, leaf, line, good, NOW.plus_days(-2)), "old"),
        (
            status(line, leaf, line, good, NOW.plus_days(1)),
            "of tomorrow",
        ),
        (list(division, &[], NOW), "the list of another authority"),
    ] {
        let (result, _) = judged(&trust, leaf.der(), hard, |_| Ok(answer.clone()));
        assert_eq!(result, Err(Reason::RevocationUnknown), "{why}");
    }
    // That it was revoked stays true.
    let old = status(line, leaf, line, REVOKED, NOW.plus_days(-2));
    let (result, _) = judged(&trust, leaf.der(), hard, |_| Ok(old.clone()));
    assert_eq!(result, Err(Reason::Revoked));
}

#[test]
fn whoever_is_told_what_to_ask_may_answer_one_by_one() {
    let (plant, trust) = plant(pointing());
    let hard = asking(Source::Online, Fail::Hard);
    let mut judging = Judging::new(Arc::new(trust), plant.leaf.der(), hard).unwrap();
    let Next::Ask(questions) = judging.advance() else {
        panic!("nothing is asked")
    };
    let [question] = questions.as_slice() else {
        panic!("{questions:?}")
    };
    let Ask::Status(request) = &question.ask else {
        panic!("{question:?}")
    };
    // What is asked can be read, and is what a responder is asked for.
    let request = OcspRequest::from_der(request).unwrap();
    assert_eq!(request.certificates.len(), 1);
    assert!(request.certificates[0].is_of(plant.line.certificate()));
    assert_eq!(request.certificates[0].serial(), plant.leaf.serial());
    assert!(question.read(b"nonsense").is_err());
    assert!(
        question
            .read(&pki::ocsp::refuse(3))
            .unwrap_err()
            .contains("tryLater")
    );
    judging.answer(question.clone(), Err("down".to_owned()));
    assert!(matches!(judging.advance(), Next::Ask(_)));
}

#[test]
fn no_bytes_of_a_responder_are_a_panic() {
    let (plant, _) = plant(pointing());
    let Answer::Status(_) = status(&plant.line, &plant.leaf, &plant.line, REVOKED, NOW) else {
        panic!()
    };
    let id = CertificateId::of(&plant.leaf, plant.line.certificate());
    let answers = Answers {
        certificates: vec![(id, REVOKED)],
        now: NOW,
        next: Some(NOW),
        nonce: Some(b"nonce"),
    };
    let der = plant.line.answer(&answers).unwrap();
    assert!(OcspResponse::from_der(&der).is_ok());
    for length in 0..der.len() {
        assert!(OcspResponse::from_der(&der[..length]).is_err(), "{length}");
    }
    for place in 0..der.len() {
        for bits in [1, 0x80, 0xff] {
            let mut changed = der.clone();
            changed[place] ^= bits;
            let read = OcspResponse::from_der(&changed);
            let issuer = plant.line.certificate();
            if let Ok(response) = read {
                let _ = response.standing(&plant.leaf, issuer, NOW);
            }
        }
    }
}

#[test]
fn a_certificate_manager_is_asked_for_all_below_the_root_and_what_it_says_decides() {
    let (plant, trust) = plant(pointing());
    let leaf = plant.leaf.der();
    // What it says of the leaf, and of all others that they are good.
    let says = |reason: Option<Reason>| {
        move |question: &Question| match &question.ask {
            Ask::Certificate(der) => Ok(Answer::Checked(Checked {
                status: reason.filter(|_| der == leaf).map_or(0, Reason::status),
                until: None,
            })),
            _ => panic!("{question:?}"),
        }
    };
    let hard = asking(Source::Manager, Fail::Hard);
    let (result, asked) = judged(&trust, leaf, hard, says(None));
    // The lists that are at hand count only if it says nothing.
    assert_eq!((result, asked.len()), (Ok(vec![]), 3));
    let cached = asking(Source::ManagerCached, Fail::Hard);
    let (result, asked) = judged(&trust, leaf, cached, says(None));
    assert_eq!((result, asked.len()), (Ok(vec![]), 1));
    let (result, _) = judged(&trust, leaf, hard, nobody);
    assert_eq!(result, Err(Reason::RevocationUnknown));

    let soft = asking(Source::Manager, Fail::Soft);
    for reason in Reason::ALL {
        let (hard, _) = judged(&trust, leaf, hard, says(Some(reason)));
        let (soft, _) = judged(&trust, leaf, soft, says(Some(reason)));
        match reason {
            Reason::RevocationUnknown
            | Reason::IssuerRevocationUnknown
            | Reason::Untrusted
            | Reason::Distrusted
            | Reason::ChainIncomplete => {
                assert_eq!(hard, Err(Reason::RevocationUnknown), "{reason:?}");
                assert_eq!(soft.unwrap().len(), 1, "{reason:?}");
            }
            // BadCertificateInvalid has two.
            Reason::Signature => assert_eq!(hard, Err(Reason::Structure)),
            _ => {
                assert_eq!(hard, Err(reason));
                assert_eq!(soft, Err(reason));
            }
        }
    }
    // Of an authority above it the codes are others.
    let line = plant.line.certificate().der();
    for (said, meant) in [
        (Reason::Time, Reason::IssuerTime),
        (Reason::Use, Reason::IssuerUse),
        (Reason::Revoked, Reason::IssuerRevoked),
        (Reason::Policy, Reason::Policy),
    ] {
        let says = |question: &Question| match &question.ask {
            Ask::Certificate(der) => Ok(Answer::Checked(Checked {
                status: if der == line { said.status() } else { 0 },
                until: None,
            })),
            _ => panic!("{question:?}"),
        };
        let (result, _) = judged(&trust, leaf, hard, says);
        assert_eq!(result, Err(meant), "{said:?}");
    }
    // A list at hand that takes it back is enough.
    let mut lists = trust.clone();
    let taken = plant.line.revoke(&[&plant.leaf], NOW, 1).unwrap();
    lists.revocations.push(taken);
    let (result, _) = judged(&lists, leaf, soft, says(None));
    assert_eq!(result, Err(Reason::Revoked));
}
