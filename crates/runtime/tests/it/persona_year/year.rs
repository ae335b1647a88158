//! The days of a year: who writes when, what people do with the memory, and which faults occur.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use memory::core_blocks::CoreBlocks;
use memory::identifiers::{MessageId, NodeId, SessionId, TurnId};
use memory::messages::Role;
use memory::nodes::Node;
use memory::ports::{StoreError, UserStore as _};
use memory::{PersonaId, Scope, UserId};
use runtime::IncomingMessage;
use store::{Fault, without_faults};

use super::dice::Dice;
use super::house::{CHANNELS, House, UNTIL_NOTICED};
use super::model::UnreliableModel;
use super::{laws, talk};
use crate::world::{HOUR, MINUTE, SECOND};

/// The scopes, each with a word that is used in it alone.
const LIVES: [(&str, &str, &str); 5] = [
    ("echo", "ann", "zorbal"),
    ("echo", "bob", "quixel"),
    ("echo", "李雷", "fendrik"),
    ("vesper", "ann", "mopsul"),
    ("vesper", "bob", "wintak"),
];
const ZONES: [&str; 5] =
    ["Europe/Berlin", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"];
/// Calls in which the disk may fail or the process may end.
const FRAGILE: [&str; 16] = [
    "capture",
    "commit_extraction",
    "commit_reflection",
    "commit_slow_cycle",
    "finish_session",
    "claim_closing_session",
    "record_failure",
    "end_quiet_sessions",
    "fail_turn",
    "touch_nodes",
    "store_phase_trace",
    "store_turn_trace",
    "forget",
    "edit_message",
    "settle_expectations",
    "session_messages",
];

/// An acknowledged message.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) scope: Scope,
    pub(super) role: Role,
    pub(super) turn: Option<TurnId>,
    pub(super) content: String,
}

/// The expected state, against which the memory is checked.
#[derive(Default)]
pub(super) struct Known {
    pub(super) said: BTreeMap<MessageId, Said>,
    /// Messages whose capture was not acknowledged.
    pub(super) unsure: Vec<(Scope, String)>,
    /// Scopes in which an action with unknown result was done.
    pub(super) shaken: BTreeSet<Scope>,
    /// Turns whose reply was requested again.
    pub(super) regenerated: HashSet<TurnId>,
    /// Number of times that a session may have been extracted again.
    pub(super) again: HashMap<SessionId, usize>,
    /// L1 as people wrote it.
    pub(super) blocks: HashMap<Scope, CoreBlocks>,
    /// End of each mood, in elapsed time.
    pub(super) moods: HashMap<(Scope, Timestamp), Duration>,
    /// Nodes as they were when their evidence was checked last.
    pub(super) founded: HashMap<NodeId, Node>,
    /// Scopes that were changed since their last check.
    pub(super) touched: BTreeSet<Scope>,
}

pub(super) struct Year {
    pub(super) house: House,
    pub(super) dice: Dice,
    pub(super) scopes: Vec<Scope>,
    pub(super) known: Known,
    pub(super) lines: u32,
    days: u32,
    /// Day from which every scope is checked.
    next_week: u32,
    /// Whether the disk failed or the clock jumped since the last check: then some work may wait.
    pub(super) disturbed: bool,
}

fn scope_of(persona: &str, user: &str) -> Scope {
    Scope::new(PersonaId::new(persona).unwrap(), UserId::new(user).unwrap())
}

impl Year {
    pub(super) async fn new(seed: u64) -> Self {
        let marks = LIVES.iter().map(|(.., mark)| (*mark).to_owned()).collect();
        let forbidden = CHANNELS.iter().map(|channel| (*channel).to_owned()).collect();
        let model = UnreliableModel::new(seed ^ 0x6d6f_6465_6c00, marks, forbidden);
        let house = House::open(model, "2026-01-01T08:00:00Z".parse().unwrap()).await;
        let mut dice = Dice::new(seed);
        let scopes: Vec<Scope> = LIVES.iter().map(|(persona, user, _)| scope_of(persona, user)).collect();
        for scope in &scopes {
            house.runtime.ensure_scope_exists(scope).await.unwrap();
            let zone = *dice.pick(&ZONES);
            without_faults(house.store.set_user_timezone(&scope.user, Some(zone.to_owned()))).await.unwrap();
        }
        let known = Known::default();
        Self { house, dice, scopes, known, lines: 0, days: 0, next_week: 7, disturbed: false }
    }

    /// Runs one day and checks all invariants. The error is the invariant that was violated.
    pub(super) async fn live_a_day(&mut self) -> Result<(), String> {
        self.days += 1;
        if self.dice.chance(65) {
            // A day without messages.
            self.house.pass(24 * HOUR).await;
            return self.look_around(false).await;
        }
        let mood = *self.dice.pick(&[0, 10, 25, 25, 60]);
        self.house.model.err(mood);
        // On some days everything happens to one user.
        let heavy = self.dice.chance(8).then(|| self.dice.below(LIVES.len()));
        let talks = if heavy.is_some() { 7 } else { 1 + self.dice.below(2) };
        for _ in 0..talks {
            self.something_goes_wrong();
            let place = heavy.unwrap_or_else(|| self.dice.below(LIVES.len()));
            self.talk(place, heavy.is_some()).await;
            self.keep_alive().await;
            let minutes = if heavy.is_some() { 45 } else { 5 + self.dice.below(240) as u64 };
            let quiet = Duration::from_secs(60 * minutes);
            self.house.pass(quiet).await;
            self.keep_alive().await;
            laws::quickly(self).await?;
            if self.dice.chance(50) {
                self.act().await?;
                self.keep_alive().await;
                laws::quickly(self).await?;
            }
        }
        if self.dice.chance(8) {
            let away = Duration::from_secs(60 * self.dice.below(600) as u64);
            self.house.die_and_live_again(away).await;
        }
        if self.dice.chance(4) {
            let hours = *self.dice.pick(&[-48, -26, -3, -1, 1, 3, 50]);
            self.jump(hours);
        }
        self.house.pass(12 * HOUR).await;
        self.look_around(true).await
    }

    /// The end: no more faults, and time for all pending work.
    pub(super) async fn end(&mut self) -> Result<(), String> {
        self.house.model.err(0);
        self.house.die_and_live_again(MINUTE).await;
        self.house.pass(72 * HOUR).await;
        laws::retry_failures(self).await;
        self.house.pass(24 * HOUR).await;
        self.disturbed = false;
        let every: BTreeSet<Scope> = self.scopes.iter().cloned().collect();
        laws::all(self, &every, true).await?;
        laws::database_is_whole(self).await?;
        laws::no_session_is_lost(self).await
    }

    async fn look_around(&mut self, whole: bool) -> Result<(), String> {
        self.keep_alive().await;
        if self.disturbed {
            // Failed work is retried after a while, and a clock that went back catches up.
            self.house.pass(2 * UNTIL_NOTICED).await;
            self.keep_alive().await;
        }
        if whole {
            // A scope without changes is checked once a week: nothing may have reached it.
            let weekly = self.days >= self.next_week;
            let touched = std::mem::take(&mut self.known.touched);
            let every = self.scopes.iter().cloned().collect();
            laws::all(self, if weekly { &every } else { &touched }, weekly).await?;
            if weekly || self.disturbed {
                laws::database_is_whole(self).await?;
                self.next_week = self.days + 7;
            }
        }
        self.disturbed = false;
        Ok(())
    }

    /// Restarts a process that ended.
    pub(super) async fn keep_alive(&mut self) {
        while self.house.store.faults().is_dead() {
            self.disturbed = true;
            let away = Duration::from_secs(self.dice.below(1_000) as u64);
            self.house.die_and_live_again(away).await;
        }
    }

    /// The wall clock jumps. Checks by the clock can't tell the times apart that it shows twice.
    fn jump(&mut self, hours: i64) {
        self.house.jump(hours);
        self.disturbed = true;
        let twice = HOUR * u32::try_from(-hours.min(0)).unwrap();
        self.known.moods.values_mut().for_each(|over| *over += twice);
    }

    fn something_goes_wrong(&mut self) {
        if !self.dice.chance(12) {
            return;
        }
        self.disturbed = true;
        let method = *self.dice.pick(&FRAGILE);
        let fault = match self.dice.below(4) {
            0 => Fault::DeathBefore,
            1 => Fault::DeathAfter,
            2 => Fault::Error(StoreError::Unwritable("no space is left".to_owned())),
            _ => Fault::Error(StoreError::Busy("another process".to_owned())),
        };
        self.house.store.faults().plan(method, fault);
    }

    /// Several messages in a row, and their reply.
    async fn talk(&mut self, place: usize, heavy: bool) {
        let (scope, mark) = (self.scopes[place].clone(), LIVES[place].2);
        self.known.touched.insert(scope.clone());
        let channel = if heavy { CHANNELS[0] } else { *self.dice.pick(&CHANNELS) };
        for nth in 0..=self.dice.below(6) {
            self.lines += 1;
            let content = match heavy && nth == 0 {
                true => talk::peak(&mut self.dice, self.lines),
                false => talk::line(&mut self.dice, mark, self.lines),
            };
            if !self.say(&scope, channel, content).await {
                return;
            }
            let pause = Duration::from_secs(self.dice.below(8) as u64);
            self.house.clock.advance(pause).await;
            self.house.elapsed += pause;
        }
        self.house.pass(5 * SECOND).await;
        if self.dice.chance(15) && !self.house.store.faults().is_dead() {
            self.regenerate(&scope).await;
        }
    }

    /// Sends a message. Returns false if the process ended during it.
    async fn say(&mut self, scope: &Scope, channel: &str, content: String) -> bool {
        let incoming = IncomingMessage {
            scope: scope.clone(),
            channel_id: channel.to_owned(),
            content: content.clone(),
            external_ref: None,
        };
        match self.house.unless_it_dies(self.house.runtime.turns().accept(incoming)).await {
            Some(Ok(accepted)) => {
                let turn = Some(accepted.turn_id);
                let said = Said { scope: scope.clone(), role: Role::User, turn, content };
                self.known.said.insert(accepted.message_id, said);
            }
            // Nothing was written, and nothing may be found.
            Some(Err(_)) => {}
            None => {
                self.known.unsure.push((scope.clone(), content));
                return false;
            }
        }
        true
    }

    /// Requests the last reply again; the old one is replaced when the new one is complete.
    async fn regenerate(&mut self, scope: &Scope) {
        let last = self.house.unless_it_dies(self.house.runtime.turns().regenerate(scope, None)).await;
        match last {
            Some(Ok(turn)) => {
                self.known.regenerated.insert(turn.id);
                self.allow_again_all_of(scope).await;
            }
            Some(Err(_)) => {}
            None => {
                self.known.shaken.insert(scope.clone());
                self.allow_again_all_of(scope).await;
            }
        }
        if !self.house.store.faults().is_dead() {
            self.house.pass(5 * SECOND).await;
        }
    }

    /// The newest sessions of the scope may be extracted once more.
    async fn allow_again_all_of(&mut self, scope: &Scope) {
        for session in laws::newest_sessions(&self.house, scope).await {
            *self.known.again.entry(session).or_default() += 1;
        }
    }
}
