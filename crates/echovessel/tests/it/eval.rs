//! `echovessel eval` on the command line.

use serde_json::Value;

use crate::command_line::run;
use crate::daemon::{Home, Settings};

#[tokio::test(flavor = "multi_thread")]
async fn eval_measures_compares_draws_and_fits() {
    let (home, settings) = (Home::new(), Settings::none());
    let data = home.file("data");
    std::fs::create_dir_all(&data).unwrap();
    let unit = |id: &str, conv: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","conv":"{conv}","ts":"2026-03-02T10:00:00","speaker":"Ann","text":"{text}"}}"#
        )
    };
    let units = [
        unit("1", "a", "I bought a red violin"),
        unit("2", "a", "the garden is wet"),
        unit("3", "b", "我养了一只猫"),
        unit("4", "b", "今天下雨"),
    ];
    std::fs::write(data.join("units.jsonl"), units.join("\n")).unwrap();
    let query = |conv: &str, text: &str, gold: &str| {
        format!(r#"{{"id":"q-{conv}","conv":"{conv}","ts":null,"text":"{text}","gold":["{gold}"]}}"#)
    };
    let queries = [query("a", "which violin did I buy?", "1"), query("b", "我的貓呢", "3")];
    std::fs::write(data.join("queries.jsonl"), queries.join("\n")).unwrap();
    let (data, plot, rankings) =
        (data.to_string_lossy().into_owned(), home.file("recall.svg"), home.file("rankings.jsonl"));
    let (plot_name, rankings_name) = (plot.to_string_lossy(), rankings.to_string_lossy());
    let mut asked = vec!["eval", "jsonl", "--data", &data, "--words-only"];
    let report = run(&home, &settings, &[&asked[..], &["--json"]].concat()).await.json();
    assert_eq!((&report["all"]["recall"]["1"], &report["data"]), (&100.0.into(), &"data".into()));
    asked.extend(["--absence", "--plot", &*plot_name, "--ranking-out", &*rankings_name]);
    let table = run(&home, &settings, &asked).await.well();
    assert!(table.contains("against the last run: R@5 +0.0") && table.contains("memories denied"), "{table}");
    assert!(std::fs::read_to_string(&plot).unwrap().starts_with("<svg"));
    assert!(home.file("recall-absence.svg").exists());
    let lines = std::fs::read_to_string(&rankings).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["id"], &first["conv"], &first["ranking"][0]),
        (&"q-a".into(), &"a".into(), &"1".into())
    );
    let tune = ["eval", "tune", "--format", "jsonl", "--data", &data, "--words-only"];
    let fitted = run(&home, &settings, &tune).await.well();
    assert!(
        fitted.contains("[recall.message_weights]\nwords = ") && fitted.contains("without time"),
        "{fitted}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_cases_hold_and_a_model_is_asked_for_only_where_there_is_one() {
    let (home, settings) = (Home::new(), Settings::offline());
    let held = run(&home, &settings, &["eval", "cases"]).await.well();
    assert!(held.contains("12 of 12 hold"), "{held}");
    let refused = run(&home, &settings, &["eval", "cases", "--llm"]).await;
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("--llm needs a language model"), "{}", refused.err);
    let refused = run(&home, &settings, &["eval", "locomo"]).await;
    assert_eq!(refused.code, 2);
}
