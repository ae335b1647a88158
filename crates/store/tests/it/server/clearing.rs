//! Removal of erased words that a server still stores, while further erasures run.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use jiff::Timestamp;
use memory::PersonaId;
use memory::ports::{ForgetStore as _, PersonaStore as _};
use store::{HomeStore, ServerAddress, StoreOptions};
use testkit::postgres::{fresh_home, query};

use super::Outcome;

/// A transaction during which a table can be read and written, but not rewritten.
struct Holder(Child);

impl Holder {
    const SESSION: &str =
        "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";

    fn start(database: &str) -> Outcome<Self> {
        let lock = "BEGIN; LOCK TABLE recall_messages IN SHARE UPDATE EXCLUSIVE MODE; SELECT pg_sleep(60)";
        let program =
            Command::new("psql").args(["-qAt", "-c", lock, database]).stderr(Stdio::null()).spawn()?;
        while query(database, &format!("SELECT count(*) {}", Self::SESSION))? != ["1"] {}
        Ok(Self(program))
    }

    fn end(mut self, database: &str) -> Outcome {
        query(database, &format!("SELECT pg_terminate_backend(pid) {}", Self::SESSION))?;
        self.0.wait()?;
        Ok(())
    }
}

/// Two concurrent removals would block each other for five seconds at every table, and an erasure that ends in
/// between would not be removed yet.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn one_clearing_runs_at_a_time_and_leaves_later_erasures_due() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let address = ServerAddress::parse(&database, None)?;
    let store = Arc::new(HomeStore::open_on_server(&address, StoreOptions::default())?);
    let persona = PersonaId::new("luna")?;
    store.ensure_persona(&persona, "Luna", Timestamp::UNIX_EPOCH).await?;
    let erase = async || store.reset_persona(&persona, "Luna", Timestamp::UNIX_EPOCH).await;
    erase().await?;

    let holder = Holder::start(&database)?;
    let clear = || {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.overwrite_freed(Timestamp::UNIX_EPOCH).await })
    };
    let (first, second) = (clear(), clear());
    let clearing = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'VACUUM%' AND state = 'active'
        AND datname = current_database()";
    while query(&database, clearing)? == ["0"] {}
    erase().await?;
    assert_eq!(query(&database, clearing)?, ["1"]);
    holder.end(&database)?;
    first.await??;
    second.await??;
    // The second one has removed what was erased in between.
    assert_eq!(query(&database, "SELECT count(*) FROM overwriting_due")?, ["0"]);

    // A removal that runs alone leaves it to the next one.
    erase().await?;
    let holder = Holder::start(&database)?;
    let alone = clear();
    while query(&database, clearing)? == ["0"] {}
    erase().await?;
    holder.end(&database)?;
    alone.await??;
    assert_eq!(query(&database, "SELECT count(*) FROM overwriting_due")?, ["1"]);
    Ok(())
}
