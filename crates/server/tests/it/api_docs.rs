use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::header::{ALLOW, AUTHORIZATION, HOST};
use axum::http::{Method, Request};
use serde_json::Value;

use crate::home::{Answer, HOSTNAME, Home, TOKEN};

/// Paths that need no token.
const OPEN: [&str; 4] = ["/health", "/ready", "/login", "/api/openapi.json"];

fn documented() -> BTreeSet<(String, String)> {
    let paths = server::openapi()["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().keys().map(move |method| (path.clone(), method.to_uppercase()))
    });
    operations.collect()
}

/// The methods that the router accepts, from its response to an unknown one.
async fn served(home: &Home) -> BTreeSet<(String, String)> {
    let mut served = BTreeSet::new();
    // One path serves another protocol, whose tools describe themselves.
    for path in server::api_paths().into_iter().filter(|path| *path != "/mcp").chain(OPEN) {
        let url = path.replace(['{', '}'], "x");
        let method = Method::from_bytes(b"PURGE").unwrap();
        let request = Request::builder().method(method).uri(url).header(HOST, HOSTNAME);
        let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}")).body(Body::empty()).unwrap();
        let answer = Answer::of(home.raw(request).await).await;
        assert_eq!(answer.status, 405, "{path}");
        let allowed = answer.header(ALLOW.as_str()).expect("the methods that it takes").to_owned();
        let methods = allowed.split(',').map(str::trim).filter(|method| *method != "HEAD");
        served.extend(methods.map(|method| (path.to_owned(), method.to_owned())));
    }
    // A person opens it in a browser; no program requests it.
    served.remove(&("/login".to_owned(), "GET".to_owned()));
    served
}

#[tokio::test]
async fn every_route_is_described_and_every_description_is_served() {
    let home = Home::new().await;
    let (served, documented) = (served(&home).await, documented());
    let undescribed: Vec<_> = served.difference(&documented).collect();
    let unserved: Vec<_> = documented.difference(&served).collect();
    assert!(undescribed.is_empty() && unserved.is_empty(), "{undescribed:?} {unserved:?}");
}

#[tokio::test]
async fn the_document_is_whole_and_open_to_all() {
    let home = Home::new().await;
    let request = Request::builder().uri("/api/openapi.json").header(HOST, HOSTNAME);
    let answer = Answer::of(home.raw(request.body(Body::empty()).unwrap()).await).await;
    assert_eq!(answer.status, 200);
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    fn look(value: &Value, schemas: &serde_json::Map<String, Value>) {
        match value {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                    let name = name.strip_prefix("#/components/schemas/").expect(name);
                    assert!(schemas.contains_key(name), "nothing is called {name}");
                }
                fields.values().for_each(|value| look(value, schemas));
            }
            Value::Array(items) => items.iter().for_each(|value| look(value, schemas)),
            _ => {}
        }
    }
    look(&document, schemas);
    let numbered = schemas.keys().find(|name| name.ends_with(|letter: char| letter.is_ascii_digit()));
    assert_eq!(numbered, None, "two types of one name: give each its own with #[schemars(rename)]");
    let mut ids = BTreeSet::new();
    for operation in
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{operation}");
    }
}

#[test]
fn the_document_changes_only_on_purpose() {
    let mut document = server::openapi().clone();
    document["info"]["version"] = "[version]".into();
    insta::assert_json_snapshot!("openapi", document);
}

#[tokio::test]
async fn people_read_it_without_anything_that_runs() {
    let home = Home::new().await;
    let page = home.get("/api/docs").await;
    assert!(page.text.contains("/api/admin/memory/search") && page.text.contains("<code>NodeBody</code>"));
    assert!(
        !page.text.contains("<script") && !page.text.contains("style=") && !page.text.contains("http://")
    );
    assert!(page.header("content-security-policy").unwrap().contains("script-src 'self'"));
    let style = home.get("/api/docs/style.css").await;
    assert_eq!((style.status.as_u16(), style.header("content-type")), (200, Some("text/css; charset=utf-8")));
    let request = Request::builder().uri("/api/docs").header(HOST, HOSTNAME).body(Body::empty()).unwrap();
    assert_eq!(home.raw(request).await.status(), 401);
}
