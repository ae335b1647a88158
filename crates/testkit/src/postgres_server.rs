//! A PostgreSQL server for one test, which can be killed, and a replica of it.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A PostgreSQL server with its socket and its files in a folder. Stopped when it is dropped.
pub struct PostgresServer {
    folder: PathBuf,
    name: String,
    port: u16,
}

impl PostgresServer {
    /// Creates and starts a server.
    ///
    /// # Errors
    ///
    /// If the server's programs are missing or fail, with their output.
    pub fn create(folder: &Path, name: &str, port: u16) -> io::Result<Self> {
        // The server's user writes there.
        std::fs::set_permissions(folder, Permissions::from_mode(0o777))?;
        let server = Self { folder: folder.to_owned(), name: name.to_owned(), port };
        let mut create = server_program("initdb");
        create.args(["--auth=trust", "--username=echovessel", "--no-sync", "--encoding=UTF8", "--locale=C"]);
        create.arg("--pgdata").arg(server.data_folder());
        run(create)?;
        server.start()?;
        Ok(server)
    }

    /// Copies this server, and starts the copy as a replica in the same folder.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn replicate(&self, name: &str, port: u16) -> io::Result<Self> {
        let replica = Self { folder: self.folder.clone(), name: name.to_owned(), port };
        let mut copy = server_program("pg_basebackup");
        copy.args([
            "--checkpoint=fast",
            "--no-sync",
            "--write-recovery-conf",
            "--username=echovessel",
            "--host",
        ]);
        copy.arg(&self.folder)
            .arg("--port")
            .arg(self.port.to_string())
            .arg("--pgdata")
            .arg(replica.data_folder());
        run(copy)?;
        replica.start()?;
        Ok(replica)
    }

    /// Starts the server again.
    ///
    /// # Errors
    ///
    /// If it does not start, with its log.
    pub fn start(&self) -> io::Result<()> {
        let folder = self.folder.display();
        // Commits wait for the replica, which looks for its server every five seconds by default.
        let soon = "-c wal_retrieve_retry_interval=200ms";
        let options =
            format!("--options=-k {folder} -p {} -c listen_addresses='' -c fsync=off {soon}", self.port);
        self.run_pg_ctl(&["--wait", &options, "start"])
    }

    /// Kills the server, like a crash.
    ///
    /// # Errors
    ///
    /// If it was not running.
    pub fn kill(&self) -> io::Result<()> {
        self.run_pg_ctl(&["--mode=immediate", "stop"])
    }

    /// Promotes a replica, so that it accepts writes.
    ///
    /// # Errors
    ///
    /// If it is not a replica.
    pub fn promote(&self) -> io::Result<()> {
        self.run_pg_ctl(&["--wait", "promote"])
    }

    /// The address of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?host={}&port={}&user=echovessel", self.folder.display(), self.port)
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn run_pg_ctl(&self, arguments: &[&str]) -> io::Result<()> {
        let log = self.folder.join(format!("{}.log", self.name));
        let mut command = server_program("pg_ctl");
        command.arg("--pgdata").arg(self.data_folder()).arg("--log").arg(&log).args(arguments);
        // The server that it starts holds its output open.
        match command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("{arguments:?}: {}", std::fs::read_to_string(log)?))),
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let _stopped = self.kill();
        // Its files belong to the server's user.
        let mut remove = server_program("rm");
        remove.arg("-rf").arg(self.data_folder());
        let _removed = run(remove);
    }
}

/// A command that runs a program of the server as an unprivileged user: it refuses to run as root.
#[must_use]
pub fn server_program(name: &str) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.starts_with(b"0"));
    if !is_root {
        return Command::new(name);
    }
    let path = format!("PATH={}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--", "env", &path, name]);
    command
}

fn run(mut command: Command) -> io::Result<()> {
    let output = command.current_dir("/").stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))),
    }
}
