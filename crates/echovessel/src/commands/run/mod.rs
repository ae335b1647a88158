//! `echovessel run`: configuration → logging → store and migrations → model → runtime → server → ready, and back.

mod announcement;
mod entrance;
mod open_home;
mod private;
mod shared_home;

use std::sync::Arc;

use futures_util::FutureExt as _;
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use store::HomeDatabase;

use crate::cli::{Run, SharedOptions};
use crate::config::Config;
use crate::daemons::SingleDaemon;
use crate::database::home_database;
use crate::home::Home;
use crate::lifecycle;
use crate::system::{SystemClock, SystemIdGenerator, random_bytes};
use crate::wiring::wire;
use announcement::{open_page, print_address};
use entrance::Entrance;
use open_home::OpenHome;

pub(crate) use announcement::open;
pub(crate) use open_home::open_hub_socket;
pub(crate) use private::AnyDaemon;
pub(crate) use shared_home::HomeHeldElsewhere;

pub(crate) async fn run(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Run,
) -> anyhow::Result<()> {
    protect_process_memory();
    let _lock = home.lock_home()?;
    super::encrypted_backup::remove_leftover_copy(home);
    if let Err(error) = super::backup::remove_leftover_backups(config, home) {
        tracing::warn!("an unfinished backup could not be removed: {error}");
    }
    match home_database(config, home)? {
        HomeDatabase::Server(address) => shared_home::run(shared, config, home, asked, address).await,
        database @ HomeDatabase::File(_) => run_alone(shared, config, home, asked, &database).await,
    }
}

/// Runs on a home that no other daemon can share.
async fn run_alone(
    shared: &SharedOptions,
    config: &Config,
    home: &Home,
    asked: &Run,
    database: &HomeDatabase,
) -> anyhow::Result<()> {
    let owner = home.owner_credential(random_bytes)?;
    let services = wire(config, home, Arc::new(SystemClock), Arc::new(SystemIdGenerator::default())).await?;
    let (entrance, sockets) = Entrance::open(config, home, asked, &owner).await?;
    let daemons = Arc::new(SingleDaemon::new(&entrance.url, &services));
    let (open_home, parts) = OpenHome::start(config, home, services, &entrance, daemons).await?;
    let login =
        entrance.tokens.mint_login_code(open_home.services.runtime.clock().now()).login_url(&entrance.url);
    let mut serving =
        tokio::spawn(server::serve(sockets.network, sockets.home, parts, entrance.shutdown.clone()));
    entrance.write_run_file(home)?;
    if asked.open {
        open_page(home, &login);
    }
    print_address(shared, database, home, &open_home, &entrance.url, &login);
    let mut stop = lifecycle::stop_requested(entrance.shutdown.clone()).boxed();
    let outcome = open_home.wait_for_end(&mut stop, &mut serving).await;
    open_home.stop(home, &entrance, outcome.is_ok().then_some(serving)).await?;
    outcome
}

/// Keeps other processes of this user from reading the daemon's memory, and the system from writing it to a core file.
fn protect_process_memory() {
    #[cfg(target_os = "linux")]
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::debug!("other processes of this user may read the memory of this one: {error}");
    }
}
