//! Summaries of days, weeks, months and years.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hub::api::conflicts::{ConflictQuery, ConflictResolve, Resolution};
use hub::api::memories::PendingPeriod;
use hub::rollup::RollupOutcome;
use hub::{DiaryName, Granularity, WorkingHours};
use jiff::Timestamp;
use memory::ports::Clock;
use testkit::{SimulatedClock, WordHashEmbedder};

use crate::home::Home;

#[tokio::test]
async fn a_late_day_makes_everything_above_it_stale_and_it_is_redone() {
    let home = Home::open().await;
    home.create("daily", "2025-11-04", "- first [chat:c] [via:home]").await;
    assert_eq!(home.hub.roll_up().await.unwrap(), (3, 0), "week, month and year are over");
    home.create("daily", "2025-11-05", "- late [chat:d] [via:home]").await;
    let read = |granularity, date| home.text(granularity, date);
    assert!(!read("weekly", "2025-W45").await.unwrap().contains("late"));
    assert_eq!(home.hub.roll_up().await.unwrap(), (3, 0));
    for (granularity, date) in [("weekly", "2025-W45"), ("monthly", "2025-11"), ("yearly", "2025")] {
        let text = read(granularity, date).await.unwrap();
        assert!(text.contains("first") && text.contains("late"), "{granularity}: {text}");
        assert!(!text.contains("[chat:") && text.contains("[via:home]"), "{text}");
    }
    assert_eq!(home.hub.roll_up().await.unwrap(), (0, 0));
}

#[tokio::test]
async fn long_periods_are_summarised_in_parts() {
    let home = Home::open().await;
    let long = "a long and winding story of that day ".repeat(60);
    for day in 6..12 {
        home.create("daily", &format!("2026-07-{day:02}"), &format!("- day{day} {long} [chat:c] [via:home]"))
            .await;
    }
    home.hub.roll_up().await.unwrap();
    let asked = home.scribe.asked.lock().unwrap();
    assert!(asked.len() > 1);
    let most = asked.iter().map(|request| {
        request.sources.iter().map(|(_, text)| memory::text::estimate_tokens(text)).sum::<u32>()
    });
    assert!(most.max().unwrap() <= 2_000);
}

/// A person sees which periods wait for a summary, and can request one before the period is over.
#[tokio::test]
async fn a_period_is_told_when_somebody_asks_for_it() {
    let home = Home::open().await;
    home.create("daily", "2025-11-04", "- long over [chat:c] [via:home]").await;
    let names = |periods: Vec<PendingPeriod>| -> Vec<String> {
        let told =
            |period: PendingPeriod| format!("{}{}{}", period.filename, due(period.due), stale(period.stale));
        periods.into_iter().map(told).collect()
    };
    let untold = || async { names(home.hub.pending_periods(&home.person().scope).await.unwrap()) };
    // The month waits for its week.
    assert_eq!(untold().await, ["2025-W45.md due"]);
    let week: DiaryName = DiaryName::parse(Granularity::Weekly, "2025-W45").unwrap();
    assert_eq!(home.hub.rewrite_rollup(&home.person().scope, &week).await.unwrap(), RollupOutcome::Written);
    assert_eq!(home.hub.rewrite_rollup(&home.person().scope, &week).await.unwrap(), RollupOutcome::Current);
    assert_eq!(untold().await, ["2025-11.md due"]);
    home.create("daily", "2025-11-05", "- late [chat:d] [via:home]").await;
    assert_eq!(untold().await, ["2025-W45.md due stale", "2025-11.md"]);

    let empty = DiaryName::parse(Granularity::Monthly, "2024-02").unwrap();
    let nothing = home.hub.rewrite_rollup(&home.person().scope, &empty).await.unwrap();
    assert_eq!(nothing, RollupOutcome::NoSources(Granularity::Weekly));
    let day = DiaryName::parse(Granularity::Daily, "2025-11-05_home").unwrap();
    assert!(home.hub.rewrite_rollup(&home.person().scope, &day).await.is_err(), "a day is no roll-up");
}

/// A clock that counts its waits.
struct Counting {
    clock: SimulatedClock,
    waits: AtomicUsize,
}

impl Clock for Counting {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.clock.sleep(duration)
    }
}

#[tokio::test]
async fn a_period_that_failed_before_it_was_over_does_not_keep_the_hub_awake() {
    let home = Home::without_files().await;
    home.create("daily", "2026-07-14", "- swam [chat:c] [via:home]").await;
    let clock = Arc::new(Counting { clock: home.clock.clone(), waits: AtomicUsize::new(0) });
    let hub = home.beside(clock.clone(), Arc::new(WordHashEmbedder::new()));
    *home.scribe.failing.lock().unwrap() = true;
    let week: DiaryName = DiaryName::parse(Granularity::Weekly, "2026-W29").unwrap();
    assert!(matches!(hub.rewrite_rollup(&home.caller.scope, &week).await.unwrap(), RollupOutcome::Failed(_)));
    let hours = WorkingHours { rollup_at: jiff::civil::time(5, 0, 0, 0), catch_up: false };
    let ticking = clock.clone();
    let working = tokio::spawn(async move {
        let mut work = hub.background_work(hours).await;
        loop {
            let pause = work.run_once().await;
            tokio::select! {
                () = hub.background_work_waits() => {}
                () = ticking.sleep(pause) => {}
            }
        }
    });
    for _ in 0..600 {
        home.clock.wait_for_sleepers(1).await;
        home.clock.advance(Duration::from_secs(1)).await;
    }
    working.abort();
    // Every 30 s to read the files, and less and less often to check whether the week is over.
    let waits = clock.waits.load(Ordering::Relaxed);
    assert!((20..=40).contains(&waits), "{waits}");
    assert_eq!(home.scribe.asked.lock().unwrap().len(), 1, "nothing is asked before it is over");
}

fn due(is_due: bool) -> &'static str {
    if is_due { " due" } else { "" }
}

fn stale(is_stale: bool) -> &'static str {
    if is_stale { " stale" } else { "" }
}

/// A summary of a week by a person or a client stays; the automatic one is stored beside it until it is chosen.
#[tokio::test]
async fn roll_up_by_hand_is_not_replaced_by_an_automatic_one() {
    let home = Home::open().await;
    home.create("daily", "2025-11-04", "- first [chat:c] [via:home]").await;
    home.hub.roll_up().await.unwrap();
    home.create_as("laptop", "weekly", "2025-W45", "A week by the sea, as I told it.").await;
    let week = || home.text("weekly", "2025-W45");
    let by_hand = "A week by the sea, as I told it.\n";
    let open = async || {
        let query = ConflictQuery { all: false };
        home.hub.conflict_list(&home.caller, query).await.unwrap().conflicts
    };
    for day in [5, 6] {
        home.create("daily", &format!("2025-11-{day:02}"), &format!("- late{day} [chat:d] [via:home]")).await;
        home.hub.roll_up().await.unwrap();
        assert_eq!(week().await.as_deref(), Some(by_hand));
        let open = open().await;
        assert_eq!(open.len(), 1, "the latest automatic one waits");
        assert!(open[0].kept.content.as_ref().unwrap().contains(&format!("late{day}")));
        assert_eq!(home.hub.roll_up().await.unwrap(), (0, 0), "and is not written again");
    }
    let choice = ConflictResolve {
        conflict_id: open().await[0].id.clone(),
        resolution: Resolution::Kept,
        content: None,
    };
    assert!(home.hub.conflict_resolve(&home.person(), choice).await.unwrap().success);
    home.create("daily", "2025-11-07", "- latest [chat:e] [via:home]").await;
    home.hub.roll_up().await.unwrap();
    assert!(week().await.unwrap().contains("latest"), "a chosen one is kept up to date again");
    assert!(open().await.is_empty());
}
