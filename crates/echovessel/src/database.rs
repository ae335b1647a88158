//! The database that the configuration names: a file, or one on a server.

use std::path::PathBuf;

use anyhow::Context as _;
use memory::ports::StoreError;
use store::{BackupReport, CopySettings, HomeDatabase, HomeStore, ServerAddress, StoreOptions};

use crate::config::{Config, is_server_url};
use crate::home::Home;

/// Opens the database of the home, and migrates it to the current schema.
pub(crate) fn open_database(config: &Config, home: &Home) -> anyhow::Result<HomeStore> {
    match home_database(config, home)? {
        HomeDatabase::Server(address) => Ok(HomeStore::open_on_server(&address, server_options(config))?),
        HomeDatabase::File(path) => HomeStore::open(&path, StoreOptions::default())
            .with_context(|| format!("the database {} can't be opened", path.display())),
    }
}

/// Options for opening a database on a server.
pub(crate) fn server_options(config: &Config) -> StoreOptions {
    // One connection writes, the others read.
    StoreOptions { readers: usize::from(config.storage.pool.saturating_sub(1)), ..StoreOptions::default() }
}

/// The database that the configuration names.
pub(crate) fn home_database(config: &Config, home: &Home) -> anyhow::Result<HomeDatabase> {
    named_database(&config.storage.url, config, home)
}

/// A database by its address, as `storage.url` has it.
pub(crate) fn named_database(url: &str, config: &Config, home: &Home) -> anyhow::Result<HomeDatabase> {
    if is_server_url(url) {
        return Ok(HomeDatabase::Server(ServerAddress::parse(url, read_password(config)?.as_deref())?));
    }
    match (url, url.strip_prefix("sqlite://")) {
        ("sqlite", _) => Ok(HomeDatabase::File(home.database())),
        (_, Some(path)) if !path.is_empty() => Ok(HomeDatabase::File(PathBuf::from(path))),
        _ => anyhow::bail!(
            "{url:?} is not a database address; use sqlite (the file of this home), sqlite:///path or \
                postgres://user@host:port/database"
        ),
    }
}

fn read_password(config: &Config) -> anyhow::Result<Option<String>> {
    match (config.storage.password_env.as_str(), config.storage.password_file.as_str()) {
        ("", "") => Ok(None),
        (variable, "") => std::env::var(variable).map(Some).with_context(|| {
            format!("storage.password_env names {variable}, which is not set in the environment; set it, or unset the key")
        }),
        ("", path) => {
            let content = std::fs::read_to_string(path)
                .with_context(|| format!("storage.password_file names {path}, which can't be read"))?;
            // Editors end a file with a newline, which does not belong to the password.
            match content.trim_end_matches(['\r', '\n']) {
                "" => anyhow::bail!("storage.password_file names {path}, which is empty"),
                password => Ok(Some(password.to_owned())),
            }
        }
        _ => anyhow::bail!("storage.password_env and storage.password_file are both set; unset one of them"),
    }
}

/// Copies the database to one SQLite file, the form of every backup.
pub(crate) async fn copy_to_file(database: HomeDatabase, target: PathBuf) -> anyhow::Result<BackupReport> {
    let copy = tokio::task::spawn_blocking(move || match &database {
        HomeDatabase::File(path) => store::back_up(path, &target),
        HomeDatabase::Server(_) => {
            let unwritable = |error| StoreError::Unwritable(format!("{}: {error}", target.display()));
            let fresh = target.with_extension("copied");
            // An interrupted copy may have left one.
            store::remove_database_file(&fresh).map_err(unwritable)?;
            let file = HomeDatabase::File(fresh.clone());
            store::copy_home(&database, &file, CopySettings::default(), &mut |_| {})?;
            let report = store::examine_backup(&fresh)?;
            store::move_into_place(&fresh, &target).map_err(unwritable)?;
            Ok(report)
        }
    });
    Ok(copy.await.context("the copy did not end")??)
}
