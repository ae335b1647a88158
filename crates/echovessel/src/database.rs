//! The database that the configuration names: a file, or one on a server.

use std::path::PathBuf;

use anyhow::Context as _;
use store::{ServerAddress, SqliteStore, StoreOptions};

use crate::config::Config;
use crate::home::Home;

/// Opens the database of the home, migrated to what this version needs.
pub(crate) fn open_database(config: &Config, home: &Home) -> anyhow::Result<SqliteStore> {
    if let Some(address) = server_address(config)? {
        // One connection writes, the others read.
        let readers = usize::from(config.storage.pool.saturating_sub(1));
        return Ok(SqliteStore::open_on_server(
            &address,
            StoreOptions { readers, ..StoreOptions::default() },
        )?);
    }
    let path = database_path(config, home)?;
    SqliteStore::open(&path, StoreOptions::default())
        .with_context(|| format!("the database {} can't be opened", path.display()))
}

/// The database file that the configuration names; an error if memory is kept on a server.
pub(crate) fn database_path(config: &Config, home: &Home) -> anyhow::Result<PathBuf> {
    match config.storage.url.strip_prefix("sqlite://") {
        Some(path) if !path.is_empty() => Ok(PathBuf::from(path)),
        _ if config.storage.is_on_server() => anyhow::bail!(
            "this command works on a file, and this home's memory is in a database on a server; back the database up by the \
             server's own means, such as pg_dump. Nothing was changed"
        ),
        _ => Ok(home.database()),
    }
}

/// The database server that the configuration names, with its password; `None` if memory is kept in a file.
pub(crate) fn server_address(config: &Config) -> anyhow::Result<Option<ServerAddress>> {
    let storage = &config.storage;
    if !storage.is_on_server() {
        return Ok(None);
    }
    let password = match storage.password_env.as_str() {
        "" => None,
        variable => Some(std::env::var(variable).with_context(|| {
            format!("storage.password_env names {variable}, which is not set in the environment; set it, or unset the key")
        })?),
    };
    Ok(Some(ServerAddress::parse(&storage.url, password.as_deref())?))
}
