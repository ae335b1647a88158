//! Every statement of the store is prepared on both engines: one that only SQLite accepts would fail at its first use
//! on a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use testkit::postgres::fresh_database;

use super::sql::Connection;
use super::{ServerAddress, StoreOptions, connection, postgres};

/// Folders and files with statements for one engine only: an archive and a Python home are read into a file.
const SINGLE_ENGINE_PATHS: [&str; 4] = ["engine", "home_copy", "archive/read.rs", "python_home"];

/// A statement without variable parts, and its place.
pub(super) struct FoundStatement {
    file: PathBuf,
    pub(super) statement: String,
}

/// Bodies of macros without arguments, by name. Statements share their column lists through them.
type Macros = BTreeMap<String, TokenStream>;

/// Statements in the store's source, written as a literal or with `concat!`. Those built with `format!` depend on
/// values; the test suites that call them prepare them.
pub(super) fn statements() -> Vec<FoundStatement> {
    let sources = sources();
    let mut macros = Macros::new();
    sources.iter().for_each(|(_, tokens)| collect_macros(tokens.clone(), &mut macros));
    let mut found = Vec::new();
    for (file, tokens) in sources {
        let mut texts = Vec::new();
        collect_texts(tokens, &macros, &mut texts);
        let is_statement = |text: &String| {
            ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "].iter().any(|verb| text.starts_with(verb))
        };
        found.extend(
            texts
                .into_iter()
                .filter(is_statement)
                .map(|statement| FoundStatement { file: file.clone(), statement }),
        );
    }
    found
}

/// The files of the store that are for both engines, by path below `src`.
fn sources() -> Vec<(PathBuf, TokenStream)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut sources) = (vec![source.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.strip_prefix(&source).unwrap().to_owned();
            if SINGLE_ENGINE_PATHS.iter().any(|one| file == Path::new(one)) {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => sources.push((file, std::fs::read_to_string(&path).unwrap().parse().unwrap())),
            }
        }
    }
    sources
}

/// Collects `macro_rules! NAME { () => { BODY } }`.
fn collect_macros(tokens: TokenStream, macros: &mut Macros) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let rule: Vec<TokenTree> = group.stream().into_iter().collect();
        match (index.checked_sub(3).map(|start| &tokens[start..index]), rule.first(), rule.get(3)) {
            (
                Some([TokenTree::Ident(keyword), _, TokenTree::Ident(name)]),
                Some(TokenTree::Group(arguments)),
                Some(TokenTree::Group(body)),
            ) if keyword == "macro_rules" => {
                if arguments.stream().is_empty() {
                    macros.insert(name.to_string(), body.stream());
                }
            }
            _ => collect_macros(group.stream(), macros),
        }
    }
}

/// Collects the texts of a source: string literals and `concat!`, but no parts of a longer text.
fn collect_texts(tokens: TokenStream, macros: &Macros, texts: &mut Vec<String>) {
    let mut name = String::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if name == "concat" && group.delimiter() == Delimiter::Parenthesis => {
                texts.push(text_of(group.stream(), macros).trim().to_owned());
            }
            TokenTree::Group(group) if is_skipped(&name, &group) => {}
            TokenTree::Group(group) => collect_texts(group.stream(), macros, texts),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    texts.push(text.value().trim().to_owned());
                }
            }
            TokenTree::Ident(ident) if name != "macro_rules" => name = ident.to_string(),
            TokenTree::Ident(_) => {}
            TokenTree::Punct(punct) if punct.as_char() != '!' => name.clear(),
            TokenTree::Punct(_) => {}
        }
    }
}

/// True for the arguments of `format!`, which may be parts of a statement, and for the rules of a macro.
fn is_skipped(macro_name: &str, group: &Group) -> bool {
    match macro_name {
        "format" => group.delimiter() == Delimiter::Parenthesis,
        "macro_rules" => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

/// The text of a literal, of a macro's call or of the parts of a `concat!`.
///
/// # Panics
///
/// If a macro is not in `macros`: its statements would not be tested.
fn text_of(tokens: TokenStream, macros: &Macros) -> String {
    let mut text = String::new();
    let mut name = String::new();
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => {
                text.push_str(&syn::parse_str::<syn::LitStr>(&literal.to_string()).unwrap().value());
            }
            TokenTree::Ident(ident) => name = ident.to_string(),
            TokenTree::Group(group) if name == "concat" => text.push_str(&text_of(group.stream(), macros)),
            TokenTree::Group(_) => {
                let body = macros.get(&name).unwrap_or_else(|| panic!("the text of {name}! is unknown"));
                text.push_str(&text_of(body.clone(), macros));
            }
            TokenTree::Punct(_) => {}
        }
    }
    text
}

fn assert_prepares(connection: &Connection) {
    let found = statements();
    assert!(found.len() > 750, "{} statements", found.len());
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
