//! Prints the cost of erasing many messages, and the longest wait of a concurrent write: `cargo bench -p store
//! --bench erasing`. The cost must grow with the number of erased messages, not with its square, and the wait with
//! neither.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;
use jiff::civil::date;
use memory::forget::{Confirmations, EraseError, Eraser, ErasureRequest, ForgetMode, Selection};
use memory::identifiers::{MessageId, SessionId};
use memory::messages::Role;
use memory::ports::{CaptureStore as _, NewMessage, PersonaStore as _, StoreError, UserStore as _};
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use testkit::{SequentialIds, SimulatedClock};
use uuid::Uuid;

/// Messages that are captured concurrently.
const TOGETHER: usize = 64;

/// Time between two messages that are written during the erasure.
const BETWEEN: Duration = Duration::from_millis(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for count in [1_000, 10_000, 100_000] {
        let [dry_run, erasure, wait] = runtime.block_on(erase(count))?;
        for (what, took) in [("dry run of", dry_run), ("confirmed erasure of", erasure)] {
            let seconds = took.as_secs_f64();
            let each = seconds * 1e6 / count as f64;
            println!("{:<58} {seconds:>9.2} s   {each:>6.0} µs each", format!("{what} {count} messages"));
        }
        println!("{:<58} {:>9.0} ms", "  the longest wait of a message beside it", wait.as_secs_f64() * 1e3);
    }
    Ok(())
}

async fn erase(count: usize) -> Result<[Duration; 3], Box<dyn std::error::Error>> {
    let folder = TempDir::new()?;
    let store = HomeStore::open(&folder.path().join("home.db"), StoreOptions::default())?;
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
    let request = ErasureRequest {
        scope: scope.clone(),
        selection: Selection { messages: ids.into_iter().collect(), ..Selection::default() },
        thoughts: ForgetMode::Cascade,
        selected_by: Vec::new(),
        confirm: None,
    };
    let (index, confirmations) = (VectorIndex::default(), Confirmations::default());
    let (clock, ids) = (SimulatedClock::new(at(0)), SequentialIds::new(1));
    let eraser =
        Eraser { store: &store, index: &index, confirmations: &confirmations, clock: &clock, ids: &ids };
    let began = Instant::now();
    eraser.dry_run(request.clone()).await?;
    let dry_run = began.elapsed();
    let done = AtomicBool::new(false);
    let erase = async {
        let began = Instant::now();
        let mut erasure = eraser.begin(request).await?;
        while erasure.has_more() {
            eraser.erase_group(&mut erasure).await?;
        }
        done.store(true, Ordering::Relaxed);
        Ok::<_, EraseError>((erasure.finish()?, began.elapsed()))
    };
    let talk = async {
        let (mut longest, mut number) = (Duration::ZERO, count);
        let mut every = tokio::time::interval(BETWEEN);
        while !done.load(Ordering::Relaxed) {
            let began = Instant::now();
            store.capture(line(&scope, number), SessionPolicy::default(), None).await?;
            longest = longest.max(began.elapsed());
            number += 1;
            every.tick().await;
        }
        Ok::<_, StoreError>(longest)
    };
    let (erased, longest) = tokio::join!(erase, talk);
    let ((receipt, erasure), longest) = (erased?, longest?);
    match receipt.taken.messages.len() == count {
        true => Ok([dry_run, erasure, longest]),
        false => Err(format!("not all was erased: {}", receipt.taken.messages.len()).into()),
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
