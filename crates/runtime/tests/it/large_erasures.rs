//! Erasures of more messages than fit into one transaction: in groups, with one receipt, while users continue to
//! write.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use jiff::SignedDuration;
use memory::forget::{EraseError, ErasureReceipt, ErasureRequest, ForgetMode, Selection};
use memory::identifiers::{MessageId, SessionId};
use memory::messages::Role;
use memory::ports::{CaptureStore, ForgetStore, NewMessage, StoreError};
use memory::sessions::SessionPolicy;
use memory::text::index_terms;
use store::Fault;
use uuid::Uuid;

use crate::world::{MINUTE, WEB, World, scope, soon, start};

/// Two whole groups and part of a third.
const MANY: u128 = 1_100;
const HOUSE: &str = "we still live in the old house";

fn request(selection: Selection) -> ErasureRequest {
    ErasureRequest {
        scope: scope("ann"),
        selection,
        thoughts: ForgetMode::Cascade,
        selected_by: vec!["message_ids".to_owned()],
        confirm: None,
    }
}

/// Messages of the past months; every second one mentions the zebra.
async fn lived(world: &World) -> BTreeSet<MessageId> {
    let lines = (1..=MANY).map(|number| {
        let content = if number % 2 == 0 { "the zebra was there again" } else { "nothing new" };
        let content = format!("{content} on day {number}");
        let minutes = i64::try_from(number).unwrap();
        NewMessage {
            id: MessageId(Uuid::from_u128(number)),
            session_id_if_new: SessionId(Uuid::from_u128(number << 64)),
            scope: scope("ann"),
            channel_id: WEB.to_owned(),
            turn_id: None,
            role: Role::User,
            speaker: None,
            token_count: 7,
            terms: index_terms(&content),
            content,
            day: jiff::civil::date(2025, 10, 4),
            created_at: start() - SignedDuration::from_hours(24 * 90) + SignedDuration::from_mins(minutes),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        }
    });
    world.runtime.ensure_scope_exists(&scope("ann")).await.unwrap();
    let policy = SessionPolicy::default();
    let captured = join_all(lines.map(|line| world.store.capture(line, policy, None))).await;
    captured.into_iter().map(|captured| captured.unwrap().message.id).collect()
}

async fn receipts(world: &World) -> Vec<ErasureReceipt> {
    world.store.erasure_receipts(&scope("ann"), None, 9).await.unwrap()
}

#[tokio::test]
async fn one_receipt_covers_all_groups_of_an_erasure() {
    let mut world = World::new().await;
    let said = lived(&world).await;
    world.talk(WEB, HOUSE).await;
    let sessions: BTreeSet<SessionId> = world
        .sessions()
        .await
        .into_iter()
        .filter(|session| session.last_message_at < start())
        .map(|session| session.id)
        .collect();
    assert!(sessions.len() > 2, "{}", sessions.len());
    for (selection, count) in [
        (Selection { messages: said.iter().take(600).copied().collect(), ..Selection::default() }, 600),
        (Selection { sessions, ..Selection::default() }, said.len() - 600),
    ] {
        let receipt = world.runtime.changes().erase(request(selection)).await.unwrap();
        assert_eq!(receipt.taken.messages.len(), count);
        let stored = receipts(&world).await;
        assert_eq!(stored[0], receipt);
        assert!(receipt.overwritten_at.is_some(), "{receipt:?}");
    }
    assert_eq!(receipts(&world).await.len(), 2);
    assert_eq!(world.messages().await.first().map(|message| message.content.clone()).as_deref(), Some(HOUSE));
    let again =
        world.runtime.changes().erase(request(Selection { messages: said, ..Selection::default() })).await;
    assert!(matches!(again, Err(EraseError::Nothing(_))), "{again:?}");
}

#[tokio::test]
async fn large_erasure_by_text_takes_what_was_shown_and_nothing_if_that_has_changed() {
    let mut world = World::new().await;
    let said = lived(&world).await;
    // More than one group of messages mentions it.
    let named: BTreeSet<MessageId> = said.iter().copied().filter(|id| id.0.as_u128() % 2 == 0).collect();
    assert!(named.len() > 500);
    let zebra = Selection { text: Some("zebra".to_owned()), ..Selection::default() };
    let shown = world.runtime.changes().erase_dry_run(request(zebra.clone())).await.unwrap();
    assert_eq!(shown.taken.messages, named);
    world.talk(WEB, "another zebra").await;
    let confirmed = |id| ErasureRequest { confirm: Some(id), ..request(zebra.clone()) };
    let changed = world.runtime.changes().erase(confirmed(shown.id)).await;
    assert!(matches!(changed, Err(EraseError::Changed)), "{changed:?}");
    assert_eq!(receipts(&world).await, []);

    world.settle().await;
    let shown = world.runtime.changes().erase_dry_run(request(zebra.clone())).await.unwrap();
    let receipt = world.runtime.changes().erase(confirmed(shown.id)).await.unwrap();
    assert!(receipt.taken.agrees_with(&shown.taken), "{receipt:?}");
    let left = world.messages().await;
    assert!(left.len() >= said.len() - named.len());
    assert!(left.iter().all(|message| !message.content.contains("zebra")));
}

#[tokio::test]
async fn receipt_of_an_erasure_that_a_death_cut_off_says_what_is_gone_and_the_same_request_erases_the_rest() {
    for (fault, gone) in [(Fault::DeathBefore, 500), (Fault::DeathAfter, 1_000)] {
        let mut world = World::new().await;
        let said = lived(&world).await;
        world.store.faults().plan("forget", Fault::Works);
        world.store.faults().plan("forget", fault);
        let runtime = world.runtime.clone();
        let wanted = request(Selection { messages: said.clone(), ..Selection::default() });
        let asked = wanted.clone();
        let erasing = tokio::spawn(async move { runtime.changes().erase(asked).await });
        soon("the death", world.store.faults().death()).await;
        erasing.abort();
        world.restart_after(MINUTE).await;
        let stored = receipts(&world).await;
        assert_eq!((stored.len(), stored[0].taken.messages.len()), (1, gone));
        assert_eq!(world.messages().await.len(), said.len() - gone);
        let rest = world.runtime.changes().erase(wanted).await.unwrap();
        assert_eq!(rest.taken.messages.len(), said.len() - gone);
        assert_eq!(world.messages().await, []);
        assert!(world.store.check().await.unwrap().is_intact());
    }
}

#[tokio::test]
async fn a_failure_between_two_groups_is_reported_with_the_receipt() {
    let world = World::new().await;
    let said = lived(&world).await;
    world.store.faults().plan("forget", Fault::Works);
    world.store.faults().plan("forget", Fault::Error(StoreError::Failed("the disk is gone".to_owned())));
    let failed =
        world.runtime.changes().erase(request(Selection { messages: said, ..Selection::default() })).await;
    let stored = receipts(&world).await;
    match failed {
        Err(EraseError::Interrupted { receipt, .. }) => assert_eq!(receipt, stored[0].id),
        other => panic!("{other:?}"),
    }
    assert_eq!(stored[0].taken.messages.len(), 500);
}
