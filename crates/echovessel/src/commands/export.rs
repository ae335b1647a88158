//! `echovessel export`: writes the whole memory as one archive, or conversations and persona for other programs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::json;

use super::memory::encode_query;
use super::run::AnyDaemon;
use crate::cli::{Export, SharedOptions};
use crate::client::Daemon;
use crate::config::Config;
use crate::home::Home;

pub(crate) async fn export(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Export,
) -> anyhow::Result<()> {
    if asked.file.exists() {
        bail!("{} already exists and was not changed; choose another file", asked.file.display());
    }
    let daemon = AnyDaemon::open(config, home).await?;
    let written = write_export(daemon.daemon(), asked).await;
    daemon.close().await?;
    let bytes = written?;
    match shared.json {
        true => println!("{}", json!({"file": asked.file, "format": asked.format, "bytes": bytes})),
        false => println!("{}: {} KiB", asked.file.display(), bytes.div_ceil(1024)),
    }
    Ok(())
}

/// Writes the export. The file gets its name once it is complete.
async fn write_export(daemon: &Daemon, asked: &Export) -> anyhow::Result<u64> {
    let persona =
        asked.persona.as_deref().map(|id| format!("&persona_id={}", encode_query(id))).unwrap_or_default();
    let format = export_format(asked)?;
    let path = format!("/api/admin/export?format={format}&user_id={}{persona}", encode_query(&asked.user));
    let part = partial_path(&asked.file);
    let downloaded = daemon.download(&path, &part).await;
    if downloaded.is_err() {
        // A partial file is of no use.
        let _removed = std::fs::remove_file(&part);
    }
    let bytes = downloaded?;
    std::fs::rename(&part, &asked.file)
        .with_context(|| format!("{} could not be renamed", part.display()))?;
    Ok(bytes)
}

/// The format as the API names it. The file's extension selects the container of a card.
fn export_format(asked: &Export) -> anyhow::Result<&str> {
    if asked.format != "card" {
        return Ok(&asked.format);
    }
    let ending = asked.file.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("json") => Ok("card"),
        Some("png") => Ok("card-png"),
        Some("charx") => Ok("card-charx"),
        _ => bail!(
            "{}: a character card is a .json, .png or .charx file; choose one of these. Nothing was written",
            asked.file.display()
        ),
    }
}

fn partial_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}
