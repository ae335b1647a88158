//! Days, weeks, months and years.

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
async fn what_does_not_fit_into_a_question_is_told_in_parts() {
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
