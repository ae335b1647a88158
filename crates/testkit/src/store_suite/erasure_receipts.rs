//! Laws of receipts: only what was shown is erased, and groups of one erasure share a receipt.

use memory::forget::{ErasureReceipt, ForgetMode, ForgetOutcome, ForgetSummary};
use memory::identifiers::ErasureId;
use memory::ports::Store;

use super::Outcome;
use super::forgetting::{act, select_text};
use super::stage::{Stage, at};

/// A confirmed erasure that would erase something other than its preview showed does nothing. The receipt is written
/// in the same transaction.
pub async fn only_previewed_texts_are_erased(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    stage.say("first zebra", 0).await?;
    let shown = store.preview_forgetting(act(&stage, select_text("zebra"), ForgetMode::Cascade)).await?;
    let second = stage.say("second zebra", 1).await?;
    let proof = |number: u128| ErasureReceipt {
        id: ErasureId(uuid::Uuid::from_u128(number)),
        scope: stage.scope.clone(),
        created_at: at(1_000),
        selected_by: vec!["text".to_owned()],
        taken: ForgetSummary::default(),
        copies: vec!["old.db".to_owned()],
        server: None,
        overwritten_at: None,
        instances: Vec::new(),
    };
    let wanted = act(&stage, select_text("zebra"), ForgetMode::Cascade);
    let outcome = store.forget(wanted.clone(), Some(shown), Some(proof(1))).await?;
    assert_eq!(outcome, ForgetOutcome::Changed);
    assert!(store.message(second.id).await?.is_some());
    assert_eq!(store.erasure_receipts(&stage.scope, None, 5).await?, []);

    let shown = store.preview_forgetting(wanted.clone()).await?;
    assert!(matches!(
        store.forget(wanted.clone(), Some(shown), Some(proof(2))).await?,
        ForgetOutcome::Done(_)
    ));
    let nothing = store.forget(wanted.clone(), None, Some(proof(9))).await?;
    assert_eq!(nothing, ForgetOutcome::Nothing(Vec::new()), "nothing went, so nothing is proven");
    stage.say("third zebra", 2).await?;
    store.forget(wanted, None, Some(proof(3))).await?;
    let receipts = store.erasure_receipts(&stage.scope, None, 5).await?;
    assert_eq!(receipts.iter().map(|receipt| receipt.id).collect::<Vec<_>>(), [proof(3).id, proof(2).id]);
    assert_eq!((receipts[0].taken.messages.len(), receipts[1].taken.messages.len()), (1, 2));
    assert_eq!(store.erasure_receipts(&stage.scope, Some(proof(3).id), 5).await?, [receipts[1].clone()]);
    assert_eq!(store.erasure_receipts(&stage.other, None, 5).await?, []);

    assert!(store.overwrite_freed(at(2_000)).await?);
    let receipt = store.erasure_receipt(proof(2).id).await?.ok_or("it is kept")?;
    // Freed blocks of a server are not overwritten from here.
    let is_on_server = store.unreached_copies().await?.server.is_some();
    assert_eq!(receipt.overwritten_at, (!is_on_server).then_some(at(2_000)));

    stage.say("fourth zebra", 3).await?;
    let wanted = act(&stage, select_text("zebra"), ForgetMode::Cascade);
    store.forget(wanted, None, Some(proof(2))).await?;
    let receipt = store.erasure_receipt(proof(2).id).await?.ok_or("it is kept")?;
    assert_eq!((receipt.taken.messages.len(), receipt.overwritten_at), (3, None), "a later group is added");
    assert_eq!(store.erasure_receipts(&stage.scope, None, 5).await?.len(), 2);
    Ok(())
}
