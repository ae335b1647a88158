//! Unix sockets in a home, for processes of its owner.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// Maximum length of a path in a socket's address, in bytes: Linux allows 107, macOS 103.
const ADDRESS_BYTES_MAX: usize = 103;

/// Why a socket can't be created.
#[derive(Debug, thiserror::Error)]
#[error("{path} can't be created: {reason}")]
pub struct SocketError {
    path: String,
    reason: String,
}

/// The address of a socket in a home.
pub struct HomeSocket {
    path: PathBuf,
    /// Folder by which a long path is reached; open for as long as the address is used.
    _folder: Option<File>,
}

impl HomeSocket {
    /// Finds a path that fits into an address. A longer one goes by way of its open folder, if the system supports
    /// that.
    ///
    /// # Errors
    ///
    /// If that folder can't be opened.
    pub fn find(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Self { path: path.to_owned(), _folder: None });
        };
        if path.as_os_str().len() <= ADDRESS_BYTES_MAX || !cfg!(target_os = "linux") {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }

    /// The path to connect to, valid for as long as this value exists.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates the socket, for the owner of the home only, replacing one left by a killed process. Only the process that
/// holds the home may call this.
///
/// # Errors
///
/// If the path is too long for a socket, or can't be written.
pub fn listen_at(path: &Path) -> Result<UnixListener, SocketError> {
    let error =
        |reason: io::Error| SocketError { path: path.display().to_string(), reason: reason.to_string() };
    match std::fs::remove_file(path) {
        Err(reason) if reason.kind() != io::ErrorKind::NotFound => return Err(error(reason)),
        _ => {}
    }
    let address = HomeSocket::find(path).map_err(error)?;
    let listener = UnixListener::bind(address.path()).map_err(error)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(error)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn a_home_may_have_a_long_path() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("x".repeat(60)).join("y".repeat(60));
        std::fs::create_dir_all(&deep).unwrap();
        let path = deep.join("hub.sock");
        let _listener = listen_at(&path).unwrap();
        assert!(path.exists());
        UnixStream::connect(HomeSocket::find(&path).unwrap().path()).await.unwrap();
    }
}
