//! Backups encrypted with a passphrase, in the age format.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use secrecy::SecretString;
use store::{BackupReport, HomeDatabase, move_into_place};

use crate::age_file::{decrypt, encrypt, is_encrypted};
use crate::database::copy_to_file;
use crate::home::{Home, create_private_folder, open_private};
use crate::system::random_bytes;

/// Folder of the plain copy, before it is encrypted or after it is decrypted. It is in the home, whose database holds
/// the same texts; the folder of the backup may be readable by others. It is a folder because a copy that is killed
/// leaves files of other names beside its target.
const PLAIN_COPY: &str = "plain-copy";
/// Locked by the process that has a plain copy. A copy that nobody has locked was left by a process that was killed.
const PLAIN_COPY_LOCK: &str = "plain-copy.lock";

/// Reads a passphrase from an environment variable.
///
/// # Errors
/// If the variable is not set, or is empty.
pub(super) fn passphrase(variable: &str) -> anyhow::Result<SecretString> {
    match std::env::var(variable) {
        Ok(passphrase) if !passphrase.is_empty() => Ok(SecretString::from(passphrase)),
        _ => bail!(
            "the environment variable {variable} contains no passphrase; set it and try again. \
            Nothing was changed"
        ),
    }
}

/// Writes an encrypted backup. The file is renamed to its final name once it is complete.
pub(super) async fn back_up_encrypted(
    home: &Home,
    database: HomeDatabase,
    target: &Path,
    passphrase: SecretString,
) -> anyhow::Result<BackupReport> {
    let plain = PlainCopy::create(home)?;
    let report = copy_to_file(database, plain.path.clone()).await?;
    let (target, source) = (target.to_owned(), plain.path.clone());
    let encrypting = tokio::task::spawn_blocking(move || -> anyhow::Result<u64> {
        let fresh = target.with_extension("partial");
        let mut from = BufReader::new(File::open(&source)?);
        let mut to = BufWriter::new(open_private(&fresh, true)?);
        encrypt(&mut from, &mut to, &passphrase, random_bytes)?;
        let file = to.into_inner()?;
        file.sync_all()?;
        move_into_place(&fresh, &target)?;
        Ok(file.metadata()?.len())
    });
    let bytes = encrypting.await.context("the encryption did not end")?.context("no backup was written")?;
    Ok(BackupReport { bytes, ..report })
}

/// A backup opened for reading. A decrypted copy is removed when this is dropped.
pub(super) struct OpenedBackup {
    path: PathBuf,
    _copy: Option<PlainCopy>,
}

impl OpenedBackup {
    /// Decrypts the backup if it is encrypted. `variable` holds its passphrase.
    pub(super) async fn open(home: &Home, file: &Path, variable: Option<&str>) -> anyhow::Result<Self> {
        let mut from = File::open(file).with_context(|| format!("{} can't be read", file.display()))?;
        if !is_encrypted(&mut from)? {
            return Ok(Self { path: file.to_owned(), _copy: None });
        }
        let Some(variable) = variable else {
            bail!(
                "{} is encrypted; name the environment variable with its passphrase: --passphrase-env NAME",
                file.display()
            );
        };
        let passphrase = passphrase(variable)?;
        let copy = PlainCopy::create(home)?;
        let (source, target) = (file.to_owned(), copy.path.clone());
        let decrypting = tokio::task::spawn_blocking(move || -> anyhow::Result<()> {
            let mut from = BufReader::new(File::open(source)?);
            Ok(decrypt(&mut from, &mut BufWriter::new(open_private(&target, true)?), &passphrase)?)
        });
        let decrypted = decrypting.await.context("the decryption did not end")?;
        decrypted.with_context(|| format!("{} can't be opened", file.display()))?;
        Ok(Self { path: copy.path.clone(), _copy: Some(copy) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the plain copy of a command that was killed: an erasure would not reach it.
pub(super) fn remove_leftover_copy(home: &Home) {
    if home.folder().join(PLAIN_COPY).exists() {
        // Dropped at once, which removes it, unless another process uses it.
        let _removed = PlainCopy::create(home);
    }
}

/// A plain copy, locked by this process. Its folder is removed when this is dropped.
struct PlainCopy {
    folder: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl PlainCopy {
    /// Creates the folder, after removing a copy left by a command that was killed.
    fn create(home: &Home) -> anyhow::Result<Self> {
        let lock = open_private(&home.folder().join(PLAIN_COPY_LOCK), false)?;
        if lock.try_lock().is_err() {
            bail!(
                "another encrypted backup or restore is running in this home; try again when it has ended. \
                    Nothing was changed"
            );
        }
        let folder = home.folder().join(PLAIN_COPY);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} can't be removed", folder.display()));
            }
            _ => create_private_folder(&folder)?,
        }
        Ok(Self { path: folder.join("copy.db"), folder, _lock: lock })
    }
}

impl Drop for PlainCopy {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}
