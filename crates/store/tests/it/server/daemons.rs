//! Daemons that share a home: one is active, the others are in reserve.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memory::ports::StoreError;
use store::{
    DaemonState, HomeHolder, HomeStore, NewDaemon, ServerAddress, SharedAccess, Standby, StoreOptions,
    home_state,
};
use testkit::postgres::{fresh_database, query};
use uuid::Uuid;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn daemon(number: u64) -> NewDaemon {
    NewDaemon {
        id: Uuid::from_u64_pair(7, number).to_string(),
        address: format!("http://192.0.2.{number}:7777"),
        version: "1.2.3".to_owned(),
        turns: Arc::new(|| 0),
        access: SharedAccess {
            secret: format!("secret {number}"),
            owner_digest: format!("digest {number}"),
            owner_token: Some(format!("token {number}")),
        },
    }
}

fn open(address: &ServerAddress, daemon: &NewDaemon) -> Result<Option<HomeStore>, StoreError> {
    HomeStore::open_for_daemon(address, StoreOptions::default(), daemon)
}

fn database() -> Outcome<(String, ServerAddress)> {
    let database = fresh_database()?.ok_or("run this test by scripts/with-postgres")?;
    let address = ServerAddress::parse(&database, None)?;
    Ok((database, address))
}

async fn becomes(standby: &Standby, wanted: &HomeHolder, within: Duration) -> Outcome {
    let mut standing = standby.watch_home();
    let became = tokio::time::timeout(within, standing.wait_for(|seen| seen == wanted)).await;
    let seen = standby.watch_home().borrow().clone();
    became.map_err(|_| format!("{seen:?} instead of {wanted:?}"))??;
    Ok(())
}

/// As if the active daemon's machine had stopped this long ago.
fn silence_holder(database: &str, seconds: u32) -> Outcome {
    let silence = format!(
        "UPDATE writer SET process = NULL, seen_at = now() - interval '{seconds} seconds';
         UPDATE daemons SET seen_at = now() - interval '{seconds} seconds' WHERE id = (SELECT program::text FROM writer)"
    );
    query(database, &silence)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn the_next_daemon_takes_a_home_that_was_let_go() -> Outcome {
    let (_, address) = database()?;
    let state = home_state(&address)?;
    assert!(!state.is_held && state.access.is_none());
    let (one, two) = (daemon(1), daemon(2));
    let first = open(&address, &one)?.ok_or("nobody has the home")?;
    assert!(open(&address, &two)?.is_none());
    let state = home_state(&address)?;
    assert!(state.is_held && state.access == Some(one.access.clone()));
    assert_eq!((state.holder, state.has_daemons), (Some(one.address.clone()), false));

    let standby = Standby::start(&address, &two)?;
    assert_eq!(*standby.watch_home().borrow(), HomeHolder::Held(Some(one.address.clone())));
    let listed = first.daemons().await?;
    let states: Vec<_> = listed.iter().map(|entry| (entry.id.as_str(), entry.state)).collect();
    assert_eq!(states, [(&*one.id, DaemonState::Serving), (&*two.id, DaemonState::StandingBy)]);
    assert_eq!((&*listed[1].address, &*listed[1].version), (&*two.address, "1.2.3"));
    assert!(home_state(&address)?.has_daemons);
    first.refuse_new_work(&one.id).await?;
    assert_eq!(first.daemons().await?[0].state, DaemonState::Draining);

    first.close().await?;
    becomes(&standby, &HomeHolder::Free, Duration::from_secs(3)).await?;
    let second = open(&address, &two)?.ok_or("the home was let go")?;
    let listed = second.daemons().await?;
    assert_eq!(listed.len(), 1, "the one that stopped is not listed: {listed:?}");
    assert_eq!(listed[0].state, DaemonState::Serving);
    let access = home_state(&address)?.access.ok_or("it was shared")?;
    assert_eq!(access.secret, "secret 1", "the secret is that of the first one");
    assert_eq!(access.owner_token.as_deref(), Some("token 2"));
    drop(standby);
    second.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn a_silent_daemon_is_replaced_and_learns_it() -> Outcome {
    let (database, address) = database()?;
    let (one, two) = (daemon(1), daemon(2));
    let first = open(&address, &one)?.ok_or("nobody has the home")?;
    let standby = Standby::start(&address, &two)?;
    silence_holder(&database, 21)?;
    // Its own heartbeat comes within five seconds, before it counts as dead.
    becomes(&standby, &HomeHolder::Free, Duration::from_secs(7))
        .await
        .err()
        .ok_or("it was believed at once")?;
    assert_eq!(*standby.watch_home().borrow(), HomeHolder::Held(Some(one.address.clone())));

    // It is stopped permanently: there is no heartbeat.
    let replaced = tokio::time::timeout(Duration::from_secs(20), first.taken_over());
    let began = Instant::now();
    let taken = async {
        loop {
            silence_holder(&database, 21)?;
            if matches!(*standby.watch_home().borrow(), HomeHolder::Free) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let second = open(&address, &two)?.ok_or("the home is free")?;
        Outcome::Ok(second)
    };
    let (replaced, second) = tokio::join!(replaced, taken);
    replaced?;
    let second = second?;
    assert!(began.elapsed() < Duration::from_secs(20));
    let states: Vec<_> = second.daemons().await?.into_iter().map(|entry| entry.state).collect();
    assert_eq!(states, [DaemonState::Dead, DaemonState::Serving]);
    let refused = first.refuse_new_work(&one.id).await;
    assert!(
        matches!(&refused, Err(StoreError::Unusable(reason)) if reason.contains("another EchoVessel")),
        "{refused:?}"
    );
    // A daemon that was declared dead accepts nothing any more.
    second.close().await?;
    assert!(open(&address, &one).is_err());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn a_daemon_that_was_silent_while_standing_by_is_lost() -> Outcome {
    let (database, address) = database()?;
    let first = open(&address, &daemon(1))?.ok_or("nobody has the home")?;
    let standby = Standby::start(&address, &daemon(2))?;
    query(&database, &format!("UPDATE daemons SET state = 'dead' WHERE id = '{}'", daemon(2).id))?;
    becomes(&standby, &HomeHolder::Lost, Duration::from_secs(8)).await?;
    // A daemon that stops is not listed.
    let leaving = Standby::start(&address, &daemon(3))?;
    assert_eq!(first.daemons().await?.len(), 3);
    leaving.leave_daemon_list();
    let began = Instant::now();
    while first.daemons().await?.len() > 2 {
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    first.close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn turns_per_minute_are_listed() -> Outcome {
    let (_, address) = database()?;
    let turns = Arc::new(AtomicU64::new(40));
    let counted = Arc::clone(&turns);
    let one = NewDaemon { turns: Arc::new(move || counted.fetch_add(3, Ordering::Relaxed)), ..daemon(1) };
    let first = open(&address, &one)?.ok_or("nobody has the home")?;
    let began = Instant::now();
    while first.daemons().await?[0].turns_per_minute != 3 {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    first.close().await?;
    Ok(())
}
