//! `echovessel logins` and `echovessel audit`: lists logins and administrative actions.

use anyhow::bail;
use memory::access::{AuditEntry, Login};
use memory::ports::{AccessStore as _, Clock as _};
use reqwest::Method;
use serde_json::{Value, json};

use super::token::{DatabaseWithoutDaemon, running_daemon};
use crate::cli::{LoginsCommand, SharedOptions};
use crate::home::Home;
use crate::system::SystemClock;

/// Entries that are read at once: the maximum of one answer of the API.
const PAGE_SIZE: u32 = 200;

pub(crate) async fn logins(
    shared: &SharedOptions,
    home: &Home,
    command: Option<LoginsCommand>,
) -> anyhow::Result<()> {
    match command.unwrap_or(LoginsCommand::List) {
        LoginsCommand::List => list(shared, home).await,
        LoginsCommand::End { id, .. } => end_login(shared, home, id.as_deref()).await,
    }
}

async fn list(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let answer = match running_daemon(home)? {
        Some(daemon) => daemon.ask(Method::GET, "/api/admin/logins", None).await?,
        None => {
            let (logins, now) =
                (DatabaseWithoutDaemon::from_home(home)?.store.logins().await?, SystemClock.now());
            let logins = logins.iter().filter(|login| now < login.expires_at());
            json!({"logins": logins.map(login_body).collect::<Vec<_>>()})
        }
    };
    if shared.json {
        println!("{answer}");
        return Ok(());
    }
    let logins = answer["logins"].as_array().map(Vec::as_slice).unwrap_or_default();
    if logins.is_empty() {
        println!("No browser is logged in. `echovessel token link` prints a sign-in link.");
    }
    for login in logins {
        let text = |field: &str| login[field].as_str().unwrap_or("-").to_owned();
        println!(
            "{}  {:<20} from {}  by {}  seen {}  ends {}",
            text("id"),
            text("browser"),
            text("address"),
            text("token"),
            text("last_seen_at"),
            text("expires_at")
        );
    }
    Ok(())
}

async fn end_login(shared: &SharedOptions, home: &Home, id: Option<&str>) -> anyhow::Result<()> {
    let ended = match running_daemon(home)? {
        Some(daemon) => {
            let path = id
                .map_or("/api/admin/logins".to_owned(), |id| format!("/api/admin/logins/{}", path_part(id)));
            daemon.ask(Method::DELETE, &path, None).await?["ended"].as_u64().unwrap_or_default()
        }
        None => {
            let database = DatabaseWithoutDaemon::from_home(home)?;
            let ended = database.store.end_logins(id).await?;
            let act = if id.is_some() { "DELETE /api/admin/logins/{id}" } else { "DELETE /api/admin/logins" };
            if ended > 0 {
                database.record_act(act, &id.map_or(String::new(), |id| format!("login {id}")), 200).await?;
            }
            ended
        }
    };
    if let Some(id) = id.filter(|_| ended == 0) {
        bail!("unknown login `{id}`; `echovessel logins` lists all logins");
    }
    if shared.json {
        println!("{}", json!({"ended": ended}));
    } else {
        println!("{ended} {} logged out.", if ended == 1 { "browser is" } else { "browsers are" });
    }
    Ok(())
}

/// Prints every entry of the audit log as a line of JSON.
pub(crate) async fn export_audit(home: &Home) -> anyhow::Result<()> {
    let mut entries: Vec<Value> = Vec::new();
    match running_daemon(home)? {
        Some(daemon) => {
            let mut cursor = String::new();
            loop {
                let path = format!("/api/admin/audit?limit={PAGE_SIZE}{cursor}");
                let page = daemon.ask(Method::GET, &path, None).await?;
                entries.extend(page["items"].as_array().cloned().unwrap_or_default());
                let Some(next) = page["next_cursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
        }
        None => {
            let database = DatabaseWithoutDaemon::from_home(home)?;
            let mut before = None;
            loop {
                let page = database.store.audit_entries(before, PAGE_SIZE).await?;
                let Some((last, _)) = page.last() else { break };
                before = Some(*last);
                entries.extend(page.iter().map(|(number, entry)| entry_body(*number, entry)));
            }
        }
    }
    for entry in entries.iter().rev() {
        println!("{entry}");
    }
    Ok(())
}

/// An id as a path segment; `None` for any other text.
fn path_part(id: &str) -> &str {
    if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) { id } else { "-" }
}

fn login_body(login: &Login) -> Value {
    json!({
        "id": login.id, "token": login.token, "address": login.address, "browser": login.browser,
        "created_at": login.created_at, "last_seen_at": login.last_seen_at, "expires_at": login.expires_at(),
        "is_current": false,
    })
}

fn entry_body(number: i64, entry: &AuditEntry) -> Value {
    json!({
        "id": number.to_string(), "at": entry.at, "token": entry.token, "act": entry.act, "object": entry.object,
        "status": entry.status,
    })
}
