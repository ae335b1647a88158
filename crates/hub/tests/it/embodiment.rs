//! A home that is an embodiment of another one.

use std::sync::Arc;

use hub::api::conflicts::{ConflictQuery, ConflictResolve, Resolution};
use hub::api::documents::DocumentEdit;
use hub::ports::{HubStore as _, RemoteError};
use hub::{DocumentName, ExchangeCounts, ExchangeError};
use memory::forget::{ForgetRequest, Selection};
use memory::ports::{ForgetStore as _, PersonaStore as _};
use tempfile::TempDir;

use crate::home::{Home, identity_text};
use crate::link::Link;

pub(crate) async fn embodiment(name: &str, seed: u64) -> Home {
    let home = Home::with(name, Arc::new(TempDir::new().unwrap()), "home.db", true, seed).await;
    home.hub.follow_hub(Some("https://home.example".to_owned()), name.parse().unwrap()).await.unwrap();
    home
}

pub(crate) async fn pair() -> (Home, Home) {
    (
        Home::for_instance("home", Arc::new(TempDir::new().unwrap()), "home.db").await,
        embodiment("laptop", 11).await,
    )
}

pub(crate) async fn exchange(from: &Home, hub: &Home) -> ExchangeCounts {
    let link = Link::new(&hub.hub, from.caller.instance.as_str());
    from.hub.exchange(&link, &from.caller.scope).await.unwrap()
}

pub(crate) async fn erase(home: &Home, text: &str) {
    let selection = Selection { text: Some(memory::text::fold(text)), ..Selection::default() };
    let act = ForgetRequest {
        scope: home.caller.scope.clone(),
        selection,
        thoughts: memory::forget::ForgetMode::Orphan,
        at: "2026-07-15T12:30:00Z".parse().unwrap(),
    };
    home.store.forget(act, None, None).await.unwrap();
    home.hub.follow_forgetting(&home.caller.scope).await.unwrap();
}

/// Whether any file of the home contains the word, after freed pages are overwritten.
pub(crate) async fn has_bytes(home: &Home, word: &str) -> bool {
    home.store.overwrite_freed("2026-07-15T13:00:00Z".parse().unwrap()).await.unwrap();
    !testkit::files_containing(home.folder.path(), word).unwrap().is_empty()
}

pub(crate) async fn daily(home: &Home, instance: &str) -> Option<String> {
    let name = DocumentName::parse("daily", &format!("2026-07-14_{instance}")).unwrap();
    let document = home.store.document(&home.caller.scope, &name).await.unwrap();
    document.and_then(|document| document.content().map(str::to_owned))
}

#[tokio::test]
async fn documents_of_one_instance_reach_all_others() {
    let (hub, laptop) = pair().await;
    let phone = embodiment("phone", 12).await;
    hub.create("significant", "2026-07-01/move", "We moved to Lyon.").await;
    laptop.create_as("laptop", "daily", "2026-07-14", "- We fixed the bike [chat:1] [via:laptop]").await;
    phone.create_as("phone", "daily", "2026-07-14", "- A walk by the river [chat:2] [via:phone]").await;
    let first = exchange(&laptop, &hub).await;
    assert_eq!((first.sent, first.refused.len(), first.passed_over.len()), (1, 0, 0));
    exchange(&phone, &hub).await;
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop, &phone] {
        assert!(daily(home, "laptop").await.unwrap().contains("fixed the bike"));
        assert!(daily(home, "phone").await.unwrap().contains("by the river"));
        assert_eq!(home.text("significant", "2026-07-01/move").await.unwrap().trim(), "We moved to Lyon.");
    }
    let again = exchange(&laptop, &hub).await;
    assert_eq!(again, ExchangeCounts::default());
    assert_eq!(laptop.hub.waiting_for_exchange(&laptop.caller.scope).await.unwrap(), 0);
}

#[tokio::test]
async fn nothing_is_sent_that_the_hub_has() {
    let (hub, laptop) = pair().await;
    laptop.create("significant", "2026-07-01/a", "one").await;
    let link = Link::new(&hub.hub, "laptop");
    laptop.hub.exchange(&link, &laptop.caller.scope).await.unwrap();
    assert_eq!(link.pushes.lock().unwrap().len(), 1);
    laptop.hub.exchange(&link, &laptop.caller.scope).await.unwrap();
    assert_eq!(link.pushes.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn other_sections_are_merged_and_the_same_one_waits_for_a_person() {
    let (hub, laptop) = pair().await;
    let scope = &hub.caller.scope;
    let text = |content: &str| identity_text("relationship", "bond.md", content);
    hub.hub.identity_write(&hub.caller, text("## Trust\n\nold\n\n## Jokes\n\nold\n")).await.unwrap();
    exchange(&laptop, &hub).await;
    hub.hub.identity_write(&hub.caller, text("## Trust\n\nmore\n\n## Jokes\n\nold\n")).await.unwrap();
    let edit = text("## Trust\n\nold\n\n## Jokes\n\nnew\n");
    laptop.hub.identity_write(&laptop.caller, edit).await.unwrap();
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        assert_eq!(home.identity("bond.md").await.unwrap(), "## Trust\n\nmore\n\n## Jokes\n\nnew\n");
    }
    // Both homes change the same section: both texts are kept at both homes until a person decides at one of them.
    hub.hub.identity_write(&hub.caller, text("## Trust\n\nhere\n\n## Jokes\n\nnew\n")).await.unwrap();
    let edit = text("## Trust\n\nthere\n\n## Jokes\n\nnew\n");
    laptop.hub.identity_write(&laptop.caller, edit).await.unwrap();
    exchange(&laptop, &hub).await;
    assert_eq!(hub.identity("bond.md").await, laptop.identity("bond.md").await);
    for home in [&hub, &laptop] {
        assert_eq!(home.store.conflicts(scope, true).await.unwrap().len(), 1);
    }
    let open = laptop.hub.conflict_list(&laptop.caller, ConflictQuery::default()).await.unwrap();
    let decision = ConflictResolve {
        conflict_id: open.conflicts[0].id.clone(),
        resolution: Resolution::Merge,
        content: Some("## Trust\n\nboth\n".to_owned()),
    };
    laptop.hub.conflict_resolve(&laptop.caller, decision).await.unwrap();
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        assert_eq!(home.identity("bond.md").await.unwrap(), "## Trust\n\nboth\n");
        assert_eq!(home.store.conflicts(scope, true).await.unwrap().len(), 0);
    }
}

/// An embodiment that only receives also has a kind that identifies it.
#[tokio::test]
async fn hub_knows_an_embodiment_that_has_nothing_to_send() {
    let (hub, laptop) = pair().await;
    for _ in 0..2 {
        assert_eq!(exchange(&laptop, &hub).await.sent, 0);
        let known = hub.hub.following_instances(&hub.caller.scope).await.unwrap();
        let kinds: Vec<(&str, &str)> = known.iter().map(|one| (one.id.as_str(), one.kind.as_str())).collect();
        assert_eq!(kinds, [("laptop", "echovessel")]);
    }
}

/// An open conflict reaches an embodiment with both texts, each with its own version vector: sending back the shown
/// text does not replace the other.
#[tokio::test]
async fn every_version_is_pulled_as_it_is() {
    let (hub, laptop) = pair().await;
    for (instance, content) in [("a", "from a"), ("b", "from b")] {
        let vector = format!("{instance}:1");
        let at = "2026-07-02T00:00:00Z";
        hub.push(instance, vec![crate::home::change("note", Some(content), at, &vector)]).await;
    }
    exchange(&laptop, &hub).await;
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        let open = home.store.conflicts(&home.caller.scope, true).await.unwrap();
        assert_eq!(open.len(), 1);
        let mut texts = [open[0].kept.content.clone().unwrap(), open[0].shown.content.clone().unwrap()];
        texts.sort();
        assert_eq!(texts, ["from a", "from b"]);
    }
}

#[tokio::test]
async fn deletions_go_both_ways() {
    let (hub, laptop) = pair().await;
    hub.create("significant", "2026-07-01/one", "1").await;
    laptop.create("significant", "2026-07-01/two", "2").await;
    exchange(&laptop, &hub).await;
    let name = |slug: &str| DocumentName::parse("significant", &format!("2026-07-01_{slug}")).unwrap();
    hub.hub.document_delete(&hub.person(), &name("one")).await.unwrap();
    laptop.hub.document_delete(&laptop.person(), &name("two")).await.unwrap();
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        assert_eq!(home.text("significant", "2026-07-01/one").await, None);
        assert_eq!(home.text("significant", "2026-07-01/two").await, None);
    }
}

#[tokio::test]
async fn core_blocks_belong_to_the_hub() {
    let (hub, laptop) = pair().await;
    let own = DocumentName::parse("self", "persona").unwrap();
    let edit =
        |content: &str| DocumentEdit { content: content.to_owned(), version: None, prompt_label: None };
    let refused = laptop.hub.document_write(&laptop.person(), &own, "admin", &edit("I am mine")).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("edited on the hub, https://home.example"), "{message}");
    // A text that was written here before there was a hub stays as a version.
    let at = "2026-07-15T11:00:00Z".parse().unwrap();
    let (scope, label) = (&laptop.caller.scope, memory::core_blocks::CoreBlockLabel::Persona);
    laptop.store.write_core_block(scope, label, "I was alone.", "admin", at).await.unwrap();
    hub.hub.document_write(&hub.person(), &own, "admin", &edit("I am Luna.")).await.unwrap();
    let done = exchange(&laptop, &hub).await;
    assert_eq!((done.received, done.sent), (1, 0));
    let blocks = laptop.store.core_blocks(scope).await.unwrap();
    assert_eq!(blocks.persona, "I am Luna.");
    assert_eq!(hub.identity("persona.md").await.unwrap(), "I am Luna.");
    let history = laptop.hub.document_history(scope, &own).await.unwrap();
    assert!(history.iter().any(|version| version.content.as_deref() == Some("I was alone.")));
    // A manual edit of the file is not accepted, and the file shows the hub's text again.
    let file = laptop.file("identity/self/persona.md");
    let text = std::fs::read_to_string(&file).unwrap().replace("Luna", "Nobody");
    std::fs::write(&file, text).unwrap();
    laptop.hub.reconcile().await.unwrap();
    assert_eq!(laptop.store.core_blocks(scope).await.unwrap().persona, "I am Luna.");
}

#[tokio::test]
async fn roll_ups_are_written_by_the_hub_alone() {
    let (hub, laptop) = pair().await;
    for day in ["2026-07-06", "2026-07-07"] {
        laptop.create_as("laptop", "daily", day, &format!("- Rain on {day} [chat:1] [via:laptop]")).await;
    }
    assert_eq!(laptop.hub.roll_up().await.unwrap(), (0, 0));
    exchange(&laptop, &hub).await;
    assert_eq!(hub.hub.roll_up().await.unwrap(), (1, 0));
    exchange(&laptop, &hub).await;
    let week = laptop.text("weekly", "2026-W28").await.unwrap();
    assert!(week.contains("Rain on 2026-07-06"), "{week}");
    assert!(laptop.scribe.asked.lock().unwrap().is_empty());
    // Words that are erased here are removed from the hub's summary, which is written again without them.
    erase(&laptop, "Rain on 2026-07-06").await;
    exchange(&laptop, &hub).await;
    hub.hub.roll_up().await.unwrap();
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        let week = home.text("weekly", "2026-W28").await.unwrap();
        assert!(week.contains("2026-07-07") && !week.contains("2026-07-06"), "{week}");
        assert!(!has_bytes(home, "Rain on 2026-07-06").await);
        assert!(home.store.conflicts(&home.caller.scope, true).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn erasures_at_the_hub_reach_every_home() {
    let (hub, laptop) = pair().await;
    hub.create("significant", "2026-07-01/code", "The door code is 4711.\nThe garden is open.").await;
    hub.create_as(
        "home",
        "daily",
        "2026-07-14",
        "- The code is 4711 [chat:1] [via:home]\n- Tea [chat:1] [via:home]",
    )
    .await;
    exchange(&laptop, &hub).await;
    assert!(has_bytes(&laptop, "4711").await);
    erase(&hub, "4711").await;
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        assert!(!has_bytes(home, "4711").await);
        assert!(daily(home, "home").await.unwrap().contains("Tea"));
        assert_eq!(home.text("significant", "2026-07-01/code").await, None);
    }
    // The document's name is erased too.
    hub.create("significant", "2026-07-01/secretword", "plain").await;
    exchange(&laptop, &hub).await;
    erase(&hub, "secretword").await;
    exchange(&laptop, &hub).await;
    assert!(!has_bytes(&hub, "secretword").await && !has_bytes(&laptop, "secretword").await);
}

#[tokio::test]
async fn erasures_at_an_embodiment_reach_the_hub_and_other_embodiments() {
    let (hub, laptop) = pair().await;
    let phone = embodiment("phone", 12).await;
    let day = "- My bank is Ravenna [chat:1] [via:laptop]\n- Soup [chat:1] [via:laptop]";
    laptop.create_as("laptop", "daily", "2026-07-14", day).await;
    laptop.create("significant", "2026-07-02/ravenna", "x").await;
    let others = identity_text("user", "notes.md", "Ravenna is a town.\n");
    hub.hub.identity_write(&hub.caller, others).await.unwrap();
    exchange(&laptop, &hub).await;
    exchange(&phone, &hub).await;
    assert!(has_bytes(&phone, "Ravenna").await && has_bytes(&phone, "ravenna").await);
    erase(&laptop, "ravenna").await;
    let done = exchange(&laptop, &hub).await;
    // Another instance wrote this one: it is deleted here, and its text stays at the hub as an earlier version until
    // it is erased there.
    assert_eq!(done.refused.len(), 1, "{:?}", done.refused);
    assert!(done.refused[0].contains("written by others"), "{:?}", done.refused);
    assert!(!has_bytes(&laptop, "Ravenna").await);
    erase(&hub, "ravenna").await;
    exchange(&phone, &hub).await;
    for home in [&hub, &laptop, &phone] {
        assert!(!has_bytes(home, "Ravenna").await && !has_bytes(home, "ravenna").await);
        assert!(daily(home, "laptop").await.unwrap().contains("Soup"));
    }
}

#[tokio::test]
async fn receipts_say_when_the_hub_was_reached() {
    let (hub, laptop) = pair().await;
    laptop.create_as("laptop", "daily", "2026-07-14", "- Blue [chat:1] [via:laptop]").await;
    exchange(&laptop, &hub).await;
    erase_with_receipt(&laptop, "blue").await;
    let reached = |home: &Home| {
        let (store, scope) = (home.store.clone(), home.caller.scope.clone());
        async move {
            let receipts = store.erasure_receipts(&scope, None, 10).await.unwrap();
            let reach: Vec<(String, bool)> = receipts[0]
                .instances
                .iter()
                .map(|instance| (instance.id.clone(), instance.reached_at.is_some()))
                .collect();
            reach
        }
    };
    assert_eq!(reached(&laptop).await, [("home".to_owned(), false)]);
    exchange(&laptop, &hub).await;
    assert_eq!(reached(&laptop).await, [("home".to_owned(), true)]);
    hub.create_as("home", "daily", "2026-07-14", "- Red [chat:1] [via:home]").await;
    exchange(&laptop, &hub).await;
    erase_with_receipt(&hub, "red").await;
    assert_eq!(reached(&hub).await, [("laptop".to_owned(), false)]);
    // The exchange that removes the words also reports it.
    exchange(&laptop, &hub).await;
    assert_eq!(reached(&hub).await, [("laptop".to_owned(), true)]);
}

async fn erase_with_receipt(home: &Home, text: &str) {
    let at = "2026-07-15T12:30:00Z".parse().unwrap();
    let scope = home.caller.scope.clone();
    let act = ForgetRequest {
        scope: scope.clone(),
        selection: Selection { text: Some(text.to_owned()), ..Selection::default() },
        thoughts: memory::forget::ForgetMode::Orphan,
        at,
    };
    let receipt = memory::forget::ErasureReceipt {
        id: memory::identifiers::ErasureId(uuid::Uuid::from_u128(1)),
        scope,
        created_at: at,
        selected_by: Vec::new(),
        copies: Vec::new(),
        server: None,
        taken: Default::default(),
        overwritten_at: None,
        instances: Vec::new(),
    };
    home.store.forget(act, None, Some(receipt)).await.unwrap();
}

#[tokio::test]
async fn a_clock_a_year_ahead_decides_nothing_for_good() {
    let (hub, laptop) = pair().await;
    let text = |content: &str| identity_text("user", "town.md", content);
    hub.hub.identity_write(&hub.caller, text("Lyon\n")).await.unwrap();
    exchange(&laptop, &hub).await;
    laptop.clock.set("2027-07-15T12:00:00Z".parse().unwrap());
    laptop.hub.identity_write(&laptop.caller, text("Porto\n")).await.unwrap();
    exchange(&laptop, &hub).await;
    assert_eq!(hub.identity("town.md").await.unwrap(), "Porto\n");
    hub.hub.identity_write(&hub.caller, text("Rome\n")).await.unwrap();
    exchange(&laptop, &hub).await;
    for home in [&hub, &laptop] {
        assert_eq!(home.identity("town.md").await.unwrap(), "Rome\n");
    }
}

#[tokio::test]
async fn a_hub_that_does_not_fit_is_refused_with_what_to_do() {
    let (hub, laptop) = pair().await;
    let other = Link::new(&hub.hub, "phone");
    let refused = |error: Result<ExchangeCounts, ExchangeError>| match error.unwrap_err() {
        ExchangeError::Remote(RemoteError::Refused(text)) => text,
        other => panic!("{other:?}"),
    };
    let text = refused(laptop.hub.exchange(&other, &laptop.caller.scope).await);
    assert!(text.contains("bound to the instance `phone`, but this home is `laptop`"), "{text}");
    let same = Home::for_instance("laptop", Arc::new(TempDir::new().unwrap()), "home.db").await;
    let text = refused(laptop.hub.exchange(&Link::new(&same.hub, "laptop"), &laptop.caller.scope).await);
    assert!(text.contains("also named `laptop`"), "{text}");
}
