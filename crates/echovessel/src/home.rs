//! The home: a folder with all data, readable by its owner only, and held by one process at a time.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::owner::{OwnerCredential, TOKEN_HASH, read_token_hash};

/// The home folder, and the paths of the files in it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    folder: PathBuf,
}

/// A running daemon's entry in `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunFile {
    /// The process id of the daemon.
    pub(crate) pid: u32,
    /// The port that the daemon listens on.
    pub(crate) port: u16,
    /// The address of the daemon's web UI and API.
    pub(crate) url: String,
}

/// Files by which a home is recognised: any one of them is enough.
const HOME_FILES: [&str; 4] = ["echovessel.db", "config.toml", "token", "lock"];
/// The variable with the owner's token.
const TOKEN_VARIABLE: &str = "ECHOVESSEL_TOKEN";
/// Mode bits that let the group and others write.
const GROUP_AND_OTHERS_WRITE_BITS: u32 = 0o022;

/// The flag `O_NOFOLLOW` of the system.
const NO_FOLLOW_FLAG: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Held as long as the process owns the home; released by the system even when it is killed.
#[derive(Debug)]
pub(crate) struct HomeLock {
    _file: File,
}

/// Error: another process owns the home.
#[derive(Debug, thiserror::Error)]
#[error("another EchoVessel{} uses {folder}; stop it with `echovessel stop`, or choose another --home", pid_hint(.pid.as_deref()))]
pub(crate) struct HomeInUse {
    folder: String,
    pid: Option<String>,
}

fn pid_hint(pid: Option<&str>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl Home {
    /// The home given on the command line, or `~/.echovessel`.
    pub(crate) fn locate(asked: Option<PathBuf>) -> anyhow::Result<Self> {
        let folder = match asked {
            Some(folder) => folder,
            None => std::env::home_dir()
                .context("no home directory is set; choose one with --home DIR")?
                .join(".echovessel"),
        };
        let folder =
            std::path::absolute(&folder).with_context(|| format!("{} is not a path", folder.display()))?;
        Ok(Self { folder })
    }

    /// Returns an error if the home does not exist.
    pub(crate) fn check_exists(&self) -> anyhow::Result<()> {
        if self.folder.exists() {
            return Ok(());
        }
        let folder = self.folder.display();
        bail!(
            "no home was found at {folder}; check --home, or create one with `echovessel init --home {folder}`"
        )
    }

    /// Creates the folder if it does not exist. An existing home is closed to everybody but its owner; an existing
    /// folder that is not a home yet keeps its permissions, because others may use it.
    ///
    /// # Errors
    ///
    /// When the folder belongs to another user, or others may write into it.
    pub(crate) fn create(&self) -> anyhow::Result<()> {
        let shown = self.folder.display();
        if !self.folder.exists() {
            return create_private_folder(&self.folder);
        }
        let found =
            std::fs::metadata(&self.folder).with_context(|| format!("the home {shown} can't be read"))?;
        if found.uid() != rustix::process::geteuid().as_raw() {
            bail!(
                "the home {shown} belongs to another user; start EchoVessel as that user, or use another --home"
            );
        }
        if HOME_FILES.iter().any(|name| self.folder.join(name).exists()) {
            let closed = std::fs::Permissions::from_mode(0o700);
            return std::fs::set_permissions(&self.folder, closed).with_context(|| {
                format!(
                    "the permissions of the home {shown} can't be restricted to its \
                    owner"
                )
            });
        }
        if found.permissions().mode() & GROUP_AND_OTHERS_WRITE_BITS != 0 {
            bail!(
                "other users can write to {shown}, so it can't be a home; choose a separate folder, such as \
                    {shown}/echovessel. Nothing was changed"
            );
        }
        Ok(())
    }

    /// Takes the home for this process. Fails with [`HomeInUse`] if another has it.
    pub(crate) fn lock_home(&self) -> anyhow::Result<HomeLock> {
        self.create()?;
        let path = self.folder.join("lock");
        let mut file =
            open_private(&path, false).with_context(|| format!("{} can't be opened", path.display()))?;
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

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    /// The path of the home's database file; `storage.url` may name another database.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("echovessel.db")
    }

    /// Sound: spoken replies, recordings, samples of voices.
    pub(crate) fn voice(&self) -> PathBuf {
        self.folder.join("voice")
    }

    /// Socket by which other processes reach the daemon's hub.
    pub(crate) fn hub_socket(&self) -> PathBuf {
        self.folder.join("hub.sock")
    }

    /// Socket on which the daemon accepts requests of the command line.
    pub(crate) fn daemon_socket(&self) -> PathBuf {
        self.folder.join("daemon.sock")
    }

    /// File of the keys that the owner entered in the web UI.
    pub(crate) fn secrets(&self) -> PathBuf {
        self.folder.join("secrets.toml")
    }

    /// The folder of the embedding model of that name, unless the configuration or `ECHOVESSEL_MODEL_DIR` names another.
    pub(crate) fn model(&self, name: &str) -> PathBuf {
        self.folder.join("models").join(name)
    }

    /// The folder of prompts that replace the built-in ones; none if it is not there.
    pub(crate) fn prompts(&self) -> Option<PathBuf> {
        Some(self.folder.join("prompts")).filter(|folder| folder.is_dir())
    }

    /// Credential of the owner for the daemon: the digest in `ECHOVESSEL_TOKEN_HASH`, else the token.
    pub(crate) fn owner_credential(&self, random: impl Fn() -> [u8; 32]) -> anyhow::Result<OwnerCredential> {
        match self.owner_from_environment()? {
            Some(given) => Ok(given),
            None => self.token(random).map(OwnerCredential::Token),
        }
    }

    /// Credential of the owner from the environment, if it has one.
    pub(crate) fn owner_from_environment(&self) -> anyhow::Result<Option<OwnerCredential>> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        if let Some(hash) = variable(TOKEN_HASH) {
            return Ok(Some(OwnerCredential::Digest(read_token_hash(hash.trim())?)));
        }
        Ok(variable(TOKEN_VARIABLE).map(|token| OwnerCredential::Token(token.trim().to_owned())))
    }

    /// The owner's token: from `ECHOVESSEL_TOKEN`, from the file, or newly created.
    pub(crate) fn token(&self, random: impl Fn() -> [u8; 32]) -> anyhow::Result<String> {
        if let Some(token) = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.trim().is_empty()) {
            return Ok(token.trim().to_owned());
        }
        if let Some(token) = self.stored_token()? {
            return Ok(token);
        }
        if std::env::var_os(TOKEN_HASH).is_some() {
            bail!(
                "only the hash of the owner's token is known ({TOKEN_HASH}); set ECHOVESSEL_TOKEN to the token"
            );
        }
        let token = hex::encode(random());
        self.write_token(&token)?;
        Ok(token)
    }

    /// Stores the owner's token in its file.
    pub(crate) fn write_token(&self, token: &str) -> anyhow::Result<()> {
        let path = self.folder.join("token");
        let mut file =
            open_private(&path, true).with_context(|| format!("{} can't be written", path.display()))?;
        writeln!(file, "{token}")?;
        Ok(file.sync_all()?)
    }

    /// The token in the file; none if there is none yet.
    pub(crate) fn stored_token(&self) -> anyhow::Result<Option<String>> {
        let path = self.folder.join("token");
        let read = |mut file: File| {
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        };
        match OpenOptions::new().read(true).custom_flags(NO_FOLLOW_FLAG).open(&path).and_then(read) {
            Ok(text) if text.trim().is_empty() => {
                bail!("{} is empty; remove it, and the next start creates a new token", path.display())
            }
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("{} can't be read", path.display())),
        }
    }

    /// File of the token that this home sends to its hub.
    pub(crate) fn hub_token(&self) -> PathBuf {
        self.folder.join("hub_token")
    }

    /// Writes the run file with the daemon's address. Call it once the daemon answers.
    pub(crate) fn write_run_file(&self, run: &RunFile) -> anyhow::Result<()> {
        let (path, fresh) = (self.run_path(), self.folder.join("run.json.new"));
        let mut file = open_private(&fresh, true).context("run.json can't be written")?;
        file.write_all(serde_json::to_string(run)?.as_bytes())?;
        std::fs::rename(&fresh, &path).context("run.json can't be moved to its place")
    }

    /// The running daemon's entry in `run.json`; `None` if there is none.
    pub(crate) fn run_file(&self) -> Option<RunFile> {
        serde_json::from_slice(&std::fs::read(self.run_path()).ok()?).ok()
    }

    /// Writes a page that leads to the login link, and returns its path.
    pub(crate) fn write_login_page(&self, login: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join("open.html");
        let mut page =
            open_private(&path, true).with_context(|| format!("{} can't be written", path.display()))?;
        write!(
            page,
            "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={login}\">"
        )?;
        writeln!(page, "<a href=\"{login}\">EchoVessel</a>")?;
        Ok(path)
    }

    /// Removes the page with the login link.
    pub(crate) fn remove_login_page(&self) {
        // The page exists only if a browser was opened.
        let _ = std::fs::remove_file(self.folder.join("open.html"));
    }

    /// Removes the entry of a daemon that has ended.
    pub(crate) fn remove_run_file(&self) {
        // The files may be missing already. The lock, not these files, shows who holds the home.
        let _ = std::fs::remove_file(self.run_path());
        let _ = std::fs::remove_file(self.daemon_socket());
    }

    fn run_path(&self) -> PathBuf {
        self.folder.join("run.json")
    }
}

/// Makes a folder that only its owner can enter, if it is not there.
pub(crate) fn create_private_folder(folder: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("the folder {} can't be created", folder.display()))
}

/// Replaces a file in one step; the new one is readable by its owner only. A symbolic link is followed.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fresh = path.with_extension("new");
    let mut file = open_private(&fresh, true)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&fresh, &path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Opens a file that only its owner may read, and creates it if needed.
pub(crate) fn open_private(path: &Path, truncate: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(truncate).mode(0o600);
    // A symbolic link placed by somebody else must not redirect the secret.
    options.custom_flags(NO_FOLLOW_FLAG).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_mode(folder: &Path) -> u32 {
        std::fs::metadata(folder).unwrap().permissions().mode() & 0o7777
    }

    fn folder_with(mode: u32, file: Option<&str>) -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(file) = file {
            std::fs::write(folder.path().join(file), "x").unwrap();
        }
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        let home = Home::locate(Some(folder.path().to_owned())).unwrap();
        (folder, home)
    }

    #[test]
    fn only_a_home_is_closed_to_others() {
        for (before, file, after) in
            [(0o755, Some("config.toml"), 0o700), (0o755, Some("holiday.jpg"), 0o755), (0o750, None, 0o750)]
        {
            let (folder, home) = folder_with(before, file);
            home.create().unwrap();
            assert_eq!(file_mode(folder.path()), after, "{file:?}");
        }
    }

    #[test]
    fn a_folder_into_which_others_write_is_refused_and_left_as_it_is() {
        for before in [0o1777, 0o777, 0o770] {
            let (folder, home) = folder_with(before, None);
            let refused = home.create().unwrap_err().to_string();
            assert!(refused.contains("choose a separate folder"), "{refused}");
            assert_eq!(file_mode(folder.path()), before);
        }
    }

    #[test]
    fn a_folder_that_is_made_is_closed() {
        let (folder, _) = folder_with(0o700, None);
        let home = Home::locate(Some(folder.path().join("a/b"))).unwrap();
        home.create().unwrap();
        assert_eq!(file_mode(&folder.path().join("a/b")), 0o700);
    }

    #[test]
    fn a_link_in_the_place_of_a_secret_is_not_followed() {
        let (folder, home) = folder_with(0o700, None);
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "").unwrap();
        for name in ["token", "lock", "run.json.new", "open.html"] {
            std::os::unix::fs::symlink(&elsewhere, folder.path().join(name)).unwrap();
        }
        assert!(home.token(|| [7; 32]).is_err());
        assert!(home.lock_home().is_err());
        assert!(home.write_login_page("http://127.0.0.1:1/login?code=1").is_err());
        assert_eq!(std::fs::read_to_string(elsewhere).unwrap(), "");
    }
}
