//! `echovessel-eval` on the command line.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Exit code, standard output and standard error of `echovessel-eval` with this home, without the environment of the
/// tests.
fn run(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_echovessel-eval"));
    command.args(arguments).env_clear().env("HOME", home).env("ECHOVESSEL_HOME", home);
    let Output { status, stdout, stderr } =
        command.env("ECHOVESSEL__LLM__PROVIDER", "offline").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn printed(home: &Path, arguments: &[&str]) -> String {
    let (code, out, err) = run(home, arguments);
    assert_eq!(code, 0, "{out}\n{err}");
    out
}

#[test]
fn eval_measures_compares_draws_and_fits() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let data = home.join("data");
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
        (data.to_string_lossy().into_owned(), home.join("recall.svg"), home.join("rankings.jsonl"));
    let (plot_name, rankings_name) = (plot.to_string_lossy(), rankings.to_string_lossy());
    let mut asked = vec!["jsonl", "--data", &data, "--words-only"];
    let report: Value = serde_json::from_str(&printed(home, &[&asked[..], &["--json"]].concat())).unwrap();
    assert_eq!((&report["all"]["recall"]["1"], &report["data"]), (&100.0.into(), &"data".into()));
    asked.extend(["--absence", "--plot", &*plot_name, "--ranking-out", &*rankings_name]);
    let table = printed(home, &asked);
    assert!(table.contains("against the last run: R@5 +0.0") && table.contains("memories denied"), "{table}");
    assert!(std::fs::read_to_string(&plot).unwrap().starts_with("<svg"));
    assert!(home.join("recall-absence.svg").exists());
    let lines = std::fs::read_to_string(&rankings).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["id"], &first["conv"], &first["ranking"][0]),
        (&"q-a".into(), &"a".into(), &"1".into())
    );
    let tune = ["tune", "--format", "jsonl", "--data", &data, "--words-only"];
    let fitted = printed(home, &tune);
    assert!(
        fitted.contains("[recall.message_weights]\nwords = ") && fitted.contains("without time"),
        "{fitted}"
    );
}

#[test]
fn our_own_cases_hold_and_a_model_is_asked_for_only_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let held = printed(home, &["cases"]);
    assert!(held.contains("12 of 12 hold"), "{held}");
    let (code, _, err) = run(home, &["cases", "--llm"]);
    assert_eq!(code, 1);
    assert!(err.contains("--llm needs a language model"), "{}", err);
    let (code, _, _) = run(home, &["locomo"]);
    assert_eq!(code, 2);
}
