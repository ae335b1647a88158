//! Imports into a home that no daemon holds.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use hub::Hub;
use import::{Mapping, ReadOptions, Sources};
use indicatif::ProgressBar;
use jiff::tz::TimeZone;
use memory::identifiers::ImportId;
use memory::ports::{
    Clock as _, IdGenerator as _, ImportStore as _, PersonaStore as _, RecordedPage, Remembering,
    UserStore as _,
};
use memory::{PersonaId, Scope, UserId};
use runtime::{ImportRecorder, ImportRequest};
use store::HomeStore;

use super::RecordedImport;
use crate::cli::Import;
use crate::config::Config;
use crate::database::open_database;
use crate::home::Home;
use crate::system::{SystemClock, SystemIdGenerator};
use crate::wiring::{hub_without_daemon, session_policy};

/// Maximum skipped items that are printed as JSON. All are counted.
const SKIPS_LISTED: u32 = 1_000;

/// Imports everything, or the rest of a run that was interrupted.
pub(super) async fn record(
    config: &Config,
    home: &Home,
    asked: &Import,
    sources: Arc<Sources>,
    options: ReadOptions,
    mapping: Mapping,
    bar: &ProgressBar,
) -> anyhow::Result<RecordedImport> {
    let _lock = home.lock_home()?;
    let store = Arc::new(open_database(config, home)?);
    let hub = hub_without_daemon(config, home, &store)?;
    let recorded = record_into_home((&store, &hub), config, asked, sources, options, mapping, bar).await;
    store.close().await?;
    recorded
}

async fn record_into_home(
    (store, hub): (&HomeStore, &Hub),
    config: &Config,
    asked: &Import,
    sources: Arc<Sources>,
    options: ReadOptions,
    mut mapping: Mapping,
    bar: &ProgressBar,
) -> anyhow::Result<RecordedImport> {
    let persona =
        PersonaId::new(asked.persona.as_deref().unwrap_or(&config.persona.id)).context("--persona")?;
    let scope = Scope::new(persona, UserId::new(asked.user.as_str()).context("--user")?);
    if !asked.create {
        let known = runtime::check_is_known(store, &scope, &PersonaId::new(&config.persona.id)?).await;
        known.context("--create makes a persona or user")?;
    }
    let now = SystemClock.now();
    store.ensure_persona(&scope.persona, &config.persona.display_name, now).await?;
    let user = store.ensure_user(&scope.user, now).await?;
    mapping.zone = mapping.zone.or(user.timezone);
    let zone = match &mapping.zone {
        Some(name) => TimeZone::get(name).with_context(|| format!("--zone {name}"))?,
        None => TimeZone::UTC,
    };
    let ids = SystemIdGenerator::default();
    let request = ImportRequest {
        id: ImportId(ids.next(now)),
        scope,
        sources,
        fingerprint: fingerprint(&asked.files)?,
        options,
        mapping,
        zone,
        remembering: if asked.no_remember { Remembering::Off } else { Remembering::On },
    };
    let (hub, policy) = (Some(hub), session_policy(config));
    let recorder = ImportRecorder { store, hub, clock: &SystemClock, ids: &ids, policy };
    let mut progress = |recorded: &RecordedPage| bar.set_position(recorded.run.found);
    let run = recorder.begin(&request).await?;
    let run = recorder.record(run, request, &mut progress).await?;
    Ok(RecordedImport {
        run_id: run.run_id,
        found: run.found,
        recorded: run.recorded,
        already_there: run.already_there,
        proposed: run.proposed,
        documents: run.documents,
        undated: run.undated,
        skipped_count: run.skipped,
        skipped: store.import_skips(run.run_id, SKIPS_LISTED).await?,
        sessions: run.sessions,
        is_remembering: run.sessions_waiting > 0 && run.remembering == Remembering::On,
    })
}

/// Modification times of the files, so that a changed file is not taken for the one whose import was interrupted.
fn fingerprint(files: &[PathBuf]) -> anyhow::Result<String> {
    let mut all = String::new();
    for file in files {
        let changed = std::fs::metadata(file)
            .and_then(|file| file.modified())
            .with_context(|| file.display().to_string())?;
        writeln!(all, "{changed:?}")?;
    }
    Ok(all)
}
