//! The home: one folder that holds everything, readable by its owner only, held by one process at a time.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

/// The folder and the names of what is in it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    folder: PathBuf,
}

/// What a running daemon says of itself, in `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunFile {
    /// Its process.
    pub(crate) pid: u32,
    /// Its port.
    pub(crate) port: u16,
    /// Where it answers.
    pub(crate) url: String,
}

/// Held as long as the process owns the home; released by the system even when it is killed.
#[derive(Debug)]
pub(crate) struct HomeLock {
    _file: File,
}

/// Another process owns the home.
#[derive(Debug, thiserror::Error)]
#[error("another EchoVessel{} holds {folder}; stop it with `echovessel stop`, or use another --home", pid_hint(.pid.as_deref()))]
pub(crate) struct HomeInUse {
    folder: String,
    pid: Option<String>,
}

fn pid_hint(pid: Option<&str>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl Home {
    /// The home that was asked for, or `~/.echovessel`.
    pub(crate) fn locate(asked: Option<PathBuf>) -> anyhow::Result<Self> {
        let folder = match asked {
            Some(folder) => folder,
            None => std::env::home_dir()
                .context("there is no home directory; say where EchoVessel lives with --home DIR")?
                .join(".echovessel"),
        };
        let folder =
            std::path::absolute(&folder).with_context(|| format!("{} is no path", folder.display()))?;
        Ok(Self { folder })
    }

    /// Makes the folder if it is not there, and closes it to everybody but its owner.
    pub(crate) fn create(&self) -> anyhow::Result<()> {
        let shown = self.folder.display();
        create_private_folder(&self.folder)?;
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&self.folder, closed)
            .with_context(|| format!("the home {shown} can't be closed to other users"))
    }

    /// Takes the home for this process. Fails with [`Held`] if another has it.
    pub(crate) fn lock(&self) -> anyhow::Result<HomeLock> {
        self.create()?;
        let path = self.folder.join("lock");
        let mut file =
            private(&path, false).with_context(|| format!("{} can't be opened", path.display()))?;
        if file.try_lock().is_err() {
            let mut pid = String::new();
            let read = file.read_to_string(&mut pid).is_ok();
            let pid = (read && !pid.trim().is_empty()).then(|| pid.trim().to_owned());
            return Err(HomeInUse { folder: self.folder.display().to_string(), pid }.into());
        }
        file.set_len(0)?;
        write!(file, "{}", std::process::id())?;
        Ok(HomeLock { _file: file })
    }

    /// The folder itself.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    /// The database, unless `storage.url` names another.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("echovessel.db")
    }

    /// Sound: spoken replies, recordings, samples of voices.
    pub(crate) fn voice(&self) -> PathBuf {
        self.folder.join("voice")
    }

    /// Files that wait to be imported.
    pub(crate) fn imports(&self) -> PathBuf {
        self.folder.join("imports")
    }

    /// Where other processes reach whoever holds the home.
    pub(crate) fn hub_socket(&self) -> PathBuf {
        self.folder.join("hub.sock")
    }

    /// The folder of the embedding model of that name, unless the configuration or `ECHOVESSEL_MODEL_DIR` names another.
    pub(crate) fn model(&self, name: &str) -> PathBuf {
        self.folder.join("models").join(name)
    }

    /// Prompts that replace the built-in ones.
    pub(crate) fn prompts(&self) -> Option<PathBuf> {
        Some(self.folder.join("prompts")).filter(|folder| folder.is_dir())
    }

    /// The owner's token: from `ECHOVESSEL_TOKEN`, from the file, or made now.
    pub(crate) fn token(&self, random: impl Fn() -> [u8; 32]) -> anyhow::Result<String> {
        if let Some(token) = std::env::var("ECHOVESSEL_TOKEN").ok().filter(|token| !token.trim().is_empty()) {
            return Ok(token.trim().to_owned());
        }
        let path = self.folder.join("token");
        if let Some(token) = self.stored_token()? {
            return Ok(token);
        }
        let token = hex::encode(random());
        let mut file =
            private(&path, true).with_context(|| format!("{} can't be written", path.display()))?;
        writeln!(file, "{token}")?;
        file.sync_all()?;
        Ok(token)
    }

    /// The token in the file; none if there is none yet.
    pub(crate) fn stored_token(&self) -> anyhow::Result<Option<String>> {
        let path = self.folder.join("token");
        match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => {
                bail!("{} is empty; remove it and a new token is made at the next start", path.display())
            }
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("{} can't be read", path.display())),
        }
    }

    /// Says where the daemon answers. Whoever sees the file may trust that it is answering.
    pub(crate) fn write_run_file(&self, run: &RunFile) -> anyhow::Result<()> {
        let (path, fresh) = (self.run_path(), self.folder.join("run.json.new"));
        let mut file = private(&fresh, true).context("run.json can't be written")?;
        file.write_all(serde_json::to_string(run)?.as_bytes())?;
        std::fs::rename(&fresh, &path).context("run.json can't be put in its place")
    }

    /// The running daemon, as far as `run.json` tells.
    pub(crate) fn run_file(&self) -> Option<RunFile> {
        serde_json::from_slice(&std::fs::read(self.run_path()).ok()?).ok()
    }

    /// The daemon is gone.
    pub(crate) fn remove_run_file(&self) {
        // It may be missing already; the lock, not this file, says who owns the home.
        let _ = std::fs::remove_file(self.run_path());
    }

    fn run_path(&self) -> PathBuf {
        self.folder.join("run.json")
    }
}

/// Makes a folder that only its owner can enter, if it is not there.
pub(crate) fn create_private_folder(folder: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("the folder {} can't be made", folder.display()))
}

/// Puts this in the place of a file, whole or not at all, readable by its owner only. A link keeps pointing where it did.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fresh = path.with_extension("new");
    let mut file = private(&fresh, true)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&fresh, &path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Opens a file that only its owner may read, made if it is not there.
pub(crate) fn private(path: &Path, truncate: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(truncate).mode(0o600);
    options.open(path)
}
