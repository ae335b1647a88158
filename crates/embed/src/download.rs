//! Downloads a model's files over HTTPS from the model hub.

use std::path::Path;
use std::time::Duration;

use outgoing::client_builder;
use reqwest::header::{CONTENT_RANGE, RANGE};
use reqwest::{Client, Response, StatusCode};
use tokio::fs::{self, OpenOptions};
use tokio::io::AsyncWriteExt;

use crate::model_files::{install_parts, part_path, verify_file};
use crate::{ModelDescription, ModelError, PinnedFile};

/// The public hub of models.
pub const MODEL_HUB: &str = "https://huggingface.co";

/// Progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The file that is being downloaded.
    pub file: &'static str,
    /// Bytes that have been downloaded, those of earlier tries included.
    pub received: u64,
    /// Bytes of the whole file.
    pub total: u64,
}

/// Time limit for connecting to the hub. It is short because there are other ways to install a model.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without data after which a download is given up. The whole download may take hours, so it has no limit.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Downloads the files of the model that are missing in `directory` from `hub` (usually [`MODEL_HUB`]).
///
/// Partial content stays in a `.part` file, and the next call continues there. The files get their names once all are
/// complete and have the pinned digests; a file with a wrong digest is removed.
///
/// # Errors
///
/// [`ModelError::Download`] when the hub can't be reached, refuses, or breaks off; [`ModelError::WrongDigest`];
/// [`ModelError::Io`].
pub async fn download(
    hub: &str,
    directory: &Path,
    description: &'static ModelDescription,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), ModelError> {
    let Some(repository) = description.repository else {
        return Err(ModelError::Download {
            url: hub.to_owned(),
            reason: format!("it does not contain the packed file of {}", description.name),
        });
    };
    fs::create_dir_all(directory).await.map_err(ModelError::io(directory))?;
    let client = client_builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        // A hub that is reached over HTTPS must not redirect to plain HTTP.
        .https_only(hub.starts_with("https://"))
        .build()
        .map_err(|error| download_error(hub, &error))?;
    let mut arrived = Vec::new();
    for file in description.files {
        if verify_in_background(directory.join(file.name), file, "").await.is_ok() {
            continue;
        }
        let url = format!("{hub}/{repository}/resolve/main/{}", file.name);
        fetch_part(&client, &url, &part_path(directory, file), file, progress).await?;
        arrived.push(file);
    }
    install_parts(directory, arrived)
}

/// Downloads the rest of the `.part` file and verifies it.
async fn fetch_part(
    client: &Client,
    url: &str,
    part: &Path,
    file: &'static PinnedFile,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), ModelError> {
    let present = fs::metadata(part).await.map_or(0, |entry| entry.len());
    if present < file.bytes {
        receive(client, url, part, present, file, progress).await?;
    }
    let checked = verify_in_background(part.to_owned(), file, url).await;
    if let Err(ModelError::WrongDigest { .. }) = checked {
        fs::remove_file(part).await.map_err(ModelError::io(part))?;
    }
    checked
}

/// Appends the bytes from `present` on, or starts again if the server can't send a part of a file.
async fn receive(
    client: &Client,
    url: &str,
    part: &Path,
    present: u64,
    file: &'static PinnedFile,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), ModelError> {
    let mut request = client.get(url);
    if present > 0 {
        request = request.header(RANGE, format!("bytes={present}-"));
    }
    let mut response = request.send().await.map_err(|error| download_error(url, &error))?;
    let mut received = if is_partial_from(&response, present) { present } else { 0 };
    if !response.status().is_success()
        || (response.status() == StatusCode::PARTIAL_CONTENT && received != present)
    {
        let reason = format!("the server responded with {}", response.status());
        return Err(ModelError::Download { url: url.to_owned(), reason });
    }
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(received > 0).truncate(received == 0);
    let mut writer = options.open(part).await.map_err(ModelError::io(part))?;
    let outcome = loop {
        progress(Progress { file: file.name, received, total: file.bytes });
        // One additional byte shows that it is another file; the rest is not read.
        if received > file.bytes {
            break Ok(());
        }
        match response.chunk().await {
            Ok(Some(bytes)) => {
                writer.write_all(&bytes).await.map_err(ModelError::io(part))?;
                received += bytes.len() as u64;
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(download_error(url, &error)),
        }
    };
    writer.flush().await.map_err(ModelError::io(part))?;
    writer.sync_all().await.map_err(ModelError::io(part))?;
    outcome
}

/// True if the answer is the rest of the file from byte `present` on.
fn is_partial_from(response: &Response, present: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    response.status() == StatusCode::PARTIAL_CONTENT
        && range.is_some_and(|range| range.starts_with(&format!("bytes {present}-")))
}

async fn verify_in_background(
    path: std::path::PathBuf,
    file: &'static PinnedFile,
    origin: &str,
) -> Result<(), ModelError> {
    let origin = origin.to_owned();
    tokio::task::spawn_blocking(move || verify_file(&path, file, &origin))
        .await
        .map_err(|error| ModelError::Failed(error.to_string()))?
}

/// Joins an error and its causes: the outermost alone ("error sending request") does not help.
fn download_error(url: &str, error: &reqwest::Error) -> ModelError {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    ModelError::Download { url: url.to_owned(), reason }
}
