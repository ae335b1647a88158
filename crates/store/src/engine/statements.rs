//! Every statement of the store is prepared on both engines: one that only SQLite accepts would fail at its first use
//! on a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};
use testkit::postgres::fresh_database;

use super::sql::Connection;
use super::{ServerAddress, StoreOptions, connection, postgres};

/// Folders and files with statements for one engine only: an archive and a Python home are read into a file, and tests
/// record the commits of one.
const SINGLE_ENGINE_PATHS: [&str; 5] =
    ["engine", "home_copy", "archive/read.rs", "python_home", "sessions/recorded_commits.rs"];

/// Files whose statements with `format!` are made from the lists of the schema; their own tests use each table.
const MADE_FROM_SCHEMA: [&str; 1] = ["archive/write.rs"];
/// A column whose name is a text of another crate.
const COLUMN_OF_PERSONA: &str = "timezone";

/// A statement without variable parts, and its place.
pub(super) struct FoundStatement {
    file: PathBuf,
    pub(super) statement: String,
}

/// Bodies of macros without arguments, by name. Statements share their column lists through them.
type Macros = BTreeMap<String, TokenStream>;

/// Statements in the store's source, written as a literal or with `concat!`.
pub(super) fn statements() -> Vec<FoundStatement> {
    let mut found = Vec::new();
    for SourceTexts { file, texts, .. } in source_texts() {
        let statements = texts.into_iter().filter(|text| is_statement(text));
        found.extend(statements.map(|statement| FoundStatement { file: file.clone(), statement }));
    }
    found
}

fn is_statement(text: &str) -> bool {
    ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "].iter().any(|verb| text.starts_with(verb))
}

/// The texts of a source file.
struct SourceTexts {
    file: PathBuf,
    /// String literals and texts made by `concat!`.
    texts: Vec<String>,
    /// First arguments of `format!`.
    templates: Vec<String>,
}

fn source_texts() -> Vec<SourceTexts> {
    let sources = sources();
    let mut macros = Macros::new();
    sources.iter().for_each(|(_, tokens)| collect_macros(tokens.clone(), &mut macros));
    let texts_of = |(file, tokens): (PathBuf, TokenStream)| {
        let mut found = SourceTexts { file, texts: Vec::new(), templates: Vec::new() };
        collect_texts(tokens, &macros, &mut found);
        found
    };
    sources.into_iter().map(texts_of).collect()
}

/// A statement that is built with `format!`. The values of its parts are among the texts of its folder.
struct ComposedStatement<'a> {
    template: &'a str,
    /// Placeholders with their braces, each once.
    placeholders: Vec<&'a str>,
    texts: &'a [String],
}

impl<'a> ComposedStatement<'a> {
    fn new(template: &'a str, texts: &'a [String]) -> Self {
        let mut placeholders = Vec::new();
        let mut rest = template;
        while let Some((_, after)) = rest.split_once('{') {
            let end = after.find('}').unwrap();
            let placeholder = &template[template.len() - after.len() - 1..][..end + 2];
            if !placeholders.contains(&placeholder) {
                placeholders.push(placeholder);
            }
            rest = &after[end + 1..];
        }
        Self { template, placeholders, texts }
    }

    /// True if the engine accepts the statement with some values: empty ones, except for one or two placeholders. A
    /// server is asked only about what a file accepts, because it takes longer to refuse a statement.
    fn prepares(&self, file: &Connection, connection: &Connection) -> bool {
        let last = self.placeholders.len();
        (0..last).flat_map(|first| (first..last).map(move |second| (first, second))).any(|places| {
            let mut values =
                self.texts.iter().flat_map(|one| self.texts.iter().map(move |other| [one, other]));
            values.any(|values| {
                let statement = self.fill(places, values);
                file.prepare_cached(&statement).is_ok() && connection.prepare_cached(&statement).is_ok()
            })
        })
    }

    fn fill(&self, (first, second): (usize, usize), [one, other]: [&String; 2]) -> String {
        let placeholders = self.placeholders.iter().enumerate();
        placeholders.fold(self.template.to_owned(), |statement, (index, placeholder)| {
            let value = match index {
                _ if index == first => one.as_str(),
                _ if index == second => other.as_str(),
                _ => "",
            };
            statement.replace(placeholder, value)
        })
    }
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
fn collect_texts(tokens: TokenStream, macros: &Macros, found: &mut SourceTexts) {
    let mut name = String::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if name == "concat" && group.delimiter() == Delimiter::Parenthesis => {
                found.texts.push(text_of(group.stream(), macros).trim().to_owned());
            }
            TokenTree::Group(group) if name == "format" && group.delimiter() == Delimiter::Parenthesis => {
                if let Some(TokenTree::Literal(template)) = group.stream().into_iter().next() {
                    found.templates.extend(literal_text(&template));
                }
            }
            // The rules of a macro: their texts are parts of statements.
            TokenTree::Group(group) if name == "macro_rules" && group.delimiter() == Delimiter::Brace => {}
            TokenTree::Group(group) => collect_texts(group.stream(), macros, found),
            TokenTree::Literal(literal) => {
                found.texts.extend(literal_text(&literal));
            }
            TokenTree::Ident(ident) if name != "macro_rules" => name = ident.to_string(),
            TokenTree::Ident(_) => {}
            TokenTree::Punct(punct) if punct.as_char() != '!' => name.clear(),
            TokenTree::Punct(_) => {}
        }
    }
}

/// The text of a string literal.
fn literal_text(literal: &Literal) -> Option<String> {
    let text = syn::parse_str::<syn::LitStr>(&literal.to_string()).ok()?;
    Some(text.value().trim().to_owned())
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

/// Statements built with `format!` that the engine refuses with all values.
fn refused_composed_statements(connection: &Connection) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("home.db");
    let home = connection::open_for_writing(&path, &StoreOptions::default()).unwrap().into();
    let sources = source_texts();
    let (mut composed, mut refused) = (0, Vec::new());
    for SourceTexts { file, templates, .. } in &sources {
        let in_folder = sources.iter().filter(|other| other.file.parent() == file.parent());
        let mut texts: Vec<String> = in_folder.flat_map(|other| other.texts.clone()).collect();
        texts.push(COLUMN_OF_PERSONA.to_owned());
        // The shortest first: nearly all values are names.
        texts.sort_by_key(String::len);
        texts.dedup();
        let is_made_from_schema = MADE_FROM_SCHEMA.iter().any(|one| file == Path::new(one));
        for template in templates.iter().filter(|template| is_statement(template) && !is_made_from_schema) {
            composed += 1;
            if !ComposedStatement::new(template, &texts).prepares(&home, connection) {
                refused.push(format!("{}: no values fit\n  {template}", file.display()));
            }
        }
    }
    assert!(composed > 30, "{composed} statements with `format!`");
    refused
}

fn assert_prepares(connection: &Connection) {
    let found = statements();
    assert!(found.len() > 750, "{} statements", found.len());
    let mut refused: Vec<String> = found
        .into_iter()
        .filter_map(|FoundStatement { file, statement }| {
            let error = connection.prepare_cached(&statement).err()?;
            Some(format!("{}: {error}\n  {statement}", file.display()))
        })
        .collect();
    refused.extend(refused_composed_statements(connection));
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
