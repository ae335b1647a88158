//! Imports a whole home into an empty one: an archive of this program, or the home of the Python EchoVessel.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use jiff::tz::TimeZone;
use memory::ports::{ArchiveReport, Clock as _, StoreError};
use serde_json::{Value, json};
use store::{HomeDatabase, PythonHome, ServerAddress};

use super::is_confirmed;
use super::python_settings::{self, SettingsReport};
use crate::cli::{Import, SharedOptions};
use crate::commands::restore::{copy_aside, rename_database_aside, replace, run_blocking};
use crate::config::Config;
use crate::database::home_database;
use crate::home::Home;
use crate::system::{SystemClock, SystemIdGenerator};

/// A home that a file or folder holds.
pub(super) enum WholeHome {
    Archive(PathBuf, ArchiveReport),
    Python(PathBuf, PythonHome),
}

impl WholeHome {
    /// Returns the home at this path, if there is one.
    pub(super) fn find(path: &Path) -> Option<Self> {
        // Opening a pipe would block.
        if !path.is_file() && !path.is_dir() {
            return None;
        }
        if let Some(found) = store::inspect_archive(path) {
            return Some(Self::Archive(path.to_owned(), found));
        }
        store::inspect_python_home(path).map(|found| Self::Python(path.to_owned(), found))
    }

    fn as_json(&self) -> Value {
        match self {
            Self::Archive(_, ArchiveReport { messages, nodes, documents }) => {
                json!({"format": "archive", "messages": messages, "memories": nodes, "documents": documents})
            }
            Self::Python(_, found) => {
                let PythonHome { messages, nodes, entities, calls, left_out } = found;
                json!({"format": "python-home", "messages": messages, "memories": nodes, "entities": entities,
                       "calls": calls, "left_out": left_out})
            }
        }
    }

    fn describe_contents(&self) -> String {
        match self {
            Self::Archive(_, ArchiveReport { messages, nodes, documents }) => {
                format!(
                    "an archive of EchoVessel: {messages} messages, {nodes} memories, {documents} documents"
                )
            }
            Self::Python(_, PythonHome { messages, nodes, entities, calls, .. }) => format!(
                "a home of the Python EchoVessel: {messages} messages, {nodes} memories, {entities} entities, costs of {calls} \
                 model calls"
            ),
        }
    }

    /// Copies the home into a new database.
    fn read(&self, zone: &TimeZone, database: &Path) -> Result<Self, StoreError> {
        Ok(match self {
            Self::Archive(path, _) => Self::Archive(path.clone(), store::read_archive(path, database)?),
            Self::Python(path, _) => {
                let ids = SystemIdGenerator::default();
                let taken = store::read_python_home(path, zone, &ids, SystemClock.now(), database)?;
                Self::Python(path.clone(), taken)
            }
        })
    }

    fn skipped_counts(&self) -> impl Iterator<Item = (&&'static str, &u64)> {
        let left_out = match self {
            Self::Archive(..) => None,
            Self::Python(_, taken) => Some(&taken.left_out),
        };
        left_out.into_iter().flatten()
    }
}

pub(super) async fn import_home(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Import,
    found: WholeHome,
) -> anyhow::Result<()> {
    match shared.json {
        true if asked.look => println!("{}", found.as_json()),
        true => {}
        false => println!("{}", found.describe_contents()),
    }
    if asked.look {
        return Ok(());
    }
    if asked.files.len() > 1 {
        bail!("import the file of a whole home without other files. Nothing was imported");
    }
    let zone = match &asked.zone {
        Some(name) => TimeZone::get(name).with_context(|| format!("--zone {name}"))?,
        None => TimeZone::system(),
    };
    if let (WholeHome::Python(..), None, false) = (&found, &asked.zone, shared.json) {
        let name = zone.iana_name().unwrap_or("of this machine").to_owned();
        println!("its times are read in the time zone {name}; choose another with --zone");
    }
    if !asked.yes && !is_confirmed()? {
        bail!("nothing was imported");
    }
    let _lock = home.lock_home()?;
    let database = home_database(config, home)?;
    let read = match &database {
        HomeDatabase::File(path) => import_into_file(&found, &zone, path)?,
        HomeDatabase::Server(address) => {
            import_into_server(home, (&found, &zone), &database, address).await?
        }
    };
    // The memory is imported by now: an error in the settings is reported but undoes nothing.
    let settings = match &read {
        WholeHome::Archive(..) => Ok(None),
        WholeHome::Python(path, _) => python_settings::take_over_settings(path, home),
    };
    if shared.json {
        let mut report = read.as_json();
        match &settings {
            Ok(settings) => report["settings"] = json!(settings.as_ref().map(SettingsReport::as_json)),
            Err(error) => report["settings_error"] = json!(format!("{error:#}")),
        }
        println!("{report}");
        return Ok(());
    }
    println!("imported {}; vectors are computed when the daemon runs", read.describe_contents());
    for (what, count) in read.skipped_counts() {
        println!("  left out: {what} ({count})");
    }
    match settings {
        Ok(Some(settings)) => print_settings(&settings),
        Ok(None) => {}
        Err(error) => println!("  {error:#}; the memory is imported"),
    }
    Ok(())
}

fn print_settings(settings: &SettingsReport) {
    let lists = [
        ("imported settings", &settings.taken),
        ("settings that this home already has, unchanged", &settings.set_here),
        ("settings refused", &settings.refused),
        ("settings that are not used", &settings.unused),
    ];
    for (title, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        println!("  {title}: {}", names.join(", "));
    }
}

fn import_into_file(found: &WholeHome, zone: &TimeZone, database: &Path) -> anyhow::Result<WholeHome> {
    if database.exists() {
        let there = store::examine_backup(database).context("nothing was imported")?;
        refuse_memory(there.messages, there.nodes)?;
    }
    let fresh = database.with_extension("imported");
    let read = found.read(zone, &fresh)?;
    rename_database_aside(database)?;
    fs::rename(&fresh, database).with_context(|| {
        format!("the memory was written to {} and could not be moved to its place", fresh.display())
    })?;
    Ok(read)
}

/// Imports an archive by way of a file, so that a damaged archive does not reach the database.
async fn import_into_server(
    home: &Home,
    (found, zone): (&WholeHome, &TimeZone),
    database: &HomeDatabase,
    address: &ServerAddress,
) -> anyhow::Result<WholeHome> {
    let address = address.clone();
    let there = run_blocking(move || store::count_home(&address)).await.context("nothing was imported")?;
    let fresh = home.database().with_extension("imported");
    let read = match there {
        Some(there) => {
            refuse_memory(there.messages, there.nodes)?;
            let read = found.read(zone, &fresh)?;
            copy_aside(home, database).await?;
            read
        }
        None => found.read(zone, &fresh)?,
    };
    let replaced = replace(&fresh, database).await;
    fs::remove_file(&fresh).with_context(|| format!("{} could not be removed", fresh.display()))?;
    replaced.map(|()| read)
}

fn refuse_memory(messages: u64, memories: u64) -> anyhow::Result<()> {
    if messages > 0 || memories > 0 {
        bail!(
            "this home already has {messages} messages and {memories} memories; import into an empty home \
                with --home DIR. Nothing was imported"
        );
    }
    Ok(())
}
