//! Delivers from the outbox: each piece in its order, again after a failure, until a day has gone by.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use memory::ports::{DeliveryStep, OutgoingMessage, StoreError};

use crate::channel::{Channel, DeliveryError};
use crate::service::Shared;
use crate::split::pieces;

/// Messages that are delivered side by side, each of another conversation.
const SIDE_BY_SIDE: u32 = 16;
/// How long a message is tried to be delivered.
const DELIVERED_WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// Wait after the first failure; each further one doubles it.
const WAIT_MIN: Duration = Duration::from_secs(2);
const WAIT_MAX: Duration = Duration::from_secs(600);

/// Delivers until the program stops.
pub(crate) async fn run(shared: Arc<Shared>, channel: Arc<dyn Channel>) {
    loop {
        let woken = shared.woken(channel.id());
        let notified = woken.notified();
        let wait = match deliver_due(&shared, &channel).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::warn!(channel = channel.id(), "the outbox can't be read: {error}");
                Some(WAIT_MIN)
            }
        };
        let sleep = async {
            match wait {
                Some(wait) => shared.clock().sleep(wait.max(Duration::from_millis(1))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = notified => {}
            () = sleep => {}
            () = shared.stop.cancelled() => return,
        }
    }
}

/// Delivers all that is due; says how long nothing more will be.
async fn deliver_due(
    shared: &Arc<Shared>,
    channel: &Arc<dyn Channel>,
) -> Result<Option<Duration>, StoreError> {
    loop {
        if shared.stop.is_cancelled() {
            return Ok(None);
        }
        let due = shared.store().outbox_due(channel.id(), shared.clock().now(), SIDE_BY_SIDE).await?;
        if due.is_empty() {
            break;
        }
        let mut tasks = tokio::task::JoinSet::new();
        for message in due {
            let (shared, channel) = (shared.clone(), channel.clone());
            tasks.spawn(async move { deliver(&shared, &*channel, message).await });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))?;
        }
    }
    let next = shared.store().outbox_next(channel.id()).await?;
    let wait = next.map(|next| next.duration_since(shared.clock().now()));
    Ok(wait.map(|wait| Duration::try_from(wait).unwrap_or_default()))
}

async fn deliver(shared: &Shared, channel: &dyn Channel, message: OutgoingMessage) -> Result<(), StoreError> {
    let store = shared.store();
    let pieces = pieces(&message.text, channel.piece_length_max());
    let all = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
    let mut sent = message.pieces_sent;
    // What may have arrived before a crash is not sent twice where nobody could tell.
    if message.doubtful_piece == Some(sent) && !channel.recognises_repeats() {
        tracing::warn!(channel = channel.id(), message = %message.message_id, "a piece may not have arrived");
        sent += 1;
    }
    while let Some(text) = pieces.get(sent as usize) {
        store.outbox_step(message.number, DeliveryStep::Sending(sent)).await?;
        let name = format!("{}-{sent}", message.message_id);
        if let Err(error) = channel.deliver(&message.conversation, text, &name).await {
            store.outbox_step(message.number, after_failure(shared, &message, error)).await?;
            return Ok(());
        }
        sent += 1;
        if sent < all {
            store.outbox_step(message.number, DeliveryStep::Progress(sent)).await?;
        }
    }
    store.outbox_step(message.number, DeliveryStep::Sent(sent)).await
}

fn after_failure(shared: &Shared, message: &OutgoingMessage, error: DeliveryError) -> DeliveryStep {
    let now = shared.clock().now();
    let reason = error.to_string();
    let wait = match error {
        DeliveryError::Permanent(_) => return DeliveryStep::GivenUp(reason),
        DeliveryError::Wait(wait) => wait,
        DeliveryError::Transient(_) => WAIT_MIN.saturating_mul(1 << message.attempts.min(16)).min(WAIT_MAX),
    };
    if now.duration_since(message.created_at) > DELIVERED_WITHIN {
        return DeliveryStep::GivenUp(reason);
    }
    let wait = SignedDuration::try_from(wait).unwrap_or(DELIVERED_WITHIN);
    DeliveryStep::PutOff(now.checked_add(wait).unwrap_or(now), reason)
}
