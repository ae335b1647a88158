//! One turn from start to end. The only file that decides the order of its steps: typing → window → recall → prompt →
//! stream → capture → done.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, StreamExt as _};
use jiff::tz::TimeZone;
use memory::capture::MessageInput;
use memory::identifiers::{MessageId, NodeId};
use memory::ledger::TokenUsage;
use memory::messages::{MESSAGE_LENGTH_MAX, Message, Role};
use memory::recall::{CandidateKind, RecallRequest};
use mind::{RenderedReply, ReplyBudget, ReplyInput, StreamEvent};
use serde_json::json;
use tracing::Instrument as _;

use crate::core::RuntimeCore;
use crate::events::bodies::{ReplyDone, Token, TurnFailed, TypingStarted};
use crate::forget_epochs::ForgetEpoch;
use crate::recall::recalled_memory::{RecalledMemory, add_remembered};
use crate::turns::Turns;
use crate::turns::after_turn;
use crate::turns::conversations::ReadyTurn;
use crate::turns::own_line;
use crate::turns::receipt::build_receipt;
use crate::turns::turn_error::TurnError;
use crate::turns::turn_event::TurnEvent;
use crate::turns::turn_trace::TurnRecord;
use crate::voice::reply_speech::{self, ReplySpeech};

/// The streamed text, with the reason of its end.
#[derive(Default)]
struct StreamedReply {
    text: String,
    usage: TokenUsage,
    model: String,
    /// The error that ended the reply early, if any.
    cut: Option<TurnError>,
}

/// Returns the reason for ending a turn early.
type Interruption = Pin<Box<dyn Future<Output = TurnError> + Send>>;

/// Everything that a turn's reply needs.
struct PreparedReply {
    remembered: RecalledMemory,
    prompt: RenderedReply,
    /// The last message of the burst.
    said: Option<MessageId>,
    zone: TimeZone,
    /// The client's id of the last message.
    in_reply_to: Option<String>,
    /// Number of deletions before the reply was prepared. A later deletion makes it invalid.
    forgotten: ForgetEpoch,
    /// A fixed reply that needs no model.
    own_line: Option<String>,
}

/// Runs a turn to its end. In any case the turn ends answered or failed, and its subscribers are notified.
pub(crate) async fn run_turn(turns: &Arc<Turns>, turn: ReadyTurn) {
    let span = tracing::info_span!("turn", id = %turn.turn_id, channel = %turn.channel_id);
    run_to_its_end(turns, &turn).instrument(span).await;
}

async fn run_to_its_end(turns: &Arc<Turns>, turn: &ReadyTurn) {
    let core = &turns.core;
    let began = Instant::now();
    // Relaxed: others only read how many there are, and no other memory depends on it.
    core.turns_running.fetch_add(1, Ordering::Relaxed);
    let mut record = TurnRecord::begin(core, turn);
    let work = AssertUnwindSafe(answer_turn(turns, turn, &mut record)).catch_unwind();
    let outcome = work.await.unwrap_or(Err(TurnError::Defect));
    core.turns_running.fetch_sub(1, Ordering::Relaxed);
    turns.remove_stop_token(turn.turn_id);
    core.metrics().turn_phase("whole", began.elapsed());
    record.write_in_background(core, turn, outcome.as_ref().err().map(ToString::to_string));
    if let Err(error) = outcome {
        core.metrics().count_turn("failed");
        if AssertUnwindSafe(fail_turn(turns, turn, error)).catch_unwind().await.is_err() {
            tracing::error!(turn = %turn.turn_id, "the turn resumes at the next start");
        }
    }
}

async fn answer_turn(turns: &Arc<Turns>, turn: &ReadyTurn, record: &mut TurnRecord) -> Result<(), TurnError> {
    let core = &turns.core;
    core.publish(&turn.scope, TypingStarted::new(turn.turn_id, turn.channel_id.clone()));
    turn.notify_channel(TurnEvent::Started);
    let mut interrupted = interruption(turns, turn);
    let began = Instant::now();
    let prepared = tokio::select! {
        biased;
        prepared = prepare(turns, turn, record) => prepared?,
        error = &mut interrupted => return Err(error),
    };
    count_preparation(core, &prepared, began.elapsed());
    let began = Instant::now();
    let mut speech = reply_speech::begin(&turns.voice, turn).await.map(|(speech, outcome)| {
        record.note_speech(outcome);
        speech
    });
    let spoken = match prepared.own_line.clone() {
        Some(text) => {
            StreamedReply { text: own_line::publish_line(core, turn, text), ..StreamedReply::default() }
        }
        None => generate_reply(turns, turn, &prepared.prompt, interrupted, record, speech.as_mut()).await?,
    };
    core.metrics().turn_phase("speak", began.elapsed());
    store_and_publish(turns, turn, prepared, spoken, record, speech).await
}

fn count_preparation(core: &RuntimeCore, prepared: &PreparedReply, took: Duration) {
    let (metrics, elapsed) = (core.metrics(), &prepared.remembered.recalled.elapsed);
    metrics.turn_phase("prepare", took);
    for (phase, ms) in [("embed", elapsed.embed), ("fetch", elapsed.fetch), ("score", elapsed.score)] {
        metrics.turn_phase(phase, Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or_default());
    }
}

/// Returns when a turn must end early: at its time limit, or when a person stops it. One limit covers the whole turn,
/// so that the next one can start if any part hangs.
fn interruption(turns: &Arc<Turns>, turn: &ReadyTurn) -> Interruption {
    let core = &turns.core;
    let out_of_time = core.clock().sleep(core.settings().turn_timeout);
    let stop = turns.stop_token(turn.turn_id);
    Box::pin(async move {
        tokio::select! {
            () = stop.cancelled() => TurnError::Stopped,
            () = out_of_time => TurnError::OutOfTime,
        }
    })
}

/// Reads the input of the reply: window, memories, mood, core blocks; and renders the prompt.
async fn prepare(
    turns: &Arc<Turns>,
    turn: &ReadyTurn,
    record: &mut TurnRecord,
) -> Result<PreparedReply, TurnError> {
    let core = &turns.core;
    let (store, scope) = (core.store(), &turn.scope);
    let forgotten = core.forget_epochs.for_scope(scope);
    let now = core.clock().now();
    let (burst, persona, user, in_reply_to) = tokio::try_join!(
        store.turn_messages(turn.turn_id),
        core.persona_of(scope),
        store.ensure_user(&scope.user, now),
        last_line_reference(core, turn).map(Ok),
    )?;
    let burst: Vec<Message> = burst.into_iter().filter(|message| message.role == Role::User).collect();
    if burst.is_empty() {
        return Err(TurnError::NothingToAnswer);
    }
    record.note_burst(&burst);
    let wide = core.settings().recent_window.saturating_add(u32::try_from(burst.len()).unwrap_or(u32::MAX));
    let mut window = turns.recall.latest_messages(scope, wide).await?;
    let zone = core.zone_of_user(&user);
    let mut seen: Vec<i64> = window.iter().map(|message| message.seq).collect();
    seen.extend(burst.iter().map(|message| message.seq).filter(|seq| !window.iter().any(|m| m.seq == *seq)));
    // A reply that is to be replaced is not part of the conversation.
    window.retain(|message| message.role == Role::User || message.turn_id != Some(turn.turn_id));
    let own_line = own_line::reply_to_command(core, scope, &burst, &zone).await?;
    let text = burst.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n");
    let request =
        RecallRequest { scope: scope.clone(), text: text.clone(), now, zone: zone.clone(), window: seen };
    record.note_step(core, "recent_window", json!({"messages": window.len()}));
    let said =
        turns.recall.with_corrections(scope, window.iter().chain(&burst).cloned().collect(), now).await?;
    let (remembered, facts) = tokio::try_join!(
        turns.recall.for_prompt(&persona, &user, request, &said),
        store.persona_facts(&scope.persona),
    )?;
    record.note_recall(core, &remembered.recalled);
    record.note_step(core, "l1_load", json!({}));
    record.note_mood(core, remembered.mood.as_ref());
    let mut input = ReplyInput::new(persona.display_name, now, zone.clone());
    input.facts = facts.into();
    input.user_name = user.display_name;
    input.persona_zone = persona.timezone.and_then(|name| TimeZone::get(&name).ok());
    input.window = window;
    input.burst = burst;
    record.record_omitted_values(&remembered.recalled.corrected);
    add_remembered(&mut input, &remembered);
    record.note_documents(&input, &remembered.documents.related);
    let budget = ReplyBudget { tokens: core.settings().prompt_tokens };
    let prompt = core.mind().render_reply(&input, &budget)?;
    record.note_prompt(core, &prompt);
    let said = input.burst.last().map(|message| message.id);
    Ok(PreparedReply { remembered, prompt, said, zone, in_reply_to, forgotten, own_line })
}

/// Streams the reply to all listeners. A failure before the first text is an error; after it, the text so far is
/// used.
async fn generate_reply(
    turns: &Arc<Turns>,
    turn: &ReadyTurn,
    prompt: &RenderedReply,
    mut interrupted: Interruption,
    record: &mut TurnRecord,
    mut speech: Option<&mut ReplySpeech>,
) -> Result<StreamedReply, TurnError> {
    let core = &turns.core;
    let mut spoken = StreamedReply { model: core.mind().reply_model(), ..StreamedReply::default() };
    let mut length = 0;
    let began = Instant::now();
    let mut stream = tokio::select! {
        biased;
        opened = core.mind().stream_reply(prompt, Some(turn.turn_id)) => opened?,
        error = &mut interrupted => return Err(error),
    };
    loop {
        let event = tokio::select! {
            // Checked first, or a model that never pauses would never reach its time limit.
            biased;
            error = &mut interrupted => Some(Err(error)),
            event = stream.next() => event.map(|event| event.map_err(TurnError::from)),
        };
        match event {
            Some(Ok(StreamEvent::Delta(delta))) => {
                if length == 0 {
                    core.metrics().turn_phase("first_token", began.elapsed());
                }
                record.record_first_token(core);
                let room = MESSAGE_LENGTH_MAX.saturating_sub(length);
                let whole = delta.chars().count();
                let delta: String = if whole > room { delta.chars().take(room).collect() } else { delta };
                length += whole;
                spoken.text.push_str(&delta);
                if let Some(speech) = &mut speech {
                    speech.push_text(&delta);
                }
                core.publish(&turn.scope, Token::new(turn.turn_id, turn.channel_id.clone(), delta.clone()));
                turn.notify_channel(TurnEvent::Delta(delta));
                if whole > room {
                    spoken.cut = Some(TurnError::Endless);
                    break;
                }
            }
            Some(Ok(StreamEvent::Finished { usage, model })) => {
                spoken.usage = TokenUsage {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    cached_tokens: usage.cached_tokens,
                };
                spoken.model = model;
            }
            Some(Err(error)) => {
                spoken.cut = Some(error);
                break;
            }
            None => break,
        }
    }
    let cut = spoken.cut.as_ref().map(ToString::to_string);
    record.note_model_end(core, &spoken.model, spoken.usage, cut.as_deref());
    match spoken.cut.take() {
        Some(error) if spoken.text.trim().is_empty() => Err(error),
        None if spoken.text.trim().is_empty() => Err(TurnError::Silent),
        cut => Ok(StreamedReply { cut, ..spoken }),
    }
}

/// Stores the reply, then publishes that it is done: a published reply is always stored.
async fn store_and_publish(
    turns: &Arc<Turns>,
    turn: &ReadyTurn,
    prepared: PreparedReply,
    spoken: StreamedReply,
    record: &mut TurnRecord,
    speech: Option<ReplySpeech>,
) -> Result<(), TurnError> {
    let core = &turns.core;
    let incomplete = spoken.cut.is_some();
    if let Some(error) = &spoken.cut {
        tracing::warn!(turn = %turn.turn_id, "the reply was cut off; the part written so far is saved: {}", error.log_description());
    }
    let receipt = build_receipt(
        turn.turn_id,
        core.clock().now(),
        (spoken.model.clone(), spoken.usage),
        &prepared.prompt,
        &prepared.remembered,
    );
    let used: Vec<NodeId> = receipt
        .used
        .iter()
        .filter(|candidate| candidate.kind == CandidateKind::Node)
        .map(|candidate| NodeId(candidate.id))
        .collect();
    let in_reply_to = prepared.in_reply_to;
    let line = MessageInput {
        id: None,
        scope: turn.scope.clone(),
        channel_id: turn.channel_id.clone(),
        turn_id: Some(turn.turn_id),
        role: Role::Persona,
        content: spoken.text.clone(),
        incomplete,
        external_ref: None,
        channel_write: turns.outbound.delivery_of(&turn.channel_id, in_reply_to.as_deref()),
    };
    // Text that was forgotten while the model wrote must not come back in its reply or in a late event.
    let nothing_is_forgotten = core.forget_epochs.block_forgetting().await;
    if core.forget_epochs.for_scope(&turn.scope) != prepared.forgotten {
        core.broadcast().withdraw(&turn.scope);
        return Err(TurnError::Forgotten);
    }
    let began = Instant::now();
    let message = turns.messages.record(line, Some(prepared.zone), Some(receipt)).await?.message;
    core.metrics().turn_phase("store", began.elapsed());
    core.metrics().count_turn(if incomplete { "incomplete" } else { "answered" });
    record.note_step(core, "ingest_persona", json!({"message_id": message.id}));
    core.publish(&turn.scope, ReplyDone::new(&message, in_reply_to, incomplete));
    drop(nothing_is_forgotten);
    turns.outbound.wake(&turn.channel_id);
    if let Some(speech) = speech {
        speech.finish(&message);
    }
    let (usage, model) = (spoken.usage, spoken.model);
    turn.notify_channel(TurnEvent::Done { message: Box::new(message), usage, model, incomplete });
    let fulfilled = prepared.remembered.recalled.pinned.fulfilled.iter().map(|node| node.id);
    let shown: Vec<NodeId> = fulfilled.filter(|id| prepared.prompt.kept_nodes.contains(id)).collect();
    after_turn::settle_expectations(core, &turn.scope, &shown, prepared.said).await;
    after_turn::count_recalls(core, used);
    Ok(())
}

/// The client's id of the last message. If it can't be read, the reply is published without it.
async fn last_line_reference(core: &RuntimeCore, turn: &ReadyTurn) -> Option<String> {
    core.store().turn_external_ref(turn.turn_id).await.unwrap_or_else(|error| {
        tracing::warn!(turn = %turn.turn_id, "the link from the reply to its message could not be saved: \
            {error}");
        None
    })
}

async fn fail_turn(turns: &Arc<Turns>, turn: &ReadyTurn, error: TurnError) {
    let core = &turns.core;
    let reason = error.to_string();
    tracing::warn!(turn = %turn.turn_id, "the turn has no reply: {}", error.log_description());
    if error.is_outage() {
        turns.resume_after_outage(&turn.scope, turn.turn_id);
        turn.notify_channel(TurnEvent::Failed { reason, retryable: true });
        return;
    }
    let marked =
        AssertUnwindSafe(turns.mark_failed(&turn.scope, turn.turn_id, reason.clone())).catch_unwind();
    if marked.await.is_err() {
        // Subscribers are notified anyway.
        tracing::error!(turn = %turn.turn_id, "the failed turn can't be marked; it resumes at the next start");
    }
    let said = core.store().turn_messages(turn.turn_id).await.unwrap_or_default();
    let user_message_ids: Vec<MessageId> =
        said.iter().filter(|message| message.role == Role::User).map(|m| m.id).collect();
    let retryable = match &error {
        TurnError::Model(error) => error.is_transient(),
        TurnError::Forgotten => !user_message_ids.is_empty(),
        TurnError::NothingToAnswer => false,
        _ => true,
    };
    core.publish(
        &turn.scope,
        TurnFailed {
            turn_id: turn.turn_id,
            source_channel_id: turn.channel_id.clone(),
            reason: reason.clone(),
            retryable,
            user_message_ids,
        },
    );
    turn.notify_channel(match error {
        TurnError::NothingToAnswer => TurnEvent::Withdrawn { reason },
        _ => TurnEvent::Failed { reason, retryable },
    });
}
