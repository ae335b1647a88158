//! Delivers from the outbox: the parts of a reply in order, again after a failure, for up to a day. The voice message is the last
//! part; the text neither waits for it nor fails with it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use memory::ports::{Backoff, DeliveryStep, OutgoingMessage, StoreError};
use runtime::Runtime;
use tokio::task::{JoinSet, spawn_blocking};

use crate::channel::{ChannelState, DeliveredPiece, Piece, PieceOrigin};
use crate::connections::{Connection, SharedState};
use crate::delivery_error::DeliveryError;
use crate::split::split_text;
use crate::voice_message::VoiceMessage;

/// Messages that are delivered at the same time, each to another conversation: one that the platform
/// delays must not hold up the others, and each of them uses a connection.
const DELIVERIES_AT_ONCE: u32 = 32;
/// Period for which delivery of a message is retried. A reply that is a day late answers nothing, and would arrive in
/// another conversation.
const DELIVERY_PERIOD: SignedDuration = SignedDuration::from_hours(24);
/// Period for which delivery of a message's sound is retried; its text has arrived.
const SOUND_RETRY_PERIOD: SignedDuration = SignedDuration::from_mins(10);
/// Waits between attempts to deliver a message. A reply of ten minutes ago is still worth delivering, so attempts never come rarer.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(600) };

/// Delivers until the program stops or the channel is disconnected.
pub(crate) async fn run(shared: Arc<SharedState>, runtime: Runtime, connection: Arc<Connection>) {
    let channel = &connection.channel;
    let mut under_way = RunningDeliveries::default();
    loop {
        let notified = connection.woken.notified();
        let wait = match deliver_due(&shared, &runtime, &connection, &mut under_way).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::warn!(channel = channel.id(), "the outbox can't be read: {error}");
                Some(BACKOFF.first)
            }
        };
        let sleep = async {
            match wait {
                Some(wait) => shared.clock().sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = notified => {}
            () = sleep => {}
            Some(error) = under_way.next_result() => {
                if let Err(error) = error {
                    tracing::warn!(channel = channel.id(), "the state of a delivery can't be saved: {error}");
                    tokio::select! {
                        () = shared.clock().sleep(BACKOFF.first) => {}
                        () = connection.stop.cancelled() => break,
                    }
                }
            }
            () = connection.stop.cancelled() => break,
        }
    }
    // A running delivery is finished and recorded, so that the next start has no doubtful piece.
    while under_way.next_result().await.is_some() {}
}

/// Messages that are being delivered, by their numbers in the outbox.
#[derive(Default)]
struct RunningDeliveries {
    tasks: JoinSet<(i64, Result<(), StoreError>)>,
    numbers: HashSet<i64>,
}

impl RunningDeliveries {
    /// The result of the next delivery that ends; `None` if none is running.
    async fn next_result(&mut self) -> Option<Result<(), StoreError>> {
        match self.tasks.join_next().await? {
            Ok((number, result)) => {
                self.numbers.remove(&number);
                Some(result)
            }
            Err(error) => {
                // It is unknown which one panicked. All others end by themselves, and are not sent twice before.
                if self.tasks.is_empty() {
                    self.numbers.clear();
                }
                Some(Err(StoreError::Failed(error.to_string())))
            }
        }
    }
}

/// Starts the deliveries that are due, as far as there is room; returns the time until the next one is due.
async fn deliver_due(
    shared: &Arc<SharedState>,
    runtime: &Runtime,
    connection: &Arc<Connection>,
    under_way: &mut RunningDeliveries,
) -> Result<Option<Duration>, StoreError> {
    let now = shared.clock().now();
    let due = shared.store().outbox_due(connection.channel.id(), now, 2 * DELIVERIES_AT_ONCE).await?;
    for message in due {
        if under_way.numbers.len() >= DELIVERIES_AT_ONCE as usize {
            return Ok(None);
        }
        if under_way.numbers.insert(message.number) {
            let (shared, runtime, connection) = (shared.clone(), runtime.clone(), connection.clone());
            under_way.tasks.spawn(async move {
                let number = message.number;
                (number, deliver(&shared, &runtime, &connection, message).await)
            });
        }
    }
    let next = shared.store().outbox_next(connection.channel.id()).await?;
    // Messages that are due are being delivered already; the following ones are looked up when those end.
    let wait = next.and_then(|next| Duration::try_from(next.duration_since(now)).ok());
    Ok(wait.filter(|wait| !wait.is_zero()))
}

async fn deliver(
    shared: &SharedState,
    runtime: &Runtime,
    connection: &Connection,
    message: OutgoingMessage,
) -> Result<(), StoreError> {
    let (store, channel) = (shared.store(), &*connection.channel);
    let pieces = split_text(&message.text, channel.piece_length_max());
    let is_heard = is_sound_still_due(shared, &message)
        && runtime.voice().should_be_sent_as_voice(message.message_id).await?;
    let all = u32::try_from(pieces.len()).unwrap_or(u32::MAX - 1) + u32::from(is_heard);
    let mut sent = message.pieces_sent;
    let mut last_sent = message.last_sent.clone();
    // A piece that may have arrived before a crash is not sent again if the platform can't recognise it.
    if message.doubtful_piece == Some(sent) && !channel.recognises_repeats() {
        tracing::warn!(channel = channel.id(), message = %message.message_id, "a part may not have arrived");
        sent += 1;
    }
    if sent >= all {
        let step = DeliveryStep::Sent { pieces: sent, is_whole: true, sent_as: None };
        return store.outbox_step(message.number, step).await;
    }
    while sent < all {
        let text = pieces.get(sent as usize);
        let sound = if text.is_none() { voice_message(runtime, connection, &message).await } else { None };
        if text.is_none() && sound.is_none() {
            let step = DeliveryStep::Sent { pieces: all, is_whole: true, sent_as: None };
            return store.outbox_step(message.number, step).await;
        }
        store.outbox_step(message.number, DeliveryStep::Sending(sent)).await?;
        let origin = PieceOrigin {
            message: message.message_id,
            number: sent,
            written_at: message.created_at,
            is_doubtful: message.doubtful_piece == Some(sent) || message.attempts > 0,
            sent_before: last_sent.as_deref(),
        };
        let conversation = message.conversation.as_str();
        let text = text.map_or("", String::as_str);
        let piece = Piece { conversation, text, origin: Some(origin) };
        let delivered = match &sound {
            None => channel.deliver(piece).await,
            Some(sound) => channel.deliver_voice(piece, sound).await,
        };
        let delivered = match delivered {
            Ok(delivered) => delivered,
            Err(error) if sound.is_some() && !may_send_sound_later(shared, &message, &error) => {
                tracing::warn!(channel = channel.id(), message = %message.message_id, "the reply is sent as \
                    text: {error}");
                DeliveredPiece::default()
            }
            Err(error) => {
                if let DeliveryError::Unauthorized(reason) = &error {
                    connection.set_state(ChannelState::Failed(reason.clone()));
                }
                let step = step_after_failure(shared, &message, error);
                if let DeliveryStep::GivenUp(reason) = &step {
                    tracing::warn!(channel = channel.id(), message = %message.message_id, "not delivered: {reason}");
                }
                store.outbox_step(message.number, step).await?;
                return Ok(());
            }
        };
        sent += 1;
        let step =
            DeliveryStep::Sent { pieces: sent, is_whole: sent >= all, sent_as: delivered.sent_as.clone() };
        store.outbox_step(message.number, step).await?;
        last_sent = delivered.sent_as.or(last_sent);
    }
    Ok(())
}

/// True if it is still worth while to send the sound beside the text.
fn is_sound_still_due(shared: &SharedState, message: &OutgoingMessage) -> bool {
    shared.clock().now().duration_since(message.created_at) < SOUND_RETRY_PERIOD
}

fn may_send_sound_later(shared: &SharedState, message: &OutgoingMessage, error: &DeliveryError) -> bool {
    !matches!(error, DeliveryError::Permanent(_)) && is_sound_still_due(shared, message)
}

/// The message as sound; `None` if it can't be spoken, in which case only the text is delivered.
async fn voice_message(
    runtime: &Runtime,
    connection: &Connection,
    message: &OutgoingMessage,
) -> Option<VoiceMessage> {
    let stays_text = |reason: String| {
        let channel = connection.channel.id();
        tracing::warn!(channel, message = %message.message_id, "the reply is sent as text: {reason}");
    };
    let sound = tokio::select! {
        sound = runtime.voice().sound_for_channel(message.message_id) => sound,
        () = connection.stop.cancelled() => return None,
    };
    let sound = sound.map_err(|error| stays_text(error.to_string())).ok()??;
    let written = spawn_blocking(move || VoiceMessage::from_sound(&sound)).await;
    written.unwrap_or_else(|error| Err(error.to_string())).map_err(stays_text).ok()
}

fn step_after_failure(shared: &SharedState, message: &OutgoingMessage, error: DeliveryError) -> DeliveryStep {
    let now = shared.clock().now();
    let reason = error.to_string();
    let wait = match error {
        DeliveryError::Permanent(_) => return DeliveryStep::GivenUp(reason),
        DeliveryError::Wait(wait) => wait,
        DeliveryError::Transient(_) | DeliveryError::Unauthorized(_) => {
            BACKOFF.wait_after_failures(message.attempts)
        }
    };
    if now.duration_since(message.created_at) > DELIVERY_PERIOD {
        return DeliveryStep::GivenUp(reason);
    }
    let wait = SignedDuration::try_from(wait).unwrap_or(DELIVERY_PERIOD);
    DeliveryStep::PutOff(now.checked_add(wait).unwrap_or(now), reason)
}
