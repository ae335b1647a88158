//! Three daemons behind HAProxy while faults occur: daemons are killed, stopped and paused, the database is killed,
//! and connections are cut and delayed. Each acknowledged message is stored once, each turn is answered once, each
//! session is extracted once, and the home answers again within half a minute.
//!
//! `ECHOVESSEL_SOAK_ROUNDS` sets the number of faults, while 64 users talk with 12 personas and replicas replace the
//! database. Without it each kind except the last happens once, with 24 users and 6 personas, on a database without a
//! replica. `ECHOVESSEL_SOAK_SEED` repeats a run's random choices.

use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use tempfile::TempDir;
use testkit::postgres::query;
use tokio_util::sync::CancellationToken;

use super::database::{Database, PORTS};
use super::haproxy::HaProxy;
use super::links::Link;
use super::{TAKEOVER, free_port};
use crate::crash::{
    Client, Pace, all_work_finishes, every_message_is_there_once, every_session_is_remembered_once,
    every_turn_is_answered_once, nothing_is_orphaned, variable,
};
use crate::daemon::{Daemon, Home, Settings, eventually, pause, within};
use crate::owner_api::Door;
use crate::scripts;

const DAEMONS: usize = 3;
/// Pause of a daemon that is longer than the time after which it is replaced.
const PAUSE: Duration = Duration::from_secs(60);
/// Pause of a daemon in reserve that is longer than that time.
const STANDBY_PAUSE: Duration = Duration::from_secs(25);
/// Time in which at least one waiting session must be extracted.
const STANDSTILL: Duration = Duration::from_secs(120);
/// Time for which connections are delayed.
const STALL: Duration = Duration::from_secs(5);

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// `kill -9` of the active daemon.
    KillHolder,
    /// `kill -9` of a daemon in reserve.
    KillStandby,
    /// A normal stop while users talk.
    StopHolder,
    /// SIGSTOP of the active daemon, and SIGCONT later. Other faults happen meanwhile.
    PauseHolder,
    PauseStandby,
    KillDatabase,
    /// The database is killed and not started again; its replica is promoted. Needs a database with a replica.
    FailOver,
    /// Connections between the active daemon and the database.
    CutDatabaseLinks,
    StallDatabaseLinks,
    /// Connections of the other daemons to the active one.
    CutDaemonLinks,
    StallDaemonLinks,
}

/// All but the one that needs a replica.
const FAULTS: [Fault; 10] = [
    Fault::KillHolder,
    Fault::PauseHolder,
    Fault::CutDatabaseLinks,
    Fault::KillStandby,
    Fault::StallDatabaseLinks,
    Fault::CutDaemonLinks,
    Fault::KillDatabase,
    Fault::StallDaemonLinks,
    Fault::PauseStandby,
    Fault::StopHolder,
];

/// A daemon with all its connections.
struct Machine {
    /// Dropped before its home, which prints the daemon's log if the test fails.
    daemon: Option<Daemon>,
    home: Home,
    settings: Settings,
    port: u16,
    /// The address at which the other daemons reach it.
    advertised: String,
    /// Time at which the paused daemon is resumed.
    paused_until: Option<Instant>,
    to_database: Link,
    from_daemons: Link,
    _socket: TempDir,
}

impl Machine {
    async fn new(settings: &Settings, database: &Database) -> Self {
        let port = free_port();
        let (to_database, socket) = Link::to_database(database.folder(), PORTS);
        let (from_daemons, linked) = Link::to_port(port).await;
        let advertised = format!("http://127.0.0.1:{linked}");
        let settings = settings
            .clone()
            .key("storage.url", Database::url_at(socket.path()))
            .key("server.advertise", &advertised)
            .key("server.behind_proxy", true);
        Self {
            home: Home::new(),
            settings,
            port,
            advertised,
            daemon: None,
            paused_until: None,
            to_database,
            from_daemons,
            _socket: socket,
        }
    }

    async fn start(&mut self) {
        self.daemon = Some(Daemon::start_at(&self.home, &self.settings, self.port).await);
    }

    fn signal(&self, name: &str) {
        self.daemon.as_ref().unwrap().signal(name);
    }

    fn is_running(&mut self) -> bool {
        self.paused_until.is_none() && self.daemon.as_mut().is_some_and(|daemon| daemon.try_ended().is_none())
    }

    fn kill(&mut self) {
        self.daemon.take().unwrap().kill();
    }

    /// Resumes a paused daemon. It either ends, since it was replaced, or reports that it is alive.
    async fn resume(&mut self, url: &str) {
        let now = query(url, "SELECT clock_timestamp()").unwrap().remove(0);
        let noted = format!(
            "SELECT 1 FROM daemons WHERE address = '{}' AND state <> 'dead' AND seen_at > '{now}'",
            self.advertised
        );
        self.signal("CONT");
        self.paused_until = None;
        let status = eventually("the paused daemon ends, or notes that it is there", async || {
            let ended = self.daemon.as_mut().unwrap().try_ended();
            let is_noted = || query(url, &noted).is_ok_and(|rows| !rows.is_empty());
            if ended.is_some() { Some(ended) } else { is_noted().then_some(None) }
        })
        .await;
        if let Some(status) = status {
            assert_eq!(status.code(), Some(5), "a daemon that was replaced says so");
        }
    }
}

struct World {
    database: Database,
    machines: Vec<Machine>,
    proxy: HaProxy,
    door: Door,
    longest_outage: Duration,
}

impl World {
    async fn new(settings: &Settings, personas: usize, has_replica: bool) -> Self {
        let database = Database::create(has_replica).await;
        let mut machines = Vec::new();
        for _ in 0..DAEMONS {
            let mut machine = Machine::new(settings, &database).await;
            machine.start().await;
            machines.push(machine);
        }
        let ports: Vec<u16> = machines.iter().map(|machine| machine.port).collect();
        let proxy = HaProxy::start(free_port(), &ports).await;
        let token = machines[0].daemon.as_ref().unwrap().token.clone();
        let door = Door::new(proxy.url.clone(), token);
        for number in 1..personas {
            door.post("/api/admin/personas", &json!({"id": persona(number)})).await;
        }
        Self { database, machines, proxy, door, longest_outage: Duration::ZERO }
    }

    /// The machine whose daemon is active, as soon as that is known.
    async fn holder(&self) -> usize {
        let held = "SELECT d.address FROM writer w JOIN daemons d ON d.id = CAST(w.program AS TEXT) WHERE d.state <> 'dead'";
        within(TAKEOVER, "a daemon holds the home", async || {
            let address = query(&self.database.url(), held).ok()?.pop()?;
            self.machines.iter().position(|machine| machine.advertised == address)
        })
        .await
    }

    /// A running daemon in reserve.
    async fn standby(&mut self) -> Option<usize> {
        let holder = self.holder().await;
        (0..DAEMONS).find(|place| *place != holder && self.machines[*place].is_running())
    }

    async fn happen(&mut self, fault: Fault) {
        if matches!(fault, Fault::PauseHolder | Fault::PauseStandby) {
            // Only one daemon is paused at a time.
            self.all_machines_run().await;
        }
        let holder = self.holder().await;
        let began = Instant::now();
        match fault {
            Fault::KillHolder => self.machines[holder].kill(),
            Fault::KillStandby => {
                if let Some(standby) = self.standby().await {
                    self.machines[standby].kill();
                }
            }
            Fault::StopHolder => {
                self.machines[holder].signal("TERM");
                let daemon = self.machines[holder].daemon.as_mut().unwrap();
                assert!(daemon.ended().await, "the daemon stops in good order");
            }
            Fault::PauseHolder | Fault::PauseStandby => {
                let (paused, time) = match fault {
                    Fault::PauseHolder => (Some(holder), PAUSE),
                    _ => (self.standby().await, STANDBY_PAUSE),
                };
                if let Some(paused) = paused {
                    self.machines[paused].signal("STOP");
                    self.machines[paused].paused_until = Some(began + time);
                }
            }
            Fault::KillDatabase => self.database.kill_and_restart(),
            Fault::FailOver => self.database.fail_over(),
            Fault::CutDatabaseLinks => self.machines[holder].to_database.cut(),
            Fault::CutDaemonLinks => self.machines[holder].from_daemons.cut(),
            Fault::StallDatabaseLinks | Fault::StallDaemonLinks => {
                let machine = &self.machines[holder];
                let link = if fault == Fault::StallDatabaseLinks {
                    &machine.to_database
                } else {
                    &machine.from_daemons
                };
                link.stall(true);
                pause(STALL).await;
                link.stall(false);
            }
        }
        self.answers_again(fault).await;
        let outage = began.elapsed();
        println!("{fault:?}: the home answered after {outage:?}");
        self.longest_outage = self.longest_outage.max(outage);
    }

    /// Waits until a message is accepted.
    async fn answers_again(&self, fault: Fault) {
        within(TAKEOVER, &format!("the home answers after {fault:?}"), async || {
            let body = json!({"content": "is anybody there?", "user_id": "watcher"});
            let request = self.door.request(reqwest::Method::POST, "/api/chat/send").json(&body);
            let answered = crate::owner_api::answer(request.timeout(Duration::from_secs(3))).await;
            answered.is_ok_and(|answer| answer.status == 202).then_some(())
        })
        .await;
    }

    /// Does the work of a supervisor: restarts daemons that ended, resumes paused ones, and gives the database a new
    /// replica if it has lost one.
    async fn repair(&mut self) {
        self.database.restore_replica().await;
        for machine in &mut self.machines {
            match machine.paused_until {
                Some(until) if until <= Instant::now() => machine.resume(&self.database.url()).await,
                Some(_) => continue,
                None => {}
            }
            if !machine.is_running() {
                machine.start().await;
            }
        }
    }

    /// Waits until no session waits for its extraction. After hours of load there are thousands, so only a standstill
    /// is a failure.
    async fn all_sessions_close(&self) {
        let waiting =
            "SELECT COUNT(*)::TEXT FROM sessions WHERE status IN ('open', 'closing', 'consolidating')";
        let count = || query(&self.database.url(), waiting).unwrap()[0].parse::<u64>().unwrap();
        let mut left = count();
        while left > 0 {
            left = within(STANDSTILL, &format!("fewer than {left} sessions wait"), async || {
                Some(count()).filter(|now| *now < left)
            })
            .await;
        }
    }

    async fn all_machines_run(&mut self) {
        while self.machines.iter().any(|machine| machine.paused_until.is_some()) {
            pause(Duration::from_millis(200)).await;
            self.repair().await;
        }
        self.repair().await;
    }
}

fn persona(number: usize) -> String {
    if number == 0 { "default".to_owned() } else { format!("persona-{number}") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn nothing_is_lost_doubled_or_answered_twice_whatever_fails() {
    let model = scripts::remembering_model().await;
    let settings = Settings::talking_to(&model).key("session.idle", "2s").key("hub.graph_facts", false);
    let seed = variable("ECHOVESSEL_SOAK_SEED").unwrap_or(7);
    let mut random = StdRng::seed_from_u64(seed);
    let rounds = variable("ECHOVESSEL_SOAK_ROUNDS");
    let (users, personas) = if rounds.is_some() { (64, 12) } else { (24, 6) };
    let mut world = World::new(&settings, personas, rounds.is_some()).await;
    let door = Arc::new(RwLock::new(world.door.clone()));
    let enough = CancellationToken::new();
    let pace =
        |n: usize| Pace { persona: persona(n % personas), between: 50..500, silences: 0.06, silence: 3_000 };
    let clients: Vec<Client> =
        (0..users).map(|n| Client::start_with(n, seed, pace(n), &door, &enough)).collect();
    let faults: Vec<Fault> = match rounds {
        None => FAULTS.to_vec(),
        // Each cycle has all kinds of faults, in another order.
        Some(rounds) => (0..)
            .flat_map(|_cycle: usize| {
                let mut kinds = [&FAULTS[..], &[Fault::FailOver]].concat();
                kinds.shuffle(&mut random);
                kinds
            })
            .take(usize::try_from(rounds).unwrap())
            .collect(),
    };
    for fault in faults {
        pause(Duration::from_millis(random.random_range(200..1_500))).await;
        world.happen(fault).await;
        world.repair().await;
    }
    world.all_machines_run().await;
    enough.cancel();
    let mut sent = Vec::new();
    for (number, client) in clients.into_iter().enumerate() {
        let door = world.door.of_persona(&persona(number % personas));
        sent.push((door, client.user.clone(), client.end().await));
    }
    let acknowledged: usize = sent.iter().map(|(_, _, sent)| sent.acknowledged.len()).sum();
    println!("seed {seed}: {acknowledged} messages acknowledged, longest outage {:?}", world.longest_outage);
    assert!(acknowledged > 200, "{acknowledged} messages prove nothing");
    let failed = "SELECT encode(id, 'hex'), reason FROM turns WHERE status = 'failed'";
    assert_eq!(query(&world.database.url(), failed).unwrap(), [""; 0], "failed turns");
    world.all_sessions_close().await;
    for (door, user, sent) in &sent {
        all_work_finishes(door, user).await;
        let history = door.history(user).await;
        every_message_is_there_once(sent, &history);
        every_turn_is_answered_once(&history);
        every_session_is_remembered_once(door, user, &history).await;
    }
    let holder = world.holder().await;
    drop(world.proxy);
    for machine in &mut world.machines {
        let mut daemon = machine.daemon.take().unwrap();
        daemon.signal("TERM");
        assert!(daemon.ended().await);
    }
    nothing_is_orphaned(&world.machines[holder].home, &world.machines[holder].settings);
}
