//! Every path and method of the OpenAPI document with every kind of token: 401, 403, or access, as the table in the
//! book says. A new route is in the document, so it is also tested here.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Request, StatusCode};

use memory::ports::PersonaStore;

use crate::home::{Answer, HOSTNAME, Home, TOKEN};

const BOOK: &str = include_str!("../../../../docs/book/security.md");

/// Paths that each scope opens by the book's table: whole paths, or with `…` everything below them.
fn table_of_the_book() -> BTreeMap<String, Vec<String>> {
    let rows = BOOK.lines().skip_while(|line| !line.starts_with("| scope | opens |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split(" | ");
        let scope = quoted(cells.next().unwrap()).remove(0);
        let paths = quoted(cells.next().unwrap()).into_iter().filter(|path| path.starts_with('/'));
        (scope, paths.collect())
    })
    .collect()
}

fn is_opened(table: &BTreeMap<String, Vec<String>>, scope: &str, path: &str, method: &str) -> bool {
    if let Some(whole) = scope.strip_suffix(":read") {
        return method == "GET" && is_opened(table, whole, path, method);
    }
    let covers = |pattern: &String| match pattern.strip_suffix('…') {
        Some(root) => path.starts_with(root),
        None => path == pattern,
    };
    let is_listed = |scope: &str| table[scope].iter().any(covers);
    let is_left = !table.keys().any(|known| is_listed(known));
    is_listed(scope) || scope == "admin" && is_left
}

/// Every operation of the document, and whether it needs a token.
async fn operations(home: &Home) -> Vec<(String, String, bool)> {
    let document = home.get("/api/openapi.json").await.json();
    let mut operations = vec![("/mcp".to_owned(), "POST".to_owned(), true)];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let needs_token = operation["security"].as_array().is_none_or(|needed| !needed.is_empty());
            operations.push((path.clone(), method.to_uppercase(), needs_token));
        }
    }
    // The operation that ends the program comes last.
    operations.sort_by_key(|(path, ..)| path.ends_with("/stop"));
    operations
}

/// The status; for a 403 also the reason.
async fn ask(home: &Home, path: &str, method: &str, token: Option<&str>) -> (StatusCode, String) {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
    let request = Request::builder().method(method).uri(parts.collect::<Vec<_>>().join("/"));
    let mut request = request.header(HOST, HOSTNAME).header(CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let response = home.raw(request.body(Body::from("{}")).unwrap()).await;
    let status = response.status();
    // Only refusals are read: a stream of events has no end.
    let text = if status == StatusCode::FORBIDDEN { Answer::of(response).await.text } else { String::new() };
    (status, text)
}

#[tokio::test]
async fn every_path_opens_to_whom_the_book_says_and_to_nobody_else() {
    let home = Home::new().await;
    let table = table_of_the_book();
    assert_eq!(
        table.keys().collect::<Vec<_>>(),
        ["admin", "admin:read", "chat", "chat:read", "hub:INSTANCE", "metrics", "openai"]
    );
    let mut tokens: Vec<(&str, String)> = Vec::new();
    for (row, scope) in [
        ("admin", "admin"),
        ("admin:read", "admin:read"),
        ("chat:read", "chat:read"),
        ("chat", "chat"),
        ("metrics", "metrics"),
        ("openai", "openai"),
        ("hub:INSTANCE", "hub:pi"),
    ] {
        tokens.push((row, home.token(&scope.replace(':', "-"), &[scope], None).await));
    }
    for (row, scope) in [("chat", "chat"), ("openai", "openai"), ("hub:INSTANCE", "hub:pi")] {
        tokens.push((row, home.token(&format!("ann-{row}").replace(':', "-"), &[scope], Some("ann")).await));
    }
    let operations = operations(&home).await;
    assert!(operations.len() > 130, "{}", operations.len());
    let mut wrong = Vec::new();
    for (path, method, needs_token) in &operations {
        let mut expect = |who: &str, found: &(StatusCode, String), is_right: bool| {
            if !is_right {
                wrong.push(format!("{who}: {method} {path} answered {} {}", found.0, found.1));
            }
        };
        for stranger in [None, Some("wrong"), Some("ev_a1a1a1a1a1a1_00")] {
            let found = ask(&home, path, method, stranger).await;
            expect("a stranger", &found, (found.0 == StatusCode::UNAUTHORIZED) == *needs_token);
        }
        if !needs_token {
            continue;
        }
        for (row, token) in &tokens {
            let found = ask(&home, path, method, Some(token)).await;
            let is_refused = found.0 == StatusCode::FORBIDDEN && found.1.contains("it needs the scope");
            let is_known = found.0 != StatusCode::UNAUTHORIZED;
            expect(row, &found, is_known && is_refused != is_opened(&table, row, path, method));
        }
        let found = ask(&home, path, method, Some(TOKEN)).await;
        let is_let_in = found.0 != StatusCode::UNAUTHORIZED && found.0 != StatusCode::FORBIDDEN;
        expect("the owner", &found, is_let_in);
    }
    assert_eq!(table["chat:read"], table["chat"], "the book says the same of both");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_get_creates_nobody() {
    let home = Home::new().await;
    let before = home.get("/api/admin/users").await.json();
    for (path, method, _) in operations(&home).await {
        if method == "GET" {
            ask(&home, &format!("{path}?user_id=nobody"), "GET", Some(TOKEN)).await;
            ask(&home, &path, "GET", Some(TOKEN)).await;
        }
    }
    assert_eq!(home.get("/api/admin/users").await.json(), before);
    assert!(home.store.personas().await.unwrap().iter().all(|persona| persona.id.as_str() == "default"));
}
