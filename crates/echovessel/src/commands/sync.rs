//! `echovessel sync`: connects this home to another one as its hub, and lists the programs that use this home's hub.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use hub::api::sync::SyncPull;
use hub::ports::{RemoteHub as _, RemoteStatus};
use hub::{InstanceId, VersionVector, check_protocol};
use hub_client::{HubAddress, HubClient};
use memory::{PersonaId, Scope, UserId};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::memory::count_in_words;
use super::run::AnyDaemon;
use crate::cli::{SharedOptions, SyncCommand, SyncConnect};
use crate::client::{Daemon, NoDaemon};
use crate::config::{self, Config};
use crate::followed_hub::http_address;
use crate::home::{Home, replace_file};
use crate::wiring::own_instance;

/// Environment variable of the hub's token, unless the command names another source.
const TOKEN_VARIABLE: &str = "ECHOVESSEL_HUB_TOKEN";
/// Documents on a page while the hub's documents are counted. The hub allows no more.
const DOCUMENTS_PER_PAGE: u32 = 1_000;

pub(crate) async fn sync(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    command: SyncCommand,
) -> anyhow::Result<()> {
    match command {
        SyncCommand::Connect(wanted) => connect(shared, config, home, &wanted).await,
        SyncCommand::Status => status(shared, config, home).await,
        SyncCommand::Now => {
            let (standing, _) = exchange(config, home).await?;
            print_sync_state(shared, &standing);
            fail_unless_synchronised(&standing)
        }
        SyncCommand::Disconnect => disconnect(shared, home).await,
    }
}

/// Input of `connect`: the hub's answer, and the token.
struct HubCheck {
    status: RemoteStatus,
    instance: InstanceId,
    token: SecretString,
    /// True if the token was typed in. It is then stored in the home.
    is_entered: bool,
    /// Documents that the hub has.
    documents: usize,
}

async fn connect(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    wanted: &SyncConnect,
) -> anyhow::Result<()> {
    hub_client::check_url(&wanted.url)?;
    home.create()?;
    let found = check_hub(config, wanted).await?;
    let here = count_own_documents(config, home).await?;
    let persona = found.status.persona.as_ref().map_or("", |persona| persona.name.as_str());
    let plan = format!(
        "{} is the hub of {persona} and knows this home as `{}`.\nDownload: {}. Upload: {}. The core blocks (persona, user, style) come from the hub; the texts of this home are kept as earlier versions.",
        wanted.url,
        found.instance,
        count_in_words(found.documents as u64, "documents"),
        count_in_words(here as u64, "documents")
    );
    if !shared.json {
        println!("{plan}");
    }
    if !wanted.yes && !is_confirmed()? {
        bail!("nothing was changed");
    }
    if found.is_entered {
        use secrecy::ExposeSecret as _;
        replace_file(&home.hub_token(), found.token.expose_secret().as_bytes())
            .with_context(|| format!("{} can't be written", home.hub_token().display()))?;
    }
    let mut changes = json!({
        "hub": {"instance": found.instance.as_str()},
        "sync": {"url": wanted.url, "command": null, "token_env": wanted.token_env, "ca_file": wanted.ca_file},
    });
    if own_instance(config)? == found.instance {
        changes["hub"] = json!({});
    }
    change_config(home, &changes).await?;
    if !shared.json {
        println!("Connected. Syncing documents …");
    }
    let config = config::load(&home.config(), std::env::vars())?;
    let (standing, _) = exchange(&config, home).await?;
    if shared.json {
        let mut shown = standing.clone();
        shown["instance"] = json!(found.instance.as_str());
        println!("{shown}");
    } else {
        print_sync_state(shared, &standing);
    }
    fail_unless_synchronised(&standing)
}

/// Asks the hub for its identity, after every check that can be made before anything is written.
async fn check_hub(config: &Config, wanted: &SyncConnect) -> anyhow::Result<HubCheck> {
    let (token, is_entered) = read_token(wanted)?;
    let ca_file = wanted.ca_file.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let kept = token.clone();
    let address = http_address(&wanted.url, Arc::new(move || Some(kept.clone())), &ca_file);
    let client = HubClient::new(HubAddress::Http(address));
    let scope = Scope::new(PersonaId::new(config.persona.id.clone())?, UserId::owner());
    let status = client.sync_status(&scope).await?;
    let instance = check_protocol(&status, &scope)?;
    let mut documents = 0;
    let mut cursor = None;
    loop {
        let pull = SyncPull {
            instance_id: instance.clone(),
            since: Some(VersionVector::default()),
            cursor,
            limit: Some(DOCUMENTS_PER_PAGE),
            last_sync_version: None,
        };
        let page = client.sync_pull(&scope, &pull).await?;
        documents += page.identity_files.values().map(Vec::len).sum::<usize>() + page.memories.len();
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    client.close().await;
    Ok(HubCheck { status, instance, token, is_entered, documents })
}

/// Returns the token, and true if it was entered rather than found in the environment.
fn read_token(wanted: &SyncConnect) -> anyhow::Result<(SecretString, bool)> {
    let variable = wanted.token_env.as_deref().unwrap_or(TOKEN_VARIABLE);
    let given = std::env::var(variable).ok().map(|token| token.trim().to_owned());
    if let Some(given) = given.filter(|token| !token.is_empty()) {
        return Ok((SecretString::from(given), false));
    }
    if wanted.token_env.is_some() {
        bail!("{variable} is not set in the environment; nothing was changed");
    }
    if std::io::stdin().is_terminal() {
        eprint!(
            "Token of this home on the hub (create one there with `echovessel token create --scope hub:NAME`): "
        );
        std::io::stderr().flush()?;
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    match line.trim() {
        "" => bail!("a token is needed; set {TOKEN_VARIABLE}, or enter it. Nothing was changed"),
        token => Ok((SecretString::from(token.to_owned()), true)),
    }
}

/// Asks at the terminal to confirm; a program must pass `--yes`.
fn is_confirmed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("without a terminal to ask for confirmation, pass --yes. Nothing was changed");
    }
    print!("Connect? Type yes: ");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

async fn count_own_documents(config: &Config, home: &Home) -> anyhow::Result<usize> {
    let daemon = AnyDaemon::open(config, home).await?;
    let documents = daemon.daemon().ask(Method::GET, "/api/hub/documents", None).await;
    daemon.close().await?;
    let documents = documents?;
    let listed = documents.as_array().or_else(|| documents["documents"].as_array());
    let is_own =
        |document: &&Value| document["core_block"] != json!(true) && document["coreBlock"] != json!(true);
    Ok(listed.map_or(0, |listed| listed.iter().filter(is_own).count()))
}

/// Writes keys into the file, and makes a running daemon apply them.
async fn change_config(home: &Home, changes: &Value) -> anyhow::Result<()> {
    let path = home.config();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("{} can't be read", path.display())),
    };
    let known = config::known_keys()?;
    let changes = config::changes_in(changes, &known).map_err(anyhow::Error::msg)?;
    let text = config::apply_changes(&text, &changes).map_err(anyhow::Error::msg)?;
    config::parse(&text, &path, std::env::vars())?;
    replace_file(&path, text.as_bytes()).with_context(|| format!("{} can't be written", path.display()))?;
    match Daemon::find(home) {
        Ok(daemon) => {
            daemon.ask(Method::POST, "/api/admin/reload", None).await?;
            Ok(())
        }
        Err(error) if error.is::<NoDaemon>() => Ok(()),
        Err(error) => Err(error),
    }
}

async fn disconnect(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    change_config(home, &json!({"sync": {"url": null, "command": null, "token_env": null, "ca_file": null}}))
        .await?;
    match std::fs::remove_file(home.hub_token()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{} can't be removed", home.hub_token().display()));
        }
        _ => {}
    }
    if shared.json {
        println!("{}", json!({"url": "", "state": "off"}));
    } else {
        println!("This home no longer follows a hub. Nothing was deleted, here or on the hub.");
    }
    Ok(())
}

/// Exchanges now. Returns the state afterwards, and the hub's report if there is one.
async fn exchange(config: &Config, home: &Home) -> anyhow::Result<(Value, Value)> {
    let daemon = AnyDaemon::open(config, home).await?;
    let standing = daemon.daemon().ask(Method::POST, "/api/sync/now", None).await;
    daemon.close().await?;
    Ok((standing?, Value::Null))
}

async fn status(shared: &SharedOptions, config: &Config, home: &Home) -> anyhow::Result<()> {
    let daemon = AnyDaemon::open(config, home).await?;
    let standing = daemon.daemon().ask(Method::GET, "/api/sync", None).await;
    let hub = daemon.daemon().ask(Method::GET, "/api/hub/status", None).await;
    daemon.close().await?;
    let (standing, hub) = (standing?, hub?);
    if shared.json {
        let mut shown = hub;
        if let (Some(shown), Value::Object(standing)) = (shown.as_object_mut(), standing) {
            shown.extend(standing);
        }
        println!("{shown}");
        return Ok(());
    }
    print_sync_state(shared, &standing);
    println!(
        "The hub of this home is at version {}; conflicts to resolve: {}.",
        hub["serverVersion"], hub["openConflicts"]
    );
    let instances = standing["instances"].as_array().map_or(&[][..], Vec::as_slice);
    if instances.is_empty() {
        println!("No other instance has connected to it yet.");
    }
    for instance in instances {
        let erased = match instance["has_erased"] == json!(true) {
            true => ", still holds erased text",
            false => "",
        };
        println!(
            "  {}  {}  last seen {}, {} documents behind{erased}",
            text_field(instance, "id"),
            text_field(instance, "kind"),
            text_field(instance, "last_sync"),
            instance["behind"]
        );
    }
    Ok(())
}

/// One line with the hub, the number of waiting documents, the last exchange, and the error if any.
pub(crate) fn sync_state_line(sync: &Value) -> String {
    let waiting = sync["waiting"].as_u64().unwrap_or_default();
    let last = sync["last_exchange"].as_str().map_or_else(|| "never".to_owned(), str::to_owned);
    let url = text_field(sync, "url");
    match sync["error"].as_str() {
        Some(error) => format!("{url}: {waiting} documents waiting, last sync {last}. {error}"),
        None => format!("{url}: {waiting} documents waiting, last sync {last}"),
    }
}

fn print_sync_state(shared: &SharedOptions, sync: &Value) {
    if shared.json {
        println!("{sync}");
        return;
    }
    if sync["state"] == "off" {
        println!("This home follows no hub; connect it with `echovessel sync connect URL`.");
        return;
    }
    println!("Hub {}", sync_state_line(sync));
    for note in sync["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        println!("  not synced: {note}");
    }
}

fn fail_unless_synchronised(sync: &Value) -> anyhow::Result<()> {
    if sync["state"] == "off" {
        bail!("this home follows no hub; connect it with `echovessel sync connect URL`");
    }
    match sync["error"].as_str() {
        Some(error) => bail!("{error}"),
        None => Ok(()),
    }
}

fn text_field<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
