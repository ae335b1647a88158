//! Every statement of the store is prepared on both engines: one that only SQLite accepts would fail at its first use
//! on a server.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use testkit::postgres::fresh_database;

use super::sql::Connection;
use super::{ServerAddress, StoreOptions, connection, postgres};

/// Folders and files with statements for one engine only: an archive and a Python home are read into a file.
const SINGLE_ENGINE_PATHS: [&str; 4] = ["engine", "home_copy", "archive/read.rs", "python_home"];

/// A statement written as one literal, and its place.
pub(super) struct FoundStatement {
    file: PathBuf,
    pub(super) statement: String,
}

/// Statements in the store's source. Those built by `concat!` or `format!` are prepared by the test suites that call
/// them.
pub(super) fn statements() -> Vec<FoundStatement> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut found) = (vec![source.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.strip_prefix(&source).unwrap().to_owned();
            if SINGLE_ENGINE_PATHS.iter().any(|one| file == Path::new(one)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                let mut literals = Vec::new();
                collect_literals(text.parse().unwrap(), &mut literals);
                let is_statement = |text: &String| {
                    ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "]
                        .iter()
                        .any(|verb| text.starts_with(verb))
                };
                found.extend(
                    literals
                        .into_iter()
                        .filter(is_statement)
                        .map(|statement| FoundStatement { file: file.clone(), statement }),
                );
            }
        }
    }
    found
}

/// Collects the string literals of a source, except for those that are parts of a longer text.
fn collect_literals(tokens: TokenStream, literals: &mut Vec<String>) {
    let mut name = String::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_composed_statement(&name, &group) => {}
            TokenTree::Group(group) => collect_literals(group.stream(), literals),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    literals.push(text.value().trim().to_owned());
                }
            }
            TokenTree::Ident(ident) if name != "macro_rules" => name = ident.to_string(),
            TokenTree::Ident(_) => {}
            TokenTree::Punct(punct) if punct.as_char() != '!' => name.clear(),
            TokenTree::Punct(_) => {}
        }
    }
}

fn is_composed_statement(macro_name: &str, group: &Group) -> bool {
    match macro_name {
        "concat" | "format" => group.delimiter() == Delimiter::Parenthesis,
        "macro_rules" => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

fn assert_prepares(connection: &Connection) {
    let found = statements();
    assert!(found.len() > 500, "{} statements", found.len());
    let refused: Vec<String> = found
        .into_iter()
        .filter_map(|FoundStatement { file, statement }| {
            let error = connection.prepare_cached(&statement).err()?;
            Some(format!("{}: {error}\n  {statement}", file.display()))
        })
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn statements_prepare_on_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home.db");
    assert_prepares(&connection::open_for_writing(&path, &StoreOptions::default()).unwrap().into());
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
fn statements_prepare_on_a_server() {
    let database = fresh_database().unwrap().unwrap();
    let address = ServerAddress::parse(&database, None).unwrap();
    let server = postgres::open_for_writing(&address, None).unwrap().unwrap();
    assert_prepares(&Connection::Postgres(Box::new(server)));
}
