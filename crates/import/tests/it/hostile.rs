//! Each sample with each kind of damage: bounded, and refused or repaired with a warning.

use crate::foreign_bytes::are_read;
use crate::reading::{items, skips, talk};
use crate::samples::samples;

/// Kinds of damage; each is tried on every format.
fn damages(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let middle = bytes.len() / 2;
    let joined = |parts: &[&[u8]]| parts.concat();
    let spread = |byte: u8| -> Vec<u8> {
        bytes
            .iter()
            .enumerate()
            .flat_map(|(at, own)| [Some(*own), (at % 17 == 0).then_some(byte)])
            .flatten()
            .collect()
    };
    let replaced = |from: u8, to: &[u8]| -> Vec<u8> {
        bytes.iter().flat_map(|own| if *own == from { to.to_vec() } else { vec![*own] }).collect()
    };
    vec![
        ("cut after a third", bytes[..bytes.len() / 3].to_vec()),
        ("cut before the last byte", bytes[..bytes.len() - 1].to_vec()),
        ("bad UTF-8", spread(0xFF)),
        ("zero bytes", spread(0)),
        ("quotes that never end", replaced(b'"', b"\"\"\"")),
        ("no quotes", replaced(b'"', b"")),
        ("huge numbers", replaced(b'1', b"99999999999999999999e999")),
        ("negative numbers", replaced(b'1', b"-1")),
        ("deep at its start", joined(&[&b"[".repeat(50_000), bytes])),
        ("deep in its middle", joined(&[&bytes[..middle], &b"{\"a\":".repeat(50_000), &bytes[middle..]])),
        ("a long line in its middle", joined(&[&bytes[..middle], &b"a".repeat(3_000_000), &bytes[middle..]])),
        ("only carriage returns", replaced(b'\n', b"\r")),
        ("many times over", bytes.repeat(20)),
        ("backwards", bytes.iter().rev().copied().collect()),
        ("as UTF-16", [0xFF, 0xFE].into_iter().chain(bytes.iter().flat_map(|byte| [*byte, 0])).collect()),
        ("brackets swapped", replaced(b'{', b"[")),
    ]
}

#[test]
fn damaged_files_are_read_in_their_format() {
    for (format, _, bytes) in samples() {
        for (damage, bytes) in damages(&bytes) {
            let caught = std::panic::catch_unwind(|| are_read(Some(format), &bytes));
            assert!(caught.is_ok(), "{format}: {damage}");
        }
    }
}

#[test]
fn damaged_files_are_read_as_words_of_the_user() {
    for (_, _, bytes) in samples() {
        for (damage, bytes) in damages(&bytes) {
            let caught = std::panic::catch_unwind(|| are_read(Some("own-words"), &bytes));
            assert!(caught.is_ok(), "{damage}");
        }
    }
}

#[test]
fn damaged_files_are_read_as_what_they_seem() {
    for (format, _, bytes) in samples() {
        for (damage, bytes) in damages(&bytes) {
            let caught = std::panic::catch_unwind(|| are_read(None, &bytes));
            assert!(caught.is_ok(), "{format}: {damage}");
        }
    }
}

/// Every format's reader gets the files of every other format.
#[test]
fn files_of_another_format_are_refused_or_read() {
    for format in import::formats() {
        for (_, _, bytes) in samples() {
            are_read(Some(format.id), &bytes);
        }
    }
}

#[test]
fn a_long_line_costs_only_itself() {
    let text = format!(
        "1/5/24, 22:30 - Ann: a\n1/5/24, 22:31 - Ann: {}\n1/5/24, 22:32 - Ann: c\n",
        "x".repeat(5_000_000)
    );
    let read = items("_chat.txt", text);
    assert_eq!(talk(&read), ["Ann: a", "Ann: c"]);
    assert!(skips(&read)[0].place.ends_with("line 2"));
}

#[test]
fn a_deep_element_costs_only_itself() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        "[{{\"role\":\"user\",\"content\":\"a\"}},{{\"role\":\"user\",\"content\":{deep}}},{{\"role\":\"user\",\"content\":\"c\"}}]"
    );
    let read = items("a.json", text);
    assert_eq!(talk(&read), ["user: a", "user: c"]);
    assert!(skips(&read)[0].reason.contains("deep"));
}

#[test]
fn bad_utf_8_is_cleaned_and_said() {
    let read = items("_chat.txt", b"1/5/24, 22:30 - Ann: caf\xE9\n1/5/24, 22:31 - Theo: ok\n");
    assert_eq!(talk(&read), ["Ann: caf\u{FFFD}", "Theo: ok"]);
    let cleaned: Vec<bool> =
        crate::reading::messages(&read).iter().map(|message| message.is_cleaned).collect();
    assert_eq!(cleaned, [true, false]);
    assert_eq!(crate::reading::inspect_upload("_chat.txt", b"1/5/24, 22:30 - Ann: caf\xE9\n").cleaned, 1);
}

/// Many small values need far more memory than their bytes, so they are counted before they are parsed.
#[test]
fn an_element_of_countless_values_costs_only_itself() {
    let many = format!("[{}0]", "{\"a\":1},".repeat(600_000));
    let first = r#"{"role":"user","content":"a"}"#;
    let last = r#"{"role":"user","content":"c"}"#;
    let bad = format!("{{\"role\":\"user\",\"content\":\"b\",\"extra\":{many}}}");
    let files =
        [("a.json", format!("[{first},{bad},{last}]")), ("a.jsonl", format!("{first}\n{bad}\n{last}\n"))];
    for (name, text) in files {
        let read = items(name, text);
        assert_eq!(talk(&read), ["user: a", "user: c"]);
        assert!(skips(&read)[0].reason.contains("values"), "{:?}", skips(&read));
    }
    let card = format!("{{\"spec\":\"chara_card_v2\",\"data\":{{\"name\":\"Mira\",\"x\":{many}}}}}");
    assert!(skips(&items("mira.json", card))[0].reason.contains("values"));
}

#[test]
fn long_ids_become_digests() {
    let long = "i".repeat(5_000);
    let line = |text: &str| {
        format!("{{\"id\":\"{long}\",\"chat\":\"{long}\",\"user\":\"Ann\",\"text\":\"{text}\"}}\n")
    };
    are_read(Some("jsonl"), format!("{}{}", line("a"), line("b")).as_bytes());
}
