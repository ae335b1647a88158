//! A home whose hub has no version vectors: the original entity-core, with its formats and rules.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use hub::api::conflicts::{ConflictQuery, ConflictResolve, Resolution};
use hub::api::sync::{SyncPull, SyncPush};
use hub::ports::{HubStore as _, RemoteError, RemoteHub, RemotePage, RemotePushed, RemoteStatus};
use hub::{DocumentName, ExchangeCounts};
use jiff::Timestamp;
use memory::Scope;
use memory::ports::Clock as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::embodiment::{embodiment, erase, has_bytes};
use crate::home::{Home, identity_text};

const CATEGORIES: [&str; 4] = ["self", "user", "relationship", "custom"];
const KINDS: [&str; 6] = ["psycheros", "sby", "sillytavern", "openwebui", "claude-code", "other"];

/// Its files by folder and name, each with the time of its last write.
struct PlainHub {
    files: Mutex<BTreeMap<(String, String), (String, Timestamp)>>,
    now: Mutex<Timestamp>,
    pushes: Mutex<usize>,
}

impl PlainHub {
    fn new(now: Timestamp) -> Self {
        Self { files: Mutex::default(), now: Mutex::new(now), pushes: Mutex::new(0) }
    }

    fn write(&self, folder: &str, name: &str, content: &str) {
        let now = *self.now.lock().unwrap();
        self.files.lock().unwrap().insert((folder.to_owned(), name.to_owned()), (content.to_owned(), now));
    }

    fn content(&self, folder: &str, name: &str) -> Option<String> {
        let files = self.files.lock().unwrap();
        files.get(&(folder.to_owned(), name.to_owned())).map(|(content, _)| content.clone())
    }

    fn state(&self) -> Value {
        let files = self.files.lock().unwrap();
        let mut identity = json!({"self": [], "user": [], "relationship": [], "custom": []});
        let mut memories = Vec::new();
        for ((folder, name), (content, written_at)) in files.iter() {
            if CATEGORIES.contains(&folder.as_str()) {
                identity[folder.as_str()].as_array_mut().unwrap().push(json!({
                    "category": folder, "filename": name, "content": content, "version": 1,
                    "lastModified": written_at.to_string(), "modifiedBy": "unknown",
                    "promptLabel": name.trim_end_matches(".md"),
                }));
                continue;
            }
            let stem = name.trim_end_matches(".md");
            let (date, suffix) = stem.split_once('_').unwrap_or((stem, ""));
            let mut memory = json!({
                "id": format!("{folder}-{date}"), "granularity": folder, "date": date, "content": content,
                "chatIds": [], "sourceInstance": "", "version": 1,
                "createdAt": written_at.to_string(), "updatedAt": written_at.to_string(),
            });
            match folder.as_str() {
                "daily" => memory["sourceInstance"] = json!(suffix),
                "significant" => memory["slug"] = json!(suffix),
                _ => {}
            }
            memories.push(memory);
        }
        let pushes = *self.pushes.lock().unwrap();
        json!({
            "success": true, "identityFiles": identity, "memories": memories,
            "newSyncToken": {"serverVersion": 1 + pushes, "timestamp": "2026-07-15T12:00:00Z", "hash": "0a1b2c3d"},
        })
    }

    /// Accepts a push by its schema and rules, and drops fields that these do not name.
    fn take(&self, push: &Value) -> Result<Value, RemoteError> {
        let refused = |field: &str| RemoteError::Refused(format!("-32602 Input validation error: {field}"));
        let is_known = push["instance"]["type"].as_str().is_some_and(|kind| KINDS.contains(&kind));
        if !is_known || !push["instance"]["version"].is_number() {
            return Err(refused("instance"));
        }
        let none = Vec::new();
        let identity = push["identityChanges"].as_array().unwrap_or(&none);
        let memories = push["memoryChanges"].as_array().unwrap_or(&none);
        for change in identity {
            let texts = ["category", "filename", "content", "lastModified", "modifiedBy"];
            if texts.iter().any(|field| !change[*field].is_string()) || !change["version"].is_number() {
                return Err(refused("identityChanges"));
            }
        }
        for change in memories {
            let texts = ["granularity", "date", "content", "sourceInstance"];
            let is_whole = texts.iter().all(|field| change[*field].is_string());
            if !is_whole || !change["chatIds"].is_array() || !change["version"].is_number() {
                return Err(refused("memoryChanges"));
            }
        }
        let now = *self.now.lock().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut files = self.files.lock().unwrap();
        for change in identity {
            let place = (text(&change["category"]), text(&change["filename"]));
            let modified: Timestamp = text(&change["lastModified"]).parse().unwrap();
            let keeps = files.get(&place).filter(|(content, written_at)| {
                *content != text(&change["content"]) && modified < *written_at
            });
            let content = keeps.map_or_else(|| text(&change["content"]), |(content, _)| content.clone());
            files.insert(place, (content, now));
        }
        for change in memories {
            let granularity = text(&change["granularity"]);
            // A significant memory has no slug in this hub, and the next listing deletes it.
            assert_ne!(granularity, "significant", "it would be lost there");
            let (date, instance) = (text(&change["date"]), text(&change["sourceInstance"]));
            let name =
                if granularity == "daily" { format!("{date}_{instance}.md") } else { format!("{date}.md") };
            files.insert((granularity, name), (text(&change["content"]), now));
        }
        *self.pushes.lock().unwrap() += 1;
        Ok(json!({"success": true, "newSyncToken": {"serverVersion": 2, "timestamp": "x", "hash": "h"}}))
    }
}

fn read<Read: DeserializeOwned>(answer: impl Serialize) -> Read {
    serde_json::from_value(serde_json::to_value(answer).unwrap()).unwrap()
}

#[async_trait]
impl RemoteHub for PlainHub {
    async fn sync_status(&self, _: &Scope) -> Result<RemoteStatus, RemoteError> {
        Ok(read(json!({"serverVersion": 1, "connectedInstances": [], "extraction": {"llmAvailable": false}})))
    }

    async fn sync_pull(&self, _: &Scope, pull: &SyncPull) -> Result<RemotePage, RemoteError> {
        assert!(serde_json::to_value(pull).unwrap()["instanceId"].is_string());
        Ok(read(self.state()))
    }

    async fn sync_push(&self, _: &Scope, push: &SyncPush) -> Result<RemotePushed, RemoteError> {
        self.take(&serde_json::to_value(push).unwrap()).map(read)
    }
}

struct Pair {
    home: Home,
    hub: PlainHub,
}

impl Pair {
    async fn new() -> Self {
        let home = embodiment("laptop", 11).await;
        let hub = PlainHub::new(home.clock.now());
        Self { home, hub }
    }

    async fn pass(&self, minutes: u64) {
        self.home.clock.advance(std::time::Duration::from_secs(60 * minutes)).await;
        *self.hub.now.lock().unwrap() = self.home.clock.now();
    }

    async fn exchange(&self) -> ExchangeCounts {
        let done = self.home.hub.exchange(&self.hub, &self.home.caller.scope).await.unwrap();
        self.pass(5).await;
        done
    }

    async fn content(&self, kind: &str, stem: &str) -> Option<String> {
        let name = DocumentName::parse(kind, stem).unwrap();
        let document = self.home.store.document(&self.home.caller.scope, &name).await.unwrap()?;
        document.shown_version()?.content.clone()
    }

    async fn write(&self, category: &str, file: &str, content: &str) {
        self.home
            .hub
            .identity_write(&self.home.caller, identity_text(category, file, content))
            .await
            .unwrap();
        self.pass(1).await;
    }
}

#[tokio::test]
async fn one_exchange_copies_each_document_once_both_ways() {
    let pair = Pair::new().await;
    pair.hub.write("self", "my_identity.md", "Mira, patient and curious.");
    pair.hub.write("user", "user_life.md", "Lives in Lisbon.");
    pair.hub.write("daily", "2026-07-14_desk.md", "# Tuesday\n\n- They talked of rain. [via:desk]");
    pair.hub.write("significant", "2026-07-01_the-first-day.md", "The first day.");
    pair.write("custom", "recipes.md", "Lemon pancakes.").await;
    let done = pair.exchange().await;
    assert_eq!((done.refused, done.passed_over), (Vec::<String>::new(), Vec::<String>::new()));
    assert_eq!(pair.content("self", "my_identity").await.as_deref(), Some("Mira, patient and curious."));
    assert_eq!(pair.content("user", "user_life").await.as_deref(), Some("Lives in Lisbon."));
    assert!(pair.content("daily", "2026-07-14_desk").await.unwrap().contains("rain"));
    assert_eq!(
        pair.content("significant", "2026-07-01_the-first-day").await.as_deref(),
        Some("The first day.")
    );
    assert_eq!(pair.hub.content("custom", "recipes.md").as_deref(), Some("Lemon pancakes."));
    let pushes = *pair.hub.pushes.lock().unwrap();
    let again = pair.exchange().await;
    assert_eq!((again.received, again.sent), (0, 0));
    assert_eq!(*pair.hub.pushes.lock().unwrap(), pushes, "nothing goes twice");
    assert_eq!(pair.home.hub.waiting_for_exchange(&pair.home.caller.scope).await.unwrap(), 0);
    assert!(pair.home.hub.last_exchange(&pair.home.caller.scope).await.unwrap().is_some());
}

#[tokio::test]
async fn changes_of_one_side_arrive_at_the_other() {
    let pair = Pair::new().await;
    pair.hub.write("custom", "recipes.md", "Pancakes.");
    pair.exchange().await;
    pair.hub.write("custom", "recipes.md", "Lemon pancakes.");
    pair.exchange().await;
    assert_eq!(pair.content("custom", "recipes").await.as_deref(), Some("Lemon pancakes."));
    pair.write("custom", "recipes.md", "Lemon pancakes, and soup.").await;
    let done = pair.exchange().await;
    assert_eq!(done.sent, 1);
    assert_eq!(pair.hub.content("custom", "recipes.md").as_deref(), Some("Lemon pancakes, and soup."));
    assert_eq!(pair.content("custom", "recipes").await.as_deref(), Some("Lemon pancakes, and soup."));
}

#[tokio::test]
async fn of_two_changes_neither_is_lost_here_and_the_decision_goes_to_the_hub() {
    let pair = Pair::new().await;
    pair.hub.write("custom", "notes.md", "Begun.");
    pair.exchange().await;
    pair.write("custom", "notes.md", "Gone on with at the laptop.").await;
    pair.hub.write("custom", "notes.md", "Gone on with at the desk.");
    pair.exchange().await;
    let scope = &pair.home.caller.scope;
    let name = DocumentName::parse("custom", "notes").unwrap();
    let document = pair.home.store.document(scope, &name).await.unwrap().unwrap();
    let mut texts: Vec<&str> = document.heads.iter().filter_map(|head| head.content.as_deref()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["Gone on with at the desk.", "Gone on with at the laptop."]);
    assert_eq!(pair.hub.content("custom", "notes.md").as_deref(), Some("Gone on with at the desk."));
    pair.exchange().await;
    let open = pair.home.hub.conflict_list(&pair.home.caller, ConflictQuery::default()).await.unwrap();
    let [conflict] = open.conflicts.as_slice() else { panic!("{open:?}") };
    let decision = ConflictResolve {
        conflict_id: conflict.id.clone(),
        resolution: Resolution::Merge,
        content: Some("Gone on with at both.".to_owned()),
    };
    pair.home.hub.conflict_resolve(&pair.home.caller, decision).await.unwrap();
    pair.exchange().await;
    assert_eq!(pair.hub.content("custom", "notes.md").as_deref(), Some("Gone on with at both."));
    assert_eq!(pair.content("custom", "notes").await.as_deref(), Some("Gone on with at both."));
}

/// This hub's clock is ahead, so it prefers its own text; the home keeps its text too.
#[tokio::test]
async fn a_text_that_the_hub_does_not_take_stays_here() {
    let pair = Pair::new().await;
    pair.hub.write("custom", "notes.md", "Begun.");
    pair.exchange().await;
    let ahead = pair.home.clock.now() + jiff::SignedDuration::from_hours(12);
    *pair.hub.now.lock().unwrap() = ahead;
    pair.hub.write("custom", "notes.md", "Begun.");
    pair.write("custom", "notes.md", "Gone on with here.").await;
    for _ in 0..3 {
        *pair.hub.now.lock().unwrap() = ahead;
        pair.home.hub.exchange(&pair.hub, &pair.home.caller.scope).await.unwrap();
    }
    assert_eq!(pair.hub.content("custom", "notes.md").as_deref(), Some("Begun."));
    assert_eq!(pair.content("custom", "notes").await.as_deref(), Some("Gone on with here."));
}

#[tokio::test]
async fn erased_words_do_not_come_back_and_a_deletion_says_what_is_left() {
    let pair = Pair::new().await;
    pair.hub.write("daily", "2026-07-14_desk.md", "# Tuesday\n\n- The zebrafinch sang.\n- It rained.");
    pair.hub.write("custom", "old.md", "An old note.");
    pair.exchange().await;
    erase(&pair.home, "zebrafinch").await;
    let old = DocumentName::parse("custom", "old").unwrap();
    pair.home.hub.document_delete(&pair.home.caller, &old).await.unwrap();
    let done = pair.exchange().await;
    assert!(!has_bytes(&pair.home, "zebrafinch").await);
    assert!(pair.content("daily", "2026-07-14_desk").await.unwrap().contains("It rained."));
    assert_eq!(pair.content("custom", "old").await, None);
    let [refused] = done.refused.as_slice() else { panic!("{:?}", done.refused) };
    assert!(refused.contains("old") && refused.contains("delete it there"), "{refused}");
    pair.exchange().await;
    assert!(!has_bytes(&pair.home, "zebrafinch").await);
}
