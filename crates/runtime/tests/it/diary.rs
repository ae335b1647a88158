//! Entries that sessions add to the persona's diary, once each, and what an erasure removes from it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use hub::api::identity::IdentityText;
use hub::api::memories::MemoryCreate;
use hub::{Caller, Hub, HubParts, HubSettings};
use jiff::tz::TimeZone;
use memory::forget::{ForgetMode, Selection};
use runtime::RuntimeCore;
use serde_json::json;
use store::{HomeStore, StoreOptions};
use testkit::{Reply, SequentialIds};

use crate::world::{HOUR, WEB, World, scope, section, settings};

const CAT: &str = "我养了只白猫,叫小黑";

pub(crate) async fn hub_of(world: &World) -> Hub {
    open_hub(world, None).await
}

/// The hub's memory over a connection of its own, as part of the runtime with this core if there is one.
pub(crate) async fn open_hub(world: &World, core: Option<&Arc<RuntimeCore>>) -> Hub {
    let store = Arc::new(HomeStore::open(&world.path, StoreOptions::default()).unwrap());
    let hub = Hub::new(HubParts {
        store: store.clone(),
        personas: store.clone(),
        corrections: store.clone(),
        users: store,
        embedder: None,
        summariser: core.map(RuntimeCore::summariser),
        links: None,
        listener: core.map(RuntimeCore::hub_listener),
        clock: Arc::new(world.clock.clone()),
        ids: Arc::new(SequentialIds::new(9)),
        settings: HubSettings {
            instance: "laptop".parse().unwrap(),
            default_scope: scope("ann"),
            zone: TimeZone::UTC,
            snapshot_retention: Duration::from_secs(86_400),
            priority: Vec::new(),
            users_read_custom: false,
            mirror: world.path.parent().map(ToOwned::to_owned),
        },
    });
    hub.start().await.unwrap();
    hub
}

/// The texts of all diary files.
pub(crate) fn diary(world: &World) -> String {
    let folder = world.path.parent().unwrap().join("memories/daily");
    let Ok(entries) = fs::read_dir(folder) else { return String::new() };
    // A file is written under another name and then renamed.
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[tokio::test]
async fn every_event_has_its_line_once() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.silence().await;
    let hub = hub_of(&world).await;
    let events = world.nodes(memory::nodes::NodeKind::Event).await;
    assert_eq!(hub.write_diary().await.unwrap(), events.len());
    let session = world.sessions().await[0].id;
    let line = format!("- {} [chat:{session}] [via:laptop]", events[0].description);
    assert_eq!(diary(&world).matches(&line).count(), 1, "{}", diary(&world));
    assert_eq!(hub.write_diary().await.unwrap(), 0);
    // Another process, after a crash.
    let again = hub_of(&world).await;
    assert_eq!(again.write_diary().await.unwrap(), 0);
    assert_eq!(diary(&world).matches(&line).count(), 1);
}

#[tokio::test]
async fn a_broad_question_brings_the_period_that_it_asks_about() {
    let mut world = World::new().await;
    let hub = world.add_hub().await;
    world.talk(WEB, "hello").await;
    let caller = Caller {
        scope: scope("ann"),
        instance: "laptop".parse().unwrap(),
        is_person: false,
        is_bound: false,
        is_of_one_user: false,
    };
    for (date, text) in
        [("2025-04", "- 我们种了一棵樱桃树。"), ("2025-07", "- We rowed across the lake. [via:laptop]")]
    {
        let input = MemoryCreate {
            granularity: hub::Granularity::Monthly,
            date: date.parse().unwrap(),
            content: text.to_owned(),
            chat_ids: Vec::new(),
            instance_id: "laptop".parse().unwrap(),
            participating_instances: Vec::new(),
            slug: None,
        };
        assert!(hub.memory_create(&caller, input).await.unwrap().success);
    }
    let input = IdentityText {
        category: hub::Category::Relationship,
        filename: "house_rules.md".parse().unwrap(),
        content: "We don't talk about the accident.".to_owned(),
        instance_id: "laptop".parse().unwrap(),
    };
    hub.identity_write(&caller, input).await.unwrap();
    for (asked, month, told) in [
        ("How was last summer?", "2025-07", "- We rowed across the lake."),
        ("去年夏天过得怎么样?", "2025-07", "- We rowed across the lake."),
        ("how was last spring?", "2025-04", "- 我们种了一棵樱桃树。"),
        ("去年春天我们都做了什么?", "2025-04", "- 我们种了一棵樱桃树。"),
    ] {
        world.talk(WEB, asked).await;
        let prompt = world.last_prompt();
        let part = section(&prompt, &format!("How you remember {month}"));
        assert_eq!(part.trim(), format!("| {told}"), "{asked}: {prompt}");
        assert_eq!(prompt.matches("# How you remember").count(), 1, "{asked}");
        assert!(!prompt.contains("What you don't remember"), "{asked}");
        let noted = "- house_rules:\n  | We don't talk about the accident.\n";
        assert!(section(&prompt, "What else is written down").contains(noted), "{prompt}");
    }
    world.talk(WEB, "How are you?").await;
    assert!(!world.last_prompt().contains("# How you remember"));
}

#[tokio::test]
async fn weeks_wait_to_be_told_at_the_cap_of_the_day() {
    let mut settings = settings();
    settings.daily_spend_cap = Some(1.5);
    let mut world = World::with(settings, None).await;
    world.model.answer_task("rollup", |_| Reply::json(json!({"bullets": ["We rowed."]})));
    let hub = open_hub(&world, Some(&world.core)).await;
    let caller = Caller {
        scope: scope("ann"),
        instance: "laptop".parse().unwrap(),
        is_person: false,
        is_bound: false,
        is_of_one_user: false,
    };
    let input = MemoryCreate {
        granularity: hub::Granularity::Daily,
        date: "2026-02-04".parse().unwrap(),
        content: "- We rowed across the lake.".to_owned(),
        chat_ids: Vec::new(),
        instance_id: "laptop".parse().unwrap(),
        participating_instances: Vec::new(),
        slug: None,
    };
    assert!(hub.memory_create(&caller, input).await.unwrap().success);
    world.spend(1.5).await;
    assert_eq!(hub.roll_up().await.unwrap(), (0, 1));
    assert_eq!(world.model.requests_for("rollup").len(), 0);
    assert!(world.take_event_names().await.contains(&"work.failed"));
    world.clock.advance(16 * HOUR).await;
    let (written, failed) = hub.roll_up().await.unwrap();
    assert!(written > 0 && failed == 0, "a new day, a new purse: {written}, {failed}");
}

#[tokio::test]
async fn forgotten_text_leaves_every_version_and_file() {
    let mut world = World::new().await;
    world.talk(WEB, CAT).await;
    world.silence().await;
    let hub = hub_of(&world).await;
    hub.write_diary().await.unwrap();
    assert!(diary(&world).contains("小黑"));
    let messages = world.messages().await;
    let naming = messages.iter().filter(|message| message.content.contains("小黑"));
    let selection =
        Selection { messages: naming.map(|message| message.id).collect(), ..Selection::default() };
    let taken = world.runtime.changes().delete(scope("ann"), selection, ForgetMode::Cascade).await.unwrap();
    assert_eq!(taken.counts.documents, 1);
    hub.follow_forgetting(&scope("ann")).await.unwrap();
    assert!(!diary(&world).contains("小黑"), "{}", diary(&world));
    let listed = hub.document_list(&scope("ann")).await.unwrap();
    let daily = listed.iter().find(|document| document.kind == "daily").unwrap();
    let name = hub::DocumentName::parse("daily", daily.filename.trim_end_matches(".md")).unwrap();
    for version in hub.document_history(&scope("ann"), &name).await.unwrap() {
        assert!(!version.content.unwrap().contains("小黑"));
    }
    assert_eq!(hub.write_diary().await.unwrap(), 0);
}
