//! Prints the cost of importing a chat and of undoing the import, for each message: `cargo bench -p runtime --bench
//! importing`. Both must grow with the number of messages, not faster. `ECHOVESSEL_BENCH_MESSAGES=1000000` measures
//! that number instead, in minutes.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use import::{Input, Mapping, ReadOptions, Sources};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::forget::{Confirmations, Eraser, ErasureRequest, ForgetMode, Selection};
use memory::identifiers::ImportId;
use memory::ports::{ForgetStore as _, ImportStore as _, PersonaStore as _, Remembering, UserStore as _};
use memory::sessions::SessionPolicy;
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use runtime::{ImportRecorder, ImportRequest};
use store::{HomeStore, StoreOptions};
use testkit::{SequentialIds, SimulatedClock};
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let counts = match std::env::var("ECHOVESSEL_BENCH_MESSAGES") {
        Ok(count) => vec![count.parse()?],
        Err(_) => vec![1_000, 10_000, 100_000],
    };
    for count in counts {
        let [recorded, taken_back, overwritten] = runtime.block_on(import_and_take_back(count))?;
        for (what, took) in
            [("import of", recorded), ("taking back", taken_back), ("overwriting after", overwritten)]
        {
            let seconds = took.as_secs_f64();
            let each = seconds * 1e6 / count as f64;
            println!("{:<50} {seconds:>9.2} s   {each:>6.0} µs each", format!("{what} {count} messages"));
        }
    }
    Ok(())
}

async fn import_and_take_back(count: usize) -> Outcome<[Duration; 3]> {
    let folder = tempfile::tempdir()?;
    let chat = folder.path().join("_chat.txt");
    std::fs::write(&chat, whatsapp_chat(count))?;
    let store = HomeStore::open(&folder.path().join("home.db"), StoreOptions::default())?;
    let scope = Scope::new(PersonaId::new("luna")?, UserId::new("self")?);
    let (clock, ids) = (SimulatedClock::new("2026-03-01T00:00:00Z".parse()?), SequentialIds::new(1));
    store.ensure_persona(&scope.persona, "Luna", Timestamp::UNIX_EPOCH).await?;
    store.ensure_user(&scope.user, Timestamp::UNIX_EPOCH).await?;
    let request = ImportRequest {
        id: ImportId(Uuid::from_u128(7)),
        scope: scope.clone(),
        sources: Arc::new(Sources::open(&[Input::Path(chat)])?),
        fingerprint: String::new(),
        options: ReadOptions::default(),
        mapping: Mapping {
            user: ["Ann".to_owned()].into(),
            persona: ["Luna".to_owned()].into(),
            ..Mapping::default()
        },
        zone: TimeZone::UTC,
        remembering: Remembering::Off,
    };
    let recorder = ImportRecorder {
        store: &store,
        hub: None,
        clock: &clock,
        ids: &ids,
        policy: SessionPolicy::default(),
    };
    let began = Instant::now();
    let run = recorder.begin(&request).await?;
    let run = recorder.record(run, request, &mut |_| {}).await?;
    let recorded = began.elapsed();
    if run.recorded != count as u64 {
        return Err(format!("not all was recorded: {}", run.recorded).into());
    }

    let (index, confirmations) = (VectorIndex::default(), Confirmations::default());
    let eraser =
        Eraser { store: &store, index: &index, confirmations: &confirmations, clock: &clock, ids: &ids };
    let began = Instant::now();
    let sessions = store.import_sessions(run.run_id).await?.into_iter().collect();
    let selection = Selection { sessions, with_messages: true, ..Selection::default() };
    let (thoughts, selected_by) = (ForgetMode::Cascade, Vec::new());
    let erase = ErasureRequest { scope, selection, thoughts, selected_by, confirm: None };
    let mut erasure = eraser.begin(erase).await?;
    while erasure.has_more() {
        eraser.erase_group(&mut erasure).await?;
    }
    store.delete_import(run.run_id).await?;
    let taken_back = began.elapsed();
    if erasure.finish()?.taken.messages.len() != count {
        return Err("not all was taken back".into());
    }
    let began = Instant::now();
    store.overwrite_freed(Timestamp::UNIX_EPOCH).await?;
    Ok([recorded, taken_back, began.elapsed()])
}

/// A chat of two people that alternates twenty messages in an hour with two hours of silence.
fn whatsapp_chat(count: usize) -> String {
    let mut chat = String::new();
    for number in 0..count {
        let minute = number / 20 * 180 + number % 20 * 3;
        let (day, hour, minute) = (minute / 1_440, minute / 60 % 24, minute % 60);
        let date = jiff::civil::date(1990, 1, 1)
            .checked_add(jiff::Span::new().days(i64::try_from(day).unwrap_or_default()))
            .unwrap_or(jiff::civil::Date::MAX);
        let speaker = if number.is_multiple_of(2) { "Ann" } else { "Luna" };
        _ = writeln!(
            chat,
            "[{}, {hour:02}:{minute:02}:00] {speaker}: line {number} tells of the tenth{} walk to the old lake",
            date.strftime("%d.%m.%y"),
            number % 97
        );
    }
    chat
}
