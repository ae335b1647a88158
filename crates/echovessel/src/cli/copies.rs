//! Arguments of the commands that copy a whole memory.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel backup
  echovessel backup /mnt/disk/echovessel.db
  BACKUP_PASSPHRASE=... echovessel backup --passphrase-env BACKUP_PASSPHRASE

Without FILE the backup goes to the folder that backup.dir names (default: backups in the home), and only the newest
backup.keep of that folder stay. The copy is checked before it gets its name. It does not contain config.toml, the token
and your own prompts.")]
pub(crate) struct BackupOptions {
    /// File to write; it must not exist yet
    pub(crate) file: Option<PathBuf>,
    /// Encrypt the backup in the age format, with the passphrase in this environment variable
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) passphrase_env: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StorageCommand {
    /// Copy the whole memory from one database to another
    Copy(StorageCopy),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel storage copy sqlite 'postgres://ann@localhost/home'
  echovessel storage copy 'postgres://ann@localhost/home' sqlite:///home/ann/home.db

An address is written as in storage.url; sqlite is the file of this home. storage.password_env names the variable that holds
the password of the server. No daemon may use either database. The target must be an empty database, or a file that does not
exist. A finished copy is compared with its source; after a failure or an interruption the target is as it was before. The
configuration is not changed.")]
pub(crate) struct StorageCopy {
    /// Address of the database to read
    pub(crate) from: String,
    /// Address of the database to write
    pub(crate) to: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel restore ~/.echovessel/backups/echovessel-20261123T020000Z.db

The daemon must be stopped. The current memory is kept in another file. What was erased after the backup was made is erased
in the restored memory again.")]
pub(crate) struct Restore {
    /// Path of the backup
    pub(crate) file: PathBuf,
    /// Environment variable with the passphrase of an encrypted backup
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) passphrase_env: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
