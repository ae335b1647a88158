//! Uploads the files to the running daemon, which records them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::{Stream, StreamExt as _, stream};
use import::{FolderListing, Mapping};
use indicatif::ProgressBar;
use memory::ports::Clock as _;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::RecordedImport;
use crate::cli::Import;
use crate::client::{Daemon, Refusal};
use crate::system::{SystemClock, random_bytes};

/// Time between two queries of the daemon's progress. A bar that moves five times a second looks smooth.
const POLL_EVERY: Duration = Duration::from_millis(200);
/// Bytes that are read and sent at once. An upload takes no more memory, however large the file is.
const CHUNK_SIZE: usize = 256 * 1024;

/// Uploads the files, starts the import, and waits until everything is recorded.
pub(super) async fn record(
    daemon: &Daemon,
    asked: &Import,
    mapping: Mapping,
    bar: &ProgressBar,
) -> anyhow::Result<RecordedImport> {
    ensure_persona(daemon, asked, None).await?;
    let id = upload_files(daemon, asked).await?;
    let body = json!({
        "persona_id": asked.persona, "user_id": asked.user, "mapping": mapping, "remember": !asked.no_remember,
        "create_user": asked.create,
    });
    let started = daemon.ask(Method::POST, &format!("/api/admin/imports/{id}/start"), Some(body)).await;
    if let Err(error) = started {
        // Otherwise the daemon would store the files for a day.
        daemon.ask(Method::POST, &format!("/api/admin/imports/{id}/undo"), None).await?;
        return Err(with_option_hint(error));
    }
    loop {
        let shown = daemon.ask(Method::GET, &format!("/api/admin/imports/{id}"), None).await?;
        bar.set_position(shown["found"].as_u64().unwrap_or_default());
        match shown["state"].as_str() {
            Some("recording") => SystemClock.sleep(POLL_EVERY).await,
            Some("interrupted") => bail!(
                "the import was interrupted: {}. Continue with `echovessel import resume {id}`",
                shown["problem"].as_str().unwrap_or("the daemon stopped")
            ),
            _ => return read_upload_state(shown),
        }
    }
}

/// Adds a hint at the option that allows what the daemon refused.
pub(super) fn with_option_hint(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Refusal>().and_then(|refusal| refusal.code.as_deref()) {
        Some("unknown_user") => error.context("--create creates a user that does not exist"),
        Some("already_onboarded") => error.context("--replace replaces existing texts"),
        _ => error,
    }
}

/// Creates the named persona if `--create` asks for it and it does not exist.
///
/// # Errors
///
/// If it does not exist and `--create` was not given.
pub(super) async fn ensure_persona(
    daemon: &Daemon,
    asked: &Import,
    display_name: Option<&str>,
) -> anyhow::Result<()> {
    let Some(id) = asked.persona.as_deref() else { return Ok(()) };
    let mut cursor = String::new();
    loop {
        let page = daemon.ask(Method::GET, &format!("/api/admin/personas?limit=100{cursor}"), None).await?;
        let personas = page["personas"].as_array().context("the daemon's answer has no personas")?;
        if personas.iter().any(|persona| persona["id"] == json!(id)) {
            return Ok(());
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    if !asked.create {
        bail!("the persona {id} does not exist: create it with --create. Nothing was imported");
    }
    let body = json!({"id": id, "display_name": display_name.unwrap_or(id)});
    daemon.ask(Method::POST, "/api/admin/personas", Some(body)).await.map(|_| ())
}

/// Uploads the files and returns the id of the import.
pub(super) async fn upload_files(daemon: &Daemon, asked: &Import) -> anyhow::Result<String> {
    let boundary = format!("echovessel-{}", hex::encode(random_bytes()));
    let form = upload_form_stream(list_files(asked)?, asked, &boundary);
    let kind = format!("multipart/form-data; boundary={boundary}");
    let uploaded = daemon.upload("/api/admin/imports", &kind, form).await?;
    Ok(uploaded["run_id"].as_str().context("the daemon's answer has no run_id")?.to_owned())
}

fn read_upload_state(shown: Value) -> anyhow::Result<RecordedImport> {
    #[derive(Deserialize)]
    struct PrintedUpload {
        state: String,
        #[serde(flatten)]
        recorded: RecordedImport,
    }
    let shown: PrintedUpload =
        serde_json::from_value(shown).context("the daemon's answer could not be read")?;
    Ok(RecordedImport { is_remembering: shown.state == "remembering", ..shown.recorded })
}

/// Names and paths of all files, those of folders one by one.
fn list_files(asked: &Import) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for path in &asked.files {
        if path.is_dir() {
            files.extend(FolderListing::from_root(path)?.files);
        } else {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            files.push((name.unwrap_or_default(), path.clone()));
        }
    }
    Ok(files)
}

/// The upload form as a stream that reads the files from the disk.
fn upload_form_stream(
    files: Vec<(String, PathBuf)>,
    asked: &Import,
    boundary: &str,
) -> impl Stream<Item = io::Result<Vec<u8>>> + Send + use<> {
    let field = |head: &str| format!("--{boundary}\r\ncontent-disposition: form-data; {head}\r\n\r\n");
    let written = |name: &str, value: &str| format!("{}{value}\r\n", field(&format!("name=\"{name}\"")));
    let format = asked.format.iter().map(|format| written("format", format));
    let options: String = format.chain(asked.fields.iter().map(|named| written("field", named))).collect();
    let parts: Vec<_> = files
        .into_iter()
        .map(|(name, path)| {
            let name: String = name.chars().filter(|letter| !letter.is_control() && *letter != '"').collect();
            let modified = path.metadata().and_then(|file| file.modified()).ok();
            let modified = modified.and_then(|at| jiff::Timestamp::try_from(at).ok());
            let modified =
                modified.map(|at| format!("{}{}\r\n", field("name=\"modified\""), at.as_millisecond()));
            let head = field(&format!("name=\"file\"; filename=\"{name}\""));
            (format!("{}{head}", modified.unwrap_or_default()), path)
        })
        .collect();
    let files = stream::iter(parts).flat_map(|(head, path)| {
        let end = stream::iter([Ok(b"\r\n".to_vec())]);
        stream::iter([Ok(head.into_bytes())]).chain(file_stream(path)).chain(end)
    });
    let end = format!("--{boundary}--\r\n");
    stream::iter([Ok(options.into_bytes())]).chain(files).chain(stream::iter([Ok(end.into_bytes())]))
}

fn file_stream(path: PathBuf) -> impl Stream<Item = io::Result<Vec<u8>>> + Send {
    enum FolderState {
        Closed(PathBuf),
        Open(File),
    }
    stream::try_unfold(FolderState::Closed(path), |place| async move {
        let mut file = match place {
            FolderState::Closed(path) => File::open(path).await?,
            FolderState::Open(file) => file,
        };
        let mut chunk = vec![0; CHUNK_SIZE];
        let read = file.read(&mut chunk).await?;
        chunk.truncate(read);
        Ok((read > 0).then_some((chunk, FolderState::Open(file))))
    })
}
