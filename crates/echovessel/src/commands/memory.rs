//! `echovessel memory`: lists memories and what depends on them, and forgets them.

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::identifiers::NodeId;
use reqwest::Method;
use serde_json::{Value, json};

use super::recall::shorten;
use super::run::AnyDaemon;
use crate::cli::{Forget, List, MemoryCommand, SharedOptions, Show};
use crate::client::Daemon;
use crate::config::Config;
use crate::home::Home;

/// Path of erasures and their dry runs.
pub(super) const ERASE_PATH: &str = "/api/admin/memory/erase";
/// Most characters of a memory on one line. It fits into a terminal of 80 columns with the mark before it.
const LINE_LENGTH: usize = 70;
/// Maximum texts that the preview of an erasure prints: enough to see if the right ones were found, on one screen.
const TEXTS_SHOWN: usize = 10;

pub(crate) async fn memory(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    command: &MemoryCommand,
) -> anyhow::Result<()> {
    let daemon = AnyDaemon::open(config, home).await?;
    let outcome = dispatch(shared, daemon.daemon(), command).await;
    daemon.close().await?;
    outcome
}

async fn dispatch(shared: &SharedOptions, daemon: &Daemon, command: &MemoryCommand) -> anyhow::Result<()> {
    match command {
        MemoryCommand::List(asked) => list(shared, daemon, asked).await,
        MemoryCommand::Show(asked) => show(shared, daemon, asked).await,
        MemoryCommand::Forget(asked) => forget(shared, daemon, asked).await,
    }
}

async fn list(shared: &SharedOptions, daemon: &Daemon, asked: &List) -> anyhow::Result<()> {
    let (path, rows) = match asked.what.as_str() {
        "events" | "thoughts" => (format!("memory/{}?", asked.what), "items"),
        "entities" => ("memory/entities?".to_owned(), "entities"),
        "receipts" => ("memory/receipts?".to_owned(), "receipts"),
        "documents" => ("documents".to_owned(), "documents"),
        _ => ("chat".to_owned(), "messages"),
    };
    let user: String = encode_query(&asked.user);
    let path = match path.as_str() {
        "documents" => format!("/api/hub/documents?limit={}&user_id={user}", asked.limit),
        "chat" => format!("/api/chat/history?limit={}&user_id={user}", asked.limit),
        path => format!("/api/admin/{path}limit={}&user_id={user}", asked.limit),
    };
    let answer = daemon.ask(Method::GET, &path, None).await?;
    if shared.json {
        println!("{answer}");
        return Ok(());
    }
    print_list(answer[rows].as_array().context("the daemon's answer contains no list")?);
    Ok(())
}

/// Prints one row a line: its id, its day, its kind or speaker, and the text.
pub(super) fn print_list(rows: &[Value]) {
    if rows.is_empty() {
        println!("No entries.");
    }
    for row in rows {
        println!("{}", list_line(row));
    }
}

fn list_line(row: &Value) -> String {
    let field = |name: &str| row[name].as_str();
    if let (Some(kind), Some(filename)) = (field("kind"), field("filename")) {
        return format!("{}  {kind}/{filename}", local_day(&row["updated_at"]));
    }
    // For a memory, the day of its event, else the day on which it was said; it may have been stored years later.
    let moments = [&row["event_time"]["start"], &row["said_at"], &row["created_at"]];
    let day = local_day(moments.into_iter().find(|moment| moment.is_string()).unwrap_or(&Value::Null));
    let text = ["canonical_name", "description", "content"].iter().find_map(|name| field(name));
    let erased = || {
        format!(
            "erased {}",
            count_in_words(row["counts"]["messages"].as_u64().unwrap_or_default(), "messages")
        )
    };
    let text = text.map_or_else(erased, |text| shorten(text, LINE_LENGTH));
    let kind =
        ["speaker", "role", "kind", "node_type"].iter().find_map(|name| field(name)).unwrap_or_default();
    let now = row["no_longer_current"]["now"].as_str();
    let note =
        now.map_or_else(String::new, |now| format!(" (no longer current: {})", shorten(now, LINE_LENGTH)));
    format!("{}  {day}  {kind:<8}  {text}{note}", field("id").unwrap_or_default())
}

/// The day of a time in this machine's time zone.
fn local_day(moment: &Value) -> String {
    let moment = moment.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let day = moment.map(|moment| moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string());
    day.unwrap_or_else(|| " ".repeat(10))
}

/// Path of a document in the API; `None` if the name is not that of a document.
fn document_path(name: &str, user: &str) -> Option<String> {
    let (kind, filename) = name.split_once('/')?;
    let filename = if filename.ends_with(".md") { filename.to_owned() } else { format!("{filename}.md") };
    Some(format!(
        "/api/hub/documents/{}/{}?user_id={}",
        encode_query(kind),
        encode_query(&filename),
        encode_query(user)
    ))
}

async fn show_document(shared: &SharedOptions, daemon: &Daemon, path: &str) -> anyhow::Result<()> {
    let shown = daemon.ask(Method::GET, path, None).await?;
    if shared.json {
        println!("{shown}");
        return Ok(());
    }
    println!("{}", shown["content"].as_str().context("the daemon's answer contains no text")?.trim_end());
    Ok(())
}

async fn show(shared: &SharedOptions, daemon: &Daemon, asked: &Show) -> anyhow::Result<()> {
    if let Some(path) = document_path(&asked.id, &asked.user) {
        return show_document(shared, daemon, &path).await;
    }
    let Ok(id) = asked.id.parse::<NodeId>() else {
        bail!("unknown memory id `{}`; `echovessel memory list events` lists events", asked.id);
    };
    let body = json!({"node_id": id});
    let shown = daemon.ask(Method::POST, "/api/admin/memory/preview-delete", Some(body)).await?;
    if shared.json {
        println!("{shown}");
        return Ok(());
    }
    println!("{}  {}", shown["node_type"].as_str().unwrap_or_default(), asked.id);
    println!("  {}", shown["description"].as_str().unwrap_or_default());
    println!("  written    {}", shown["created_at"].as_str().unwrap_or_default());
    for evidence in shown["evidence"].as_array().into_iter().flatten() {
        let (quote, message) = (evidence["quote"].as_str(), evidence["message_id"].as_str());
        println!("  proven by  “{}” (message {})", quote.unwrap_or_default(), message.unwrap_or_default());
    }
    for event in shown["rests_on"].as_array().into_iter().flatten() {
        println!("  based on   {}", shorten(event["description"].as_str().unwrap_or_default(), LINE_LENGTH));
    }
    let forgotten = shown["forgotten_event_ids"].as_array().map_or(0, Vec::len);
    if forgotten > 0 {
        println!("             and {forgotten} forgotten messages");
    }
    for thought in shown["dependent_thought_descriptions"].as_array().into_iter().flatten() {
        println!("  supports   {}", shorten(thought.as_str().unwrap_or_default(), LINE_LENGTH));
    }
    Ok(())
}

/// Documents with these names. A trailing `*` selects all names with that prefix, such as those of a lorebook.
async fn documents_named(daemon: &Daemon, user: &str, names: &[String]) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for name in names {
        let Some(beginning) = name.strip_suffix('*') else {
            found.push(name.clone());
            continue;
        };
        let path = format!("/api/hub/documents?limit=200&user_id={}", encode_query(user));
        let mut cursor = String::new();
        loop {
            let page = daemon.ask(Method::GET, &format!("{path}{cursor}"), None).await?;
            let documents = page["documents"].as_array().into_iter().flatten();
            let named = documents.filter_map(|document| {
                Some(format!("{}/{}", document["kind"].as_str()?, document["filename"].as_str()?))
            });
            found.extend(named.filter(|name| name.starts_with(beginning)));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={}", encode_query(next));
        }
    }
    Ok(found)
}

/// The body of a `POST` to [`ERASE_PATH`].
pub(super) fn erasure_body(
    user: &str,
    ids: &[String],
    text: Option<&str>,
    with_messages: bool,
    keeps_thoughts: bool,
) -> Value {
    let mut body = json!({
        "user_id": user, "include_messages": with_messages,
        "choice": if keeps_thoughts { "orphan" } else { "cascade" },
    });
    if !ids.is_empty() {
        // An id identifies its own kind; those of other kinds are skipped.
        for kind in ["message_ids", "event_ids", "session_ids", "entity_ids"] {
            body[kind] = json!(ids);
        }
    }
    if let Some(text) = text {
        body["text"] = json!(text);
    }
    body
}

async fn forget(shared: &SharedOptions, daemon: &Daemon, asked: &Forget) -> anyhow::Result<()> {
    let (names, ids): (Vec<String>, Vec<String>) =
        asked.ids.iter().cloned().partition(|named| named.contains('/'));
    let mut body =
        erasure_body(&asked.user, &ids, asked.text.as_deref(), asked.with_messages, asked.keep_thoughts);
    if !names.is_empty() {
        let documents = documents_named(daemon, &asked.user, &names).await?;
        if documents.is_empty() {
            bail!("no document has this name. Nothing was erased");
        }
        body["documents"] = json!(documents);
    }
    let mut dry = body.clone();
    dry["dry_run"] = json!(true);
    let shown = daemon.ask(Method::POST, ERASE_PATH, Some(dry)).await?;
    if asked.dry_run {
        return print_receipt(shared, &shown, "would be erased");
    }
    if !shared.json {
        print_receipt(shared, &shown, "would be erased")?;
    }
    if is_nothing_found(&shown) {
        // Printed above for people; as JSON it is the result.
        return if shared.json { print_receipt(shared, &shown, "would be erased") } else { Ok(()) };
    }
    if !asked.yes && !ask_consent()? {
        bail!("nothing was erased");
    }
    body["confirm"] = shown["id"].clone();
    let receipt = daemon.ask(Method::POST, ERASE_PATH, Some(body)).await?;
    print_receipt(shared, &receipt, "erased permanently")
}

/// True if none of the ids that the command names exists.
pub(super) fn is_nothing_found(receipt: &Value) -> bool {
    let is_none = |count: &Value| count.as_u64() == Some(0);
    receipt["counts"].as_object().is_none_or(|counts| counts.values().all(is_none))
}

/// Asks the person at the terminal to confirm; a program must pass `--yes`.
fn ask_consent() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(
            "no terminal to ask for confirmation; check with --dry-run, then pass --yes. Nothing was erased"
        );
    }
    print!("Erase permanently? Type yes: ");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

fn print_receipt(shared: &SharedOptions, receipt: &Value, done: &str) -> anyhow::Result<()> {
    if shared.json {
        println!("{receipt}");
        return Ok(());
    }
    print_erasure(receipt, done)
}

/// Prints the result or the preview of an erasure.
pub(super) fn print_erasure(receipt: &Value, done: &str) -> anyhow::Result<()> {
    let counts = receipt["counts"].as_object().context("the daemon's answer contains no counts")?;
    let taken =
        counts.iter().filter_map(|(kind, count)| Some((kind, count.as_u64().filter(|count| *count > 0)?)));
    let taken: Vec<String> = taken.map(|(kind, count)| count_in_words(count, kind)).collect();
    if taken.is_empty() {
        println!("Nothing found.");
    } else {
        println!("{done}: {}", taken.join(", "));
    }
    let texts = receipt["texts"].as_array().map(Vec::as_slice).unwrap_or_default();
    for text in texts.iter().take(TEXTS_SHOWN) {
        let words = shorten(text["text"].as_str().unwrap_or_default(), LINE_LENGTH);
        println!("  {}  {:<11}  {words}", local_day(&text["at"]), text["kind"].as_str().unwrap_or_default());
    }
    if texts.len() > TEXTS_SHOWN {
        println!("  …");
    }
    let count = |value: &Value| value.as_array().map_or(0, Vec::len);
    let rewritten = count(&receipt["rewritten_ids"]);
    if rewritten > 0 {
        println!(
            "{} kept, reduced to what other messages support",
            count_in_words(rewritten as u64, "memories")
        );
    }
    let left = count(&receipt["left"]["message_ids"]);
    if left > 0 {
        println!("still in {}; --with-messages erases these too", count_in_words(left as u64, "messages"));
    }
    for missed in receipt["not_reached"].as_array().into_iter().flatten() {
        let (what, name) = (missed["what"].as_str(), missed["name"].as_str());
        println!("not reached: {} {}", what.unwrap_or_default(), name.unwrap_or_default());
    }
    if receipt["dry_run"] == json!(false) {
        println!("receipt {}", receipt["id"].as_str().unwrap_or_default());
    }
    Ok(())
}

/// A count with its noun, such as `1 memory`; `nouns` is the plural.
pub(crate) fn count_in_words(count: u64, nouns: &str) -> String {
    let noun = match nouns.strip_suffix("ies") {
        _ if count != 1 => nouns.to_owned(),
        Some(stem) => format!("{stem}y"),
        None => nouns.strip_suffix('s').unwrap_or(nouns).to_owned(),
    };
    format!("{count} {}", noun.replace('_', " "))
}

/// Encodes a name for use in a query string.
pub(super) fn encode_query(text: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_document_is_recognised_by_its_name() {
        let path = super::document_path("significant/2026-07-01_大事.md", "a b").unwrap();
        assert_eq!(path, "/api/hub/documents/significant/2026-07-01_%E5%A4%A7%E4%BA%8B.md?user_id=a%20b");
        assert_eq!(
            super::document_path("self/my_wants", "self"),
            super::document_path("self/my_wants.md", "self")
        );
        assert_eq!(super::document_path("0198a0c2-7d52-7c10-9d0b-5f1c6a3e2b11", "self"), None);
    }

    #[test]
    fn nouns_agree_with_their_counts() {
        for (count, nouns, said) in [
            (1, "messages", "1 message"),
            (2, "messages", "2 messages"),
            (1, "entities", "1 entity"),
            (0, "summaries", "0 summaries"),
            (1, "rejected", "1 rejected"),
        ] {
            assert_eq!(super::count_in_words(count, nouns), said);
        }
    }

    #[test]
    fn a_row_shows_its_day_kind_and_speaker() {
        let event = json!({"id": "a", "node_type": "event", "description": "moved", "created_at": "2026-03-02T12:00:00Z",
            "event_time": {"start": "2019-05-01T12:00:00Z"}});
        assert_eq!(super::list_line(&event), "a  2019-05-01  event     moved");
        let message =
            json!({"id": "b", "role": "persona", "content": "Hello.", "created_at": "2026-03-02T12:00:00Z"});
        assert_eq!(super::list_line(&message), "b  2026-03-02  persona   Hello.");
        let entity = json!({"id": "c", "kind": "person", "canonical_name": "Ann", "description": "a sister"});
        assert_eq!(super::list_line(&entity), format!("c  {}  person    Ann", " ".repeat(10)));
    }

    #[test]
    fn a_name_is_escaped() {
        assert_eq!(super::encode_query("self"), "self");
        assert_eq!(super::encode_query("a b&小"), "a%20b%26%E5%B0%8F");
    }
}
