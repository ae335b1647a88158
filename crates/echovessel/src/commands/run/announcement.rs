//! Prints the daemon's address and its login link.

use anyhow::Context as _;
use reqwest::Method;
use store::HomeDatabase;

use crate::cli::SharedOptions;
use crate::client::Daemon;
use crate::home::Home;

use super::open_home::OpenHome;

pub(super) fn print_address(
    shared: &SharedOptions,
    database: &HomeDatabase,
    home: &Home,
    open_home: &OpenHome,
    url: &str,
    login: &str,
) {
    if shared.json {
        println!("{}", serde_json::json!({"url": url, "login": login, "pid": std::process::id()}));
        return;
    }
    let services = &open_home.services;
    let model = services.model_state();
    let vectors = services.embedding.host().map(|host| format!("{host} for vectors"));
    let hub = services.hub.followed_hub().map(|hub| format!("{hub} for shared documents"));
    let (memory, memory_host) = match database {
        HomeDatabase::File(_) => (home.folder().display().to_string(), None),
        HomeDatabase::Server(address) => {
            let hosts = || format!("{} for the memory", address.hosts().join(", "));
            (
                format!("{address}; files in {}", home.folder().display()),
                address.is_on_another_machine().then(hosts),
            )
        }
    };
    let hosts: Vec<String> = memory_host
        .into_iter()
        .chain(vectors)
        .chain(services.voice_hosts.clone())
        .chain(open_home.channel_hosts.iter().cloned())
        .chain(hub)
        .collect();
    let others = match hosts.as_slice() {
        [] => "no other connections".to_owned(),
        hosts => format!("{}; no other connections", hosts.join(", ")),
    };
    let connections = match &model.endpoint {
        Some(endpoint) => format!("{} ({}) at {endpoint}; {others}", model.provider, model.model),
        None if hosts.is_empty() => "no connections: nothing leaves this machine".to_owned(),
        None => format!("no language model; {others}"),
    };
    println!("EchoVessel {} is running at {url}", env!("CARGO_PKG_VERSION"));
    println!("  memory    {memory}");
    println!("  network   {connections}");
    if let Some(notice) = model.notice() {
        println!("  model     {notice}");
    }
    if let Some(notice) = services.embedding.startup_notice() {
        println!("  vectors   {notice}");
    }
    println!(
        "  web UI    open this link, once within ten minutes (`echovessel token link` creates another):"
    );
    println!("{login}");
}

/// Prints that this daemon forwards requests to the holder.
pub(super) fn print_standby(shared: &SharedOptions, url: &str, holder: Option<&str>, login: Option<&str>) {
    if shared.json {
        let pid = std::process::id();
        println!("{}", serde_json::json!({"url": url, "login": login, "pid": pid, "holder": holder}));
        return;
    }
    println!("EchoVessel {} is running at {url} on standby", env!("CARGO_PKG_VERSION"));
    println!("  memory    held by {}", holder.unwrap_or("a program that accepts no requests"));
    println!("            this daemon forwards requests, and takes over the home if that one stops");
    if let Some(login) = login {
        println!("  web UI    open this link, once within ten minutes:");
        println!("{login}");
    }
}

/// `echovessel open`: has the running daemon make a link and hands it to the browser.
pub(crate) async fn open(home: &Home) -> anyhow::Result<()> {
    let answer = Daemon::find(home)?.ask(Method::POST, "/api/admin/login-code", None).await?;
    let login = answer["url"].as_str().context("the daemon's answer contains no link")?;
    println!("{login}");
    open_page(home, login);
    Ok(())
}

/// Opens the login link by way of a file that only its owner can read. The link is a secret, and other users of the
/// machine can read the arguments of every process.
pub(super) fn open_page(home: &Home, login: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let started = home.write_login_page(login).and_then(|page| {
        let mut command = std::process::Command::new(opener);
        command.env_clear().envs(voice::child_environment()).arg(page).stdout(quiet()).stderr(quiet());
        command.spawn().map_err(anyhow::Error::from)
    });
    // A sandboxed browser may be unable to read the file.
    let hint = match started {
        Ok(_) => "a browser is opening; if it shows no page, open the link yourself",
        Err(_) => "no browser could be opened; open the link yourself",
    };
    println!("({hint})");
}
