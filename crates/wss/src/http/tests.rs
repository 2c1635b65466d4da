use super::*;

fn about(longest: usize) -> Http {
    Http {
        host: "plc1:443".into(),
        path: "/ua".into(),
        longest,
        longest_text: longest,
        media: Media::Binary,
        origin: None,
    }
}

fn server() -> Exchange {
    Exchange::new(Role::Server, about(1 << 20))
}

fn client() -> Exchange {
    Exchange::new(Role::Client, about(1 << 20))
}

/// A message in chunks whose bodies have at most so many bytes.
fn message(request: u32, body: &[u8], each: usize) -> Vec<u8> {
    let parts: Vec<&[u8]> = match body {
        [] => vec![body],
        body => body.chunks(each).collect(),
    };
    let mut bytes = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        let kind = match n + 1 == parts.len() {
            true => chunk::Kind::Final,
            false => chunk::Kind::More,
        };
        bytes.extend_from_slice(&chunk::head(kind, request, 1, part.len()));
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The messages in these chunks: their requests and bodies.
fn messages(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut body = Vec::new();
    let mut sequence = 0;
    while let Some(head) = bytes.get(..chunk::HEAD) {
        let size = chunk::number(head, 4) as usize;
        assert!(size <= 64 * 1024, "{size}");
        assert_eq!(chunk::number(head, 8), CHANNEL_ID);
        assert_eq!(chunk::number(head, 12), TOKEN_ID);
        assert!(chunk::number(head, 16) > sequence);
        sequence = chunk::number(head, 16);
        body.extend_from_slice(&bytes[chunk::HEAD..size]);
        if &head[..4] == b"MSGF" {
            all.push((chunk::number(head, 20), std::mem::take(&mut body)));
        }
        bytes = &bytes[size..];
    }
    assert!(bytes.is_empty() && body.is_empty());
    all
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const POST: &str = "POST /ua HTTP/1.1\r\nHost: plc1\r\nContent-Type: application/octet-stream\r\n";

fn post(body: &str) -> String {
    format!("{POST}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// The status that a server says no with.
fn refusal(said: &str) -> u16 {
    match server().take(said.as_bytes(), &mut Vec::new()) {
        Err(HttpError::Refused(refused)) => refused.status,
        other => panic!("{other:?}: {said}"),
    }
}

#[test]
fn a_request_is_a_post_and_a_response_its_answer_whatever_the_pieces() {
    let long: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
    for step in [1, 7, 100_000] {
        for (body, each) in [
            (&b"request"[..], 1000),
            (&long, usize::MAX),
            (&long, 65_000),
        ] {
            let (mut client, mut server) = (client(), server());
            let mut sent = Vec::new();
            for piece in message(77, body, each).chunks(step) {
                client.send(piece, &mut sent).unwrap();
            }
            let head = text(&sent[..300.min(sent.len())]);
            assert!(
                head.starts_with("POST /ua HTTP/1.1\r\nHost: plc1:443\r\n"),
                "{head}"
            );
            let mut came = Vec::new();
            for piece in sent.chunks(step) {
                server.take(piece, &mut came).unwrap();
            }
            assert_eq!(server.asked(), Some("opc.https://plc1:443/ua"));
            let came = messages(&came);
            assert_eq!(came, [(1, body.to_vec())]);
            // And back, in chunks as a server makes them.
            let mut answer = Vec::new();
            for piece in message(1, body, 65_000).chunks(step) {
                server.send(piece, &mut answer).unwrap();
            }
            assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
            let mut came = Vec::new();
            for piece in answer.chunks(step) {
                client.take(piece, &mut came).unwrap();
            }
            assert_eq!(messages(&came), [(77, body.to_vec())]);
            assert_eq!((client.waiting.len(), server.waiting.len()), (0, 0));
            assert!(!client.is_over() && !server.is_over());
        }
    }
}

#[test]
fn answers_go_in_the_order_of_the_requests() {
    let mut server = server();
    let three = post("a") + &post("b") + &post("c");
    let mut came = Vec::new();
    server.take(three.as_bytes(), &mut came).unwrap();
    let ids: Vec<u32> = messages(&came).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [1, 2, 3]);
    let mut out = Vec::new();
    server.send(&message(3, b"third", 9), &mut out).unwrap();
    server.send(&message(2, b"second", 4), &mut out).unwrap();
    // One that a fault repeats, and one that nobody asked for.
    server.send(&message(2, b"again", 9), &mut out).unwrap();
    server.send(&message(9, b"nobody", 9), &mut out).unwrap();
    assert_eq!(text(&out), "");
    assert!(server.held() > 0);
    server.send(&message(1, b"first", 9), &mut out).unwrap();
    let out = text(&out);
    let at = |word: &str| out.find(word).unwrap_or_else(|| panic!("{word}: {out}"));
    assert!(at("first") < at("4\r\nseco") && at("2\r\nnd\r\n0\r\n\r\n") < at("third"));
    assert!(!out.contains("again") && !out.contains("nobody"));
    assert_eq!(server.held(), 0);
}

#[test]
fn a_body_in_pieces_is_one_message() {
    let said = format!(
        "{POST}Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX: y\r\n\r\n"
    );
    for step in [1, 1000] {
        let (mut server, mut came) = (server(), Vec::new());
        for piece in (said.clone() + &post("next")).as_bytes().chunks(step) {
            server.take(piece, &mut came).unwrap();
        }
        let all = [(1, b"abc0123456789".to_vec()), (2, b"next".to_vec())];
        assert_eq!(messages(&came), all);
        assert_eq!(server.partial(), None);
    }
}

#[test]
fn a_head_ends_at_its_empty_line_whatever_its_lines_end_with() {
    let usual = post("ab") + &post("next");
    for mixed in [
        usual.replace("\r\n", "\n"),
        usual.replace("\r\n\r\n", "\n\r\n"),
        usual.replace("\r\n\r\n", "\r\n\n"),
    ] {
        let (mut server, mut came) = (server(), Vec::new());
        server.take(mixed.as_bytes(), &mut came).unwrap();
        let all = [(1, b"ab".to_vec()), (2, b"next".to_vec())];
        assert_eq!(messages(&came), all, "{mixed:?}");
    }
}

#[test]
fn who_asks_for_something_else_is_told_what_is_wanted() {
    assert_eq!(refusal("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 405);
    assert_eq!(refusal("POST / HTTP/1.0\r\nHost: h\r\n\r\n"), 505);
    assert_eq!(refusal("NONSENSE\r\n\r\n"), 400);
    assert_eq!(refusal("\u{1}\u{2}"), 400);
    let with = |fields: &str| refusal(&format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n"));
    assert_eq!(with(""), 411);
    let octets = "Content-Type: application/octet-stream\r\n";
    assert_eq!(with("Content-Length: 1\r\nContent-Type: text/xml\r\n"), 415);
    assert_eq!(with(&format!("{octets}Content-Length: 1048577\r\n")), 413);
    assert_eq!(with(&format!("{octets}Content-Length: +1\r\n")), 400);
    assert_eq!(
        with(&format!(
            "{octets}Content-Length: 1\r\nContent-Length: 2\r\n"
        )),
        400
    );
    assert_eq!(with(&format!("{octets}Transfer-Encoding: gzip\r\n")), 400);
    // What two readers would cut in two ways.
    let both = "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n";
    assert_eq!(with(&format!("{octets}{both}")), 400);
    let one = "Content-Length: 1\r\n";
    assert_eq!(
        with(&format!("{octets}{one}Content-Encoding: gzip\r\n")),
        415
    );
    assert_eq!(with(&format!("{octets}{one}Expect: nothing\r\n")), 417);
    let policy =
        "OPCUA-SecurityPolicy: http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256\r\n";
    assert_eq!(with(&format!("{octets}{one}{policy}")), 400);
    assert_eq!(
        with(&format!("{octets}{one}{}", "A: b\r\n".repeat(70))),
        431
    );
    assert_eq!(refusal("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"), 400);
    let endless = format!("POST / HTTP/1.1\r\nA: {}", "a".repeat(9000));
    assert_eq!(refusal(&endless), 431);
    let pieces = format!("{POST}Transfer-Encoding: chunked\r\n\r\n");
    for (wrong, status) in [
        ("x\r\n", 400),
        ("-1\r\n", 400),
        ("\r\n", 400),
        ("1\r\nabc", 400),
        ("1\n", 400),
        ("100001\r\n", 413),
        ("FFFFFFFFFFFFFFFF\r\n", 413),
        ("FFFFFFFFFFFFFFFFF\r\n", 400),
    ] {
        assert_eq!(refusal(&format!("{pieces}{wrong}")), status, "{wrong}");
    }
    let line = "1;".to_owned() + &"a".repeat(300);
    assert_eq!(refusal(&format!("{pieces}{line}")), 400);
    let trailer = "0\r\n".to_owned() + &"A: b\r\n".repeat(2000);
    assert_eq!(refusal(&format!("{pieces}{trailer}")), 400);
    // Other spellings of the same, and what says nothing.
    for more in [
        "content-TYPE: Application/OPCUA+uabinary; charset=x\r\n",
        "Content-Type: application/octet-stream\r\nOPCUA-SecurityPolicy: http://opcfoundation.org/UA/SecurityPolicy#None\r\n",
    ] {
        let said = format!("\r\nPOST / HTTP/1.1\r\nHost: h\r\n{more}Content-Length: 2\r\n\r\nab");
        let mut came = Vec::new();
        server().take(said.as_bytes(), &mut came).unwrap();
        assert_eq!(messages(&came), [(1, b"ab".to_vec())]);
    }
}

#[test]
fn the_last_answer_ends_the_connection() {
    let mut server = server();
    let first = post("a");
    let last = post("b").replace("Host: plc1", "Host: plc1\r\nConnection: close");
    let all = first + &last + "what follows is nothing";
    server.take(all.as_bytes(), &mut Vec::new()).unwrap();
    let mut out = Vec::new();
    server.send(&message(1, b"x", 9), &mut out).unwrap();
    assert!(!server.is_over() && !text(&out).contains("close"));
    server.send(&message(2, b"y", 9), &mut out).unwrap();
    assert!(server.is_over());
    let mut client = client();
    let mut sent = Vec::new();
    for id in [7, 8] {
        client.send(&message(id, b"q", 9), &mut sent).unwrap();
    }
    let mut came = Vec::new();
    client.take(&out, &mut came).unwrap();
    assert_eq!(messages(&came), [(7, b"x".to_vec()), (8, b"y".to_vec())]);
    assert!(client.is_over());
}

#[test]
fn a_server_that_ends_says_why_where_that_is_an_answer() {
    let error = |code: u32| {
        let mut bytes = b"ERRF".to_vec();
        bytes.extend_from_slice(&16u32.to_le_bytes());
        bytes.extend_from_slice(&code.to_le_bytes());
        bytes.extend_from_slice(&u32::MAX.to_le_bytes());
        bytes
    };
    for (asked, code, told) in [
        (1, 0x807D_0000, "HTTP/1.1 503 "),
        (1, 0x8080_0000, "HTTP/1.1 413 "),
        (1, 0x800A_0000, "HTTP/1.1 408 "),
        (1, 0x8013_0000, "HTTP/1.1 400 "),
        (2, 0x807D_0000, ""),
        (0, 0x807D_0000, ""),
    ] {
        let (mut server, mut out) = (server(), Vec::new());
        let said = post("a").repeat(asked);
        server.take(said.as_bytes(), &mut Vec::new()).unwrap();
        server.send(&error(code), &mut out).unwrap();
        assert!(server.is_over());
        assert!(text(&out).starts_with(told) && out.is_empty() == told.is_empty());
    }
    // What was given up on its way is no whole body.
    let (mut server, mut out) = (server(), Vec::new());
    server.take(post("a").as_bytes(), &mut Vec::new()).unwrap();
    let long = message(1, &[0; 100], 50);
    server.send(&long[..74], &mut out).unwrap();
    let mut abort = chunk::head(chunk::Kind::Final, 1, 1, 8).to_vec();
    abort[3] = b'A';
    abort.extend_from_slice(&[0; 8]);
    server.send(&abort, &mut out).unwrap();
    assert!(server.is_over());
    assert!(!text(&out).ends_with("0\r\n\r\n"));
}

#[test]
fn a_client_takes_answers_to_what_it_asked_only() {
    let asked = || {
        let mut client = client();
        client.send(&message(5, b"q", 9), &mut Vec::new()).unwrap();
        client
    };
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let mut came = Vec::new();
    let mut patient = asked();
    let all = format!("HTTP/1.1 100 Continue\r\n\r\n{ok}");
    patient.take(all.as_bytes(), &mut came).unwrap();
    assert_eq!(messages(&came), [(5, b"ab".to_vec())]);
    // The same once more is the answer to nothing.
    let unasked = patient.take(ok.as_bytes(), &mut came);
    assert!(matches!(unasked, Err(HttpError::Wrong(_))));
    for (said, told) in [
        ("HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found"),
        ("HTTP/1.1 200 OK\r\n\r\n", "how long"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n",
            "longer",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\n",
            "Content-Type",
        ),
        ("SSH-2.0-OpenSSH\r\n\r\n", "no HTTP"),
    ] {
        let error = asked().take(said.as_bytes(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn who_waits_for_leave_to_go_on_gets_it() {
    let mut server = server();
    let said = post("ab").replace("Host", "Expect: 100-continue\r\nHost");
    server.take(said.as_bytes(), &mut Vec::new()).unwrap();
    assert!(server.aside().starts_with(b"HTTP/1.1 100 "));
    // Not in front of an answer that is owed.
    server.take(said.as_bytes(), &mut Vec::new()).unwrap();
    assert!(server.aside().is_empty());
}

#[test]
fn no_more_requests_wait_than_so_many() {
    let mut server = server();
    let mut sink = Vec::new();
    for _ in 0..MOST_WAITING {
        server.take(post("a").as_bytes(), &mut sink).unwrap();
        sink.clear();
    }
    let one_more = server.take(post("a").as_bytes(), &mut sink);
    assert!(matches!(one_more, Err(HttpError::Refused(it)) if it.status == 429));
}

/// A ReadRequest and a message of nothing known, as chunks and as JSON.
const READ: &str = r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":9},"MaxAge":2.5}"#;

fn read_message() -> Vec<u8> {
    wire::json::read(READ.as_bytes(), 1000).unwrap()
}

fn post_json(kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: plc1\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Part 6, 7.4.5, as of 1.05 and as of 1.04.
#[test]
fn a_body_in_json_is_the_same_message_and_its_answer_is_json_too() {
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "application/opcua+uajson",
    ] {
        for step in [1, 1000] {
            let mut server = server();
            let mut came = Vec::new();
            for piece in post_json(kind, READ).as_bytes().chunks(step) {
                server.take(piece, &mut came).unwrap();
            }
            assert_eq!(messages(&came), [(1, read_message())]);
            let mut out = Vec::new();
            for piece in message(1, &read_message(), 10).chunks(step) {
                server.send(piece, &mut out).unwrap();
            }
            let out = text(&out);
            let (head, body) = out.split_once("\r\n\r\n").unwrap();
            assert_eq!(body, READ);
            let named = kind.split(';').next().unwrap();
            assert!(
                head.contains(&format!("Content-Type: {named}\r\n")),
                "{head}"
            );
            assert!(head.ends_with(&format!("Content-Length: {}", READ.len())));
            assert_eq!((server.waiting.len(), server.held()), (0, 0));
        }
    }
}

#[test]
fn a_client_asks_in_json_and_takes_its_answer() {
    let about = Http {
        media: Media::Json,
        ..about(1 << 20)
    };
    let mut client = Exchange::new(Role::Client, about);
    let mut out = Vec::new();
    client
        .send(&message(77, &read_message(), 10), &mut out)
        .unwrap();
    let asked = text(&out);
    assert!(asked.contains("\r\nContent-Type: application/json\r\n"));
    assert!(asked.ends_with(&format!("\r\n\r\n{READ}")));
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
         10\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        &READ[..16],
        READ.len() - 16,
        &READ[16..]
    );
    let mut came = Vec::new();
    client.take(answer.as_bytes(), &mut came).unwrap();
    assert_eq!(messages(&came), [(77, read_message())]);
    client
        .send(&message(78, &read_message(), 10), &mut out)
        .unwrap();
    let wrong = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let error = client.take(wrong.as_bytes(), &mut came).unwrap_err();
    assert!(matches!(error, HttpError::Json(_)), "{error}");
}

/// What a ServiceFault in JSON says, and to whom.
fn fault(said: &str) -> (u64, u64) {
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
    assert!(body.starts_with(r#"{"UaTypeId":"i=395","#), "{body}");
    let number = |behind: &str| -> u64 {
        let rest = body.split(behind).nth(1).unwrap();
        let digits = rest.split(|it: char| !it.is_ascii_digit()).next();
        digits.unwrap().parse().unwrap()
    };
    (number("\"RequestHandle\":"), number("\"Code\":"))
}

/// A ReadResponse whose one value has Variants in each other, so many.
pub(crate) fn nested(depth: usize) -> Vec<u8> {
    let mut message = vec![1, 0, 0x7a, 2];
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&9u32.to_le_bytes());
    message.extend_from_slice(&[0; 4 + 1 + 4 + 3]);
    message.extend_from_slice(&[1, 0, 0, 0, 1]);
    for _ in 0..depth {
        message.extend_from_slice(&[0x98, 1, 0, 0, 0]);
    }
    message.extend_from_slice(&[1, 1]);
    message.extend_from_slice(&[0xff; 4]);
    message
}

/// The client said how long an answer may be, and means the one that it gets.
#[test]
fn an_answer_that_cannot_be_json_is_a_fault_that_says_why() {
    for (answer, most, status) in [
        (b"\xff".to_vec(), 0, 0x8006_0000),
        (read_message(), READ.len() - 1, 0x80B9_0000),
        (nested(101), 0, 0x8008_0000),
    ] {
        let mut server = server();
        server.limit_texts(most);
        let two = post_json("application/json", READ).repeat(2);
        server.take(two.as_bytes(), &mut Vec::new()).unwrap();
        // One that waits for another one, and that one.
        let (mut early, mut out) = (Vec::new(), Vec::new());
        server.send(&message(2, &answer, 10), &mut early).unwrap();
        assert!(early.is_empty());
        server.send(&message(1, &answer, 10), &mut out).unwrap();
        let said = text(&out);
        let (first, second) = said.split_at(said.rfind("HTTP/1.1").unwrap());
        assert_eq!((fault(first), fault(second)), ((9, status), (9, status)));
        assert!(!server.is_over());
        assert_eq!((server.waiting.len(), server.held()), (0, 0));
    }
    // Not longer, nor deeper, than it may be.
    for (answer, most) in [(read_message(), READ.len()), (nested(98), 0)] {
        let mut server = server();
        server.limit_texts(most);
        let asked = post_json("application/json", READ);
        server.take(asked.as_bytes(), &mut Vec::new()).unwrap();
        let mut out = Vec::new();
        server.send(&message(1, &answer, 1000), &mut out).unwrap();
        assert!(!text(&out).contains("i=395"), "{}", text(&out));
    }
}

/// Part 6, 6.7.3: an abort chunk says why there is no more of it.
#[test]
fn an_answer_in_json_that_is_broken_off_is_a_fault_that_says_why() {
    let mut abort = b"MSGA".to_vec();
    for number in [32, CHANNEL_ID, TOKEN_ID, 3, 1, 0x8003_0000, u32::MAX] {
        abort.extend_from_slice(&number.to_le_bytes());
    }
    for begun in [0, 1] {
        let mut server = server();
        let asked = post_json("application/json", READ).repeat(2);
        server.take(asked.as_bytes(), &mut Vec::new()).unwrap();
        let mut out = Vec::new();
        let part = chunk::head(chunk::Kind::More, 1, 1, 10);
        for _ in 0..begun {
            server.send(&part, &mut out).unwrap();
            server.send(&read_message()[..10], &mut out).unwrap();
        }
        for byte in &abort {
            server.send(&[*byte], &mut out).unwrap();
        }
        assert_eq!(fault(&text(&out)), (9, 0x8003_0000));
        // The next one is not any worse for it.
        out.clear();
        server
            .send(&message(2, &read_message(), 10), &mut out)
            .unwrap();
        assert!(text(&out).ends_with(READ));
        assert_eq!((server.waiting.len(), server.held()), (0, 0));
    }
}

/// Reading takes a mark of eight bytes for each array and object, which are counted while the text comes.
#[test]
fn what_reading_a_text_takes_is_counted_before_it_is_read() {
    let mut server = server();
    let strings = r#"{"a":"[[[[{{{{\"[[","b":"\\"#;
    let body = format!("{strings}\",\"c\":[{}", "[],".repeat(100));
    let said = post_json("application/json", &format!("{body}]}}"));
    let until = said.len() - 2;
    for piece in said.as_bytes()[..until].chunks(7) {
        server.take(piece, &mut Vec::new()).unwrap();
    }
    let waiting = size_of::<Waiting>();
    assert_eq!(server.held(), body.len() + 102 * 8 + waiting);
}

/// Bodies in JSON between those in binary, whose answers come in another order.
#[test]
fn each_answer_is_what_its_request_was() {
    let mut server = server();
    let mut came = Vec::new();
    let three = post("binary") + &post_json("application/json", READ) + &post("more");
    server.take(three.as_bytes(), &mut came).unwrap();
    let mut out = Vec::new();
    for (request, body) in [(2, read_message()), (3, b"c".to_vec()), (1, b"a".to_vec())] {
        server
            .send(&message(request, &body, 1000), &mut out)
            .unwrap();
    }
    let out = text(&out);
    let bodies: Vec<&str> = out.split("HTTP/1.1 200 OK\r\n").skip(1).collect();
    assert!(bodies[0].ends_with("\r\n\r\na"), "{out}");
    assert!(bodies[1].ends_with(READ), "{out}");
    assert!(bodies[2].ends_with("\r\n\r\nc"), "{out}");
}

#[test]
fn what_is_no_message_in_json_is_refused_by_whoever_understands_it_that_far() {
    // Nothing of it is understood.
    for body in ["", "no", "[]", "{\"UaTypeId\":"] {
        assert_eq!(refusal(&post_json("application/json", body)), 400, "{body}");
    }
    let mut short = Exchange::new(Role::Server, about(100));
    let many = format!(
        r#"{{"UaTypeId":"i=629","NodesToRead":[{}]}}"#,
        ["{}"; 10].join(",")
    );
    assert!(many.len() < 100);
    let said = short.take(
        post_json("application/json", &many).as_bytes(),
        &mut Vec::new(),
    );
    assert!(matches!(said, Err(HttpError::Refused(it)) if it.status == 413));
    // Whoever decodes it finds out.
    let mut server = server();
    let mut came = Vec::new();
    let half = READ.replace("2.5", "[]");
    server
        .take(post_json("application/json", &half).as_bytes(), &mut came)
        .unwrap();
    let came = messages(&came);
    let limits = wire::service::Limits::default();
    let refused = wire::service::Request::decode(&came[0].1, &limits).unwrap_err();
    assert_eq!(refused.request_handle, Some(9));
}

/// What browsers ask before pages may ask (Fetch, 4.9), and what they want to see in answers.
#[test]
fn pages_may_ask_only_where_that_was_allowed() {
    let preflight = "OPTIONS /ua HTTP/1.1\r\nHost: plc1\r\nOrigin: https://hmi.example\r\n\
                     Access-Control-Request-Method: POST\r\n\
                     Access-Control-Request-Headers: content-type\r\n\r\n";
    assert_eq!(refusal(preflight), 405);
    let about = Http {
        origin: Some("https://hmi.example".into()),
        ..about(1 << 20)
    };
    let mut server = Exchange::new(Role::Server, about);
    let mut came = Vec::new();
    server.take(preflight.as_bytes(), &mut came).unwrap();
    let said = text(&server.aside());
    assert!(said.starts_with("HTTP/1.1 204 No Content\r\n"), "{said}");
    assert!(said.contains("Access-Control-Allow-Origin: https://hmi.example\r\n"));
    assert!(server.asked().is_none() && !server.is_over());
    server.take(post("body").as_bytes(), &mut came).unwrap();
    let mut out = Vec::new();
    server.send(&message(1, b"answer", 9), &mut out).unwrap();
    let said = text(&out);
    assert!(
        said.contains("\r\nAccess-Control-Allow-Origin: https://hmi.example\r\n"),
        "{said}"
    );
    // A method is what it says, and is owed its answer where others are.
    let plain = "OPTIONS / HTTP/1.1\r\nHost: plc1\r\n\r\n";
    let refused = server.take(plain.as_bytes(), &mut came);
    assert!(matches!(refused, Err(HttpError::Refused(it)) if it.status == 405));
}
