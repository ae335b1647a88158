//! The database of several daemons, with a replica that can replace it.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use testkit::postgres::query;
use testkit::postgres_server::PostgresServer;

use crate::daemon::within;

/// Ports of the two servers' sockets, which are in one folder.
pub(super) const PORTS: [u16; 2] = [5432, 5433];
/// Time within which a new replica must have copied all data.
const PATIENCE: Duration = Duration::from_secs(30);
const NAME: &str = "home";

/// One server, or a server and a replica that confirms every commit.
pub(super) struct Database {
    /// The servers by the index of their port. They are dropped before their folder is removed.
    servers: [Option<PostgresServer>; 2],
    primary: usize,
    has_replica: bool,
    folder: TempDir,
}

impl Database {
    pub(super) async fn create(has_replica: bool) -> Self {
        let folder = TempDir::new().unwrap();
        let primary = PostgresServer::create(folder.path(), "first", PORTS[0]).unwrap();
        query(&primary.url("postgres"), &format!("CREATE DATABASE {NAME}")).unwrap();
        let mut database = Self { servers: [Some(primary), None], primary: 0, has_replica, folder };
        database.restore_replica().await;
        database
    }

    /// The address of the primary.
    pub(super) fn url(&self) -> String {
        self.primary().url(NAME)
    }

    /// A connection address that names both servers, with sockets in this folder.
    pub(super) fn url_at(folder: &Path) -> String {
        let (folder, [first, second]) = (folder.display(), PORTS);
        format!("postgres:///{NAME}?host={folder},{folder}&port={first},{second}&user=echovessel")
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Kills the primary and starts it again.
    pub(super) fn kill_and_restart(&self) {
        self.primary().kill().unwrap();
        self.primary().start().unwrap();
    }

    /// Kills the primary and promotes its replica.
    pub(super) fn fail_over(&mut self) {
        self.primary().kill().unwrap();
        self.servers[self.primary] = None;
        self.primary = 1 - self.primary;
        self.primary().promote().unwrap();
    }

    /// Creates a replica of the primary, if the database should have one and has none.
    pub(super) async fn restore_replica(&mut self) {
        if self.has_replica && self.servers[1 - self.primary].is_none() {
            self.add_replica().await;
        }
    }

    async fn add_replica(&mut self) {
        let (place, name) = (1 - self.primary, ["first", "second"][1 - self.primary]);
        self.servers[place] = Some(self.primary().replicate(name, PORTS[place]).unwrap());
        let server = self.primary().url("postgres");
        within(PATIENCE, "the replica follows", async || {
            let following = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'";
            query(&server, following).is_ok_and(|rows| !rows.is_empty()).then_some(())
        })
        .await;
        // Turned on only now: without a connected replica no commit would end.
        query(&server, "ALTER SYSTEM SET synchronous_standby_names = '*'").unwrap();
        query(&server, "SELECT pg_reload_conf()").unwrap();
    }

    fn primary(&self) -> &PostgresServer {
        self.servers[self.primary].as_ref().unwrap()
    }
}
