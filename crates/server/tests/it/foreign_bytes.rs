//! Every request gets a response, which may be a refusal but never an internal error. The seeds of the fuzz target
//! `request` run here.

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri};

use crate::home::{HOSTNAME, Home, TOKEN};

/// A response without an end.
const STREAM: &str = "/api/chat/events";

/// A request in the format of a seed: `METHOD PATH`, header lines, an empty line, the body. `None` if it can't be
/// sent at all.
fn request_of(bytes: &[u8]) -> Option<Request<Body>> {
    let split = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = match split {
        Some(end) => (&bytes[..end], &bytes[end + 2..]),
        None => (bytes, &b""[..]),
    };
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = std::str::from_utf8(lines.next()?).ok()?;
    let (method, path) = first.split_once(' ')?;
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).ok()?)
        .uri(path.trim().parse::<Uri>().ok()?)
        .header(HOST, HOSTNAME);
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        request = request.header(name, value);
    }
    if request.headers_ref().is_some_and(|headers| !headers.contains_key(AUTHORIZATION)) {
        request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    }
    request.body(Body::from(body.to_vec())).ok()
}

/// Sends it and checks that the response is no internal error.
pub(crate) async fn is_answered(home: &Home, bytes: &[u8]) {
    let Some(request) = request_of(bytes) else { return };
    // What it starts is not awaited: a turn, a stream, the end of the program.
    if request.uri().path().starts_with("/api/admin/stop") {
        return;
    }
    let is_stream = request.uri().path() == STREAM;
    let response = home.raw(request).await;
    let status = response.status().as_u16();
    assert!(status < 500 || matches!(status, 501 | 503), "{status} for {}", String::from_utf8_lossy(bytes));
    if !is_stream {
        // A body that can't be read to its end is a failure too; a stream of tokens ends with its turn.
        axum::body::to_bytes(response.into_body(), 64 * 1024 * 1024).await.expect("a whole answer");
    }
}

#[tokio::test]
async fn every_seed_is_answered() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/request");
    let home = Home::new().await;
    home.talk("hello").await;
    let mut sent = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(request_of(&bytes).is_some(), "no request: {}", String::from_utf8_lossy(&bytes));
        is_answered(&home, &bytes).await;
        sent += 1;
    }
    assert!(sent >= 20, "only {sent} seeds");
}

/// Every cursor, id and limit of every list, and every body, with invalid values.
#[tokio::test]
async fn every_path_bears_what_does_not_belong_there() {
    let home = Home::new().await;
    let odd = [
        "",
        "0",
        "-1",
        "99999999999999999999",
        "%00",
        "%ff",
        "null",
        "x-y",
        "%F0%9F%90%88",
        "a%2Fb",
        "%27--",
    ];
    let bodies = [
        "",
        "null",
        "[]",
        "{}",
        "3",
        "\"x\"",
        "{\"a\":",
        "{\"text\":1,\"scopes\":7,\"content\":[]}",
        "\u{feff}{}",
    ];
    for path in server::api_paths() {
        for value in odd {
            let path = path.replace("{id}", value).replace("{name}", value).replace("{label}", value);
            let path = path.replace("{append_id}", value);
            is_answered(&home, format!("DELETE {path}").as_bytes()).await;
            is_answered(&home, format!("GET {path}").as_bytes()).await;
        }
        for value in ["-1", "99999999999999999999", "x%00%ff", "019c0000-0000-7000-8000-000000000000"] {
            for name in ["limit", "cursor", "before", "offset", "status", "user_id", "since", "last_event_id"]
            {
                is_answered(&home, format!("GET {path}?{name}={value}").as_bytes()).await;
            }
        }
        for body in bodies {
            for method in ["POST", "PATCH", "PUT"] {
                let path =
                    path.replace("{id}", "019c0000-0000-7000-8000-000000000000").replace("{name}", "x");
                let bytes = format!("{method} {path}\nContent-Type: application/json\n\n{body}");
                is_answered(&home, bytes.as_bytes()).await;
            }
        }
    }
}
