//! Prints what it costs to erase many messages: `cargo bench -p store --bench erasing`. It must grow with what goes, not with its
//! square.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;
use jiff::civil::date;
use memory::forget::{ForgetMode, ForgetOutcome, ForgetRequest, Selection};
use memory::identifiers::{MessageId, SessionId};
use memory::messages::Role;
use memory::ports::{CaptureStore as _, ForgetStore as _, NewMessage, PersonaStore as _, UserStore as _};
use memory::sessions::SessionPolicy;
use memory::{PersonaId, Scope, UserId};
use store::{SqliteStore, StoreOptions};
use tempfile::TempDir;
use uuid::Uuid;

/// Messages that are captured beside one another.
const TOGETHER: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for count in [1_000, 10_000, 100_000] {
        let [dry_run, erasure] = runtime.block_on(erase(count))?;
        for (what, took) in [("dry run of", dry_run), ("confirmed erasure of", erasure)] {
            let seconds = took.as_secs_f64();
            let each = seconds * 1e6 / count as f64;
            println!("{:<58} {seconds:>9.2} s   {each:>6.0} µs each", format!("{what} {count} messages"));
        }
    }
    Ok(())
}

async fn erase(count: usize) -> Result<[Duration; 2], Box<dyn std::error::Error>> {
    let folder = TempDir::new()?;
    let store = SqliteStore::open(&folder.path().join("home.db"), StoreOptions::default())?;
    let scope = Scope::new(PersonaId::new("luna")?, UserId::new("self")?);
    store.ensure_persona(&scope.persona, "Luna", at(0)).await?;
    store.ensure_user(&scope.user, at(0)).await?;
    let mut ids = Vec::new();
    for first in (0..count).step_by(TOGETHER) {
        let lines = (first..count.min(first + TOGETHER)).map(|number| line(&scope, number));
        let captured = lines.map(|line| store.capture(line, SessionPolicy::default(), None));
        for captured in join_all(captured).await {
            ids.push(captured?.message.id);
        }
    }
    let act = ForgetRequest {
        scope,
        selection: Selection { messages: ids.into_iter().collect(), ..Selection::default() },
        thoughts: ForgetMode::Cascade,
        at: at(0),
    };
    let began = Instant::now();
    let shown = store.preview_forgetting(act.clone()).await?;
    let dry_run = began.elapsed();
    let began = Instant::now();
    match store.forget(act, Some(shown), None).await? {
        ForgetOutcome::Done(done) if done.taken.messages.len() == count => Ok([dry_run, began.elapsed()]),
        other => Err(format!("not all was erased: {other:?}").into()),
    }
}

fn line(scope: &Scope, number: usize) -> NewMessage {
    let number = number as u64 * 2 + 1;
    let id = |number: u64| {
        Uuid::from_u128(u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    };
    let content =
        format!("every message has words number{number} tenth{} about line{}", number % 20, number % 997);
    NewMessage {
        id: MessageId(id(number)),
        session_id_if_new: SessionId(id(number + 1)),
        scope: scope.clone(),
        channel_id: "web".to_owned(),
        turn_id: None,
        role: Role::User,
        speaker: None,
        token_count: 15,
        terms: content.clone(),
        content,
        day: date(2024, 10, 4),
        created_at: at(i64::try_from(number * 10).unwrap_or(0)),
        incomplete: false,
        external_ref: None,
        channel_write: None,
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH)
}
