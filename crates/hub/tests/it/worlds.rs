//! Random histories of a hub and its embodiments, with real SQLite files: people write, decide and erase at every
//! home, networks are cut, backups are restored, homes are copied. At the end all homes have the same content, every
//! word that a person wrote is in a live version, and no byte of what was erased is left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hub::api::conflicts::{ConflictQuery, ConflictResolve, Resolution};
use hub::ports::{DocumentFilter, HubStore as _};
use hub::{ExchangeCounts, InstanceId};
use tempfile::TempDir;

use crate::embodiment::{embodiment, erase, has_bytes};
use crate::home::{Home, identity_text};
use crate::link::{Faults, Link};

/// Histories for each of the four tests. `make soak` runs more.
const WORLDS: u64 = 25;
const STEPS: usize = 24;

/// Small numbers that depend on a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }
}

struct World {
    dice: Dice,
    /// The hub is the first one.
    homes: Vec<Home>,
    backups: BTreeMap<usize, Arc<TempDir>>,
    /// Words that were written, each with the instance that wrote it.
    words: BTreeMap<String, InstanceId>,
    erased: BTreeSet<String>,
    pushes: Vec<(InstanceId, String)>,
    seed: u64,
    steps: Vec<String>,
}

impl World {
    async fn new(seed: u64) -> Self {
        let hub = Home::with("home", Arc::new(TempDir::new().unwrap()), "home.db", false, seed << 8).await;
        let mut homes = vec![hub];
        for (number, name) in ["laptop", "phone"].into_iter().enumerate() {
            homes.push(embodiment(name, (seed << 8) + 1 + number as u64).await);
        }
        Self {
            dice: Dice(seed),
            homes,
            backups: BTreeMap::new(),
            words: BTreeMap::new(),
            erased: BTreeSet::new(),
            pushes: Vec::new(),
            seed: (seed << 8) + 16,
            steps: Vec::new(),
        }
    }

    fn word(&mut self, home: usize) -> String {
        let word = format!("zq{:03}qz", self.steps.len());
        self.words.insert(word.clone(), self.homes[home].caller.instance.clone());
        word
    }

    async fn step(&mut self) {
        let at = self.dice.roll(self.homes.len());
        let what = self.dice.roll(16);
        self.steps.push(format!("{what} at {at}"));
        if std::env::var("ECHOVESSEL_WORLD").is_ok() {
            println!("{} {what} at {at}", self.steps.len());
            for home in &self.homes {
                println!("{}", histories(home).await);
            }
        }
        match what {
            0..=2 => {
                let (word, home) = (self.word(at), &self.homes[at]);
                let instance = home.caller.instance.to_string();
                let day = format!("2026-07-1{}", self.dice.roll(2));
                let line = format!("- {word} [chat:{at}] [via:{instance}]");
                home.create_as(&instance, "daily", &day, &line).await;
            }
            3..=5 => {
                let word = self.word(at);
                let home = &self.homes[at];
                let text = identity_text("relationship", "bond.md", &format!("{word}\n"));
                assert!(home.hub.identity_append(&home.caller, text).await.unwrap().success);
            }
            6 => {
                let word = self.word(at);
                let home = &self.homes[at];
                let instance = home.caller.instance.to_string();
                let date = format!("2026-07-01/{}{}", instance, self.steps.len());
                home.create_as(&instance, "significant", &date, &word).await;
            }
            7..=10 => {
                let faults = Faults {
                    cut_after: (self.dice.roll(2) == 0).then(|| self.dice.roll(6)),
                    loses_answer: self.dice.roll(2) == 0,
                    repeats: self.dice.roll(4) == 0,
                };
                drop(self.exchange(at.max(1), faults).await);
            }
            11 => self.decide(at).await,
            12 => self.erase(at).await,
            13 => self.reopen(at, None).await,
            14 => self.back_up_or_restore(at).await,
            _ => self.repeat_old_push().await,
        }
    }

    async fn exchange(&mut self, at: usize, faults: Faults) -> Result<ExchangeCounts, hub::ExchangeError> {
        let home = &self.homes[at];
        let link = Link::with(&self.homes[0].hub, home.caller.instance.as_str(), faults);
        let done = home.hub.exchange(&link, &home.caller.scope).await;
        let pushes = std::mem::take(&mut *link.pushes.lock().unwrap());
        self.pushes.extend(pushes.into_iter().map(|push| (home.caller.instance.clone(), push)));
        if let Ok(done) = &done {
            assert!(done.passed_over.is_empty(), "{:?}", done.passed_over);
            assert!(done.refused.is_empty(), "{:?}", done.refused);
        }
        done
    }

    /// A person merges both texts of a conflict.
    async fn decide(&self, at: usize) {
        let home = &self.homes[at];
        let open = home.hub.conflict_list(&home.person(), ConflictQuery::default()).await.unwrap();
        let Some(conflict) = open.conflicts.first() else { return };
        let lines = [&conflict.shown, &conflict.kept].map(|side| side.content.clone().unwrap_or_default());
        let lines: BTreeSet<&str> = lines.iter().flat_map(|text| text.lines()).collect();
        let decision = ConflictResolve {
            conflict_id: conflict.id.clone(),
            resolution: Resolution::Merge,
            content: Some(lines.into_iter().collect::<Vec<_>>().join("\n") + "\n"),
        };
        home.hub.conflict_resolve(&home.person(), decision).await.unwrap();
    }

    /// A person erases a word at the hub, or at the home that wrote it.
    async fn erase(&mut self, at: usize) {
        let instance = &self.homes[at].caller.instance;
        let may: Vec<&String> = self
            .words
            .iter()
            .filter(|(_, author)| at == 0 || *author == instance)
            .map(|(word, _)| word)
            .collect();
        if may.is_empty() {
            return;
        }
        let word = may[self.dice.roll(may.len())].clone();
        if !live(&self.homes[at]).await.concat().contains(&word) {
            return;
        }
        erase(&self.homes[at], &word).await;
        self.words.remove(&word);
        self.erased.insert(word);
    }

    /// Opens a home again, from its folder or from another one.
    async fn reopen(&mut self, at: usize, folder: Option<Arc<TempDir>>) {
        let home = &self.homes[at];
        let (name, own) = (home.caller.instance.to_string(), home.folder.clone());
        let followed = home.hub.followed_hub().map(|hub| hub.to_string());
        home.store.close().await.unwrap();
        self.seed += 1;
        let opened = Home::with(&name, folder.unwrap_or(own), "home.db", at > 0, self.seed).await;
        if at > 0 {
            opened.hub.follow_hub(followed, name.parse().unwrap()).await.unwrap();
        }
        self.homes[at] = opened;
    }

    /// Makes a backup of an embodiment, or restores one. Words that were only in the replaced home are lost.
    async fn back_up_or_restore(&mut self, at: usize) {
        let at = at.max(1);
        let Some(backup) = self.backups.remove(&at) else {
            let folder = Arc::new(TempDir::new().unwrap());
            store::back_up(&self.homes[at].file("home.db"), &folder.path().join("home.db")).unwrap();
            self.backups.insert(at, folder);
            return;
        };
        self.reopen(at, Some(backup)).await;
        let mut texts = String::new();
        for home in &self.homes {
            texts.push_str(&live(home).await.concat());
        }
        self.words.retain(|word, _| texts.contains(word.as_str()));
        // A word that was erased at this home since the backup, before the hub received the erasure, is there again:
        // a person who restores the backup knows that. It counts as written again.
        let again: Vec<String> = self.erased.iter().filter(|word| texts.contains(*word)).cloned().collect();
        for word in again {
            let gone_at_hub = !live(&self.homes[0]).await.concat().contains(&word);
            if !gone_at_hub || !self.knows_erasure(&word).await {
                self.erased.remove(&word);
            }
        }
    }

    /// Whether the hub knows that the word was erased: it had the word, and no version has it now.
    async fn knows_erasure(&self, word: &str) -> bool {
        let hub = &self.homes[0];
        self.pushes.iter().any(|(_, push)| push.contains(word))
            && !hub
                .store
                .export_hub(&hub.caller.scope)
                .await
                .unwrap()
                .documents
                .iter()
                .flat_map(|(_, history)| &history.versions)
                .any(|kept| kept.version.content.as_deref().is_some_and(|content| content.contains(word)))
    }

    /// Delivers an earlier push again.
    async fn repeat_old_push(&mut self) {
        if self.pushes.is_empty() {
            return;
        }
        let (instance, push) = self.pushes[self.dice.roll(self.pushes.len())].clone();
        let hub = &self.homes[0];
        let caller = hub::Caller { instance, is_bound: true, ..hub.caller.clone() };
        hub.hub.sync_push(&caller, serde_json::from_str(&push).unwrap()).await.unwrap();
    }

    /// Restores the networks and lets each home exchange until nothing is new.
    async fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 8, "the homes never come to rest");
            let mut is_quiet = true;
            for at in 1..self.homes.len() {
                is_quiet &= self.exchange(at, Faults::default()).await.unwrap() == ExchangeCounts::default();
            }
            if is_quiet {
                return;
            }
        }
    }

    async fn check(&self) {
        let hub = live_by_name(&self.homes[0]).await;
        for home in &self.homes[1..] {
            let here = live_by_name(home).await;
            for name in hub.keys().chain(here.keys()) {
                let instance = &home.caller.instance;
                assert_eq!(here.get(name), hub.get(name), "{name} at {instance} differs from the hub");
            }
        }
        let texts = live(&self.homes[0]).await.concat();
        for word in self.words.keys() {
            assert!(texts.contains(word), "{word} is lost");
        }
        for (word, home) in
            self.erased.iter().flat_map(|word| self.homes.iter().map(move |home| (word, home)))
        {
            assert!(!has_bytes(home, word).await, "{word} is erased and still at {}", home.caller.instance);
        }
    }
}

/// The texts of all live versions.
async fn live(home: &Home) -> Vec<String> {
    let documents = home.store.documents(&home.caller.scope, DocumentFilter::all_documents()).await.unwrap();
    let heads = documents.into_iter().flat_map(|document| document.heads);
    heads.filter_map(|head| head.content).collect()
}

/// The shown version of each document, and the texts of all its live versions.
async fn live_by_name(home: &Home) -> BTreeMap<String, (Option<String>, BTreeSet<Option<String>>)> {
    let documents = home.store.documents(&home.caller.scope, DocumentFilter::all_documents()).await.unwrap();
    let by_name = documents.into_iter().map(|document| {
        let shown = document.content().map(str::to_owned);
        let heads: BTreeSet<Option<String>> = document.heads.into_iter().map(|head| head.content).collect();
        (document.name.to_string(), (shown, heads))
    });
    // A word that was only ever on one side, and was lost there, is nowhere.
    by_name.filter(|(_, (_, heads))| heads.iter().any(Option::is_some)).collect()
}

/// All versions of all documents, printed if a check fails.
async fn histories(home: &Home) -> String {
    let mut lines = format!("-- {}\n", home.caller.instance);
    for (name, history) in home.store.export_hub(&home.caller.scope).await.unwrap().documents {
        for kept in history.versions {
            let version = kept.version;
            let vector = serde_json::to_string(&version.vector).unwrap();
            lines += &format!("{name} {:?} {vector} {} {:?}\n", kept.state, version.author, version.content);
        }
    }
    lines
}

/// Runs one of the four parts of all histories.
async fn run(part: u64) {
    let worlds =
        std::env::var("ECHOVESSEL_WORLDS").ok().and_then(|count| count.parse().ok()).unwrap_or(WORLDS);
    let only = std::env::var("ECHOVESSEL_WORLD").ok().and_then(|seed| seed.parse::<u64>().ok());
    run_seeds((part * worlds..(part + 1) * worlds).filter(|seed| only.is_none_or(|only| *seed == only)))
        .await;
}

async fn run_seeds(seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        let mut world = World::new(seed).await;
        let living = async {
            for _ in 0..STEPS {
                world.step().await;
            }
            world.settle().await;
            world.check().await;
        };
        let lived = std::panic::AssertUnwindSafe(living);
        if let Err(panic) = futures_util::FutureExt::catch_unwind(lived).await {
            println!("world {seed}: {:?}", world.steps);
            for home in &world.homes {
                println!("{}", histories(home).await);
            }
            std::panic::resume_unwind(panic);
        }
    }
}

/// Seeds of histories that failed once. In three of them the author of a version depended on the home, and so did the
/// shown version. In one a backup was restored between the two pushes of an erasure. In two a decision about two
/// texts removed a third one. In the last one a hub did not recognise the pusher's own line in a text that it had
/// merged.
#[tokio::test]
async fn worlds_that_once_failed_come_to_rest() {
    run_seeds([864, 2728, 5376, 8073, 7700, 3924, 8045]).await;
}

#[tokio::test]
async fn worlds_come_to_rest() {
    run(0).await;
}

#[tokio::test]
async fn more_worlds_come_to_rest() {
    run(1).await;
}

#[tokio::test]
async fn still_more_worlds_come_to_rest() {
    run(2).await;
}

#[tokio::test]
async fn the_last_worlds_come_to_rest() {
    run(3).await;
}
