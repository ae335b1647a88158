use import::{ExternalId, Item, Role};

use crate::reading::{inspect_upload, items, items_as, items_by, messages, skips, talk, times};

pub(crate) const JSON_LINES: &str = r#"{"id": "1", "chat": "garden", "sender": "Ann", "text": "Hello", "time": "2024-01-05T10:00:00Z"}
{"id": "2", "chat": "garden", "sender": "Mira", "text": "Hi", "time": 1704448860}
{"id": "3", "chat": "garden", "sender": "Mira", "time": 1704448861}
"#;

pub(crate) const JSON: &str = r#"{"title": "Garden", "messages": [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": [{"type": "text", "text": "Hi"}], "model": "m"}]}"#;

pub(crate) const CSV: &str =
    "\u{FEFF}Time;From;Text\r\n2024-01-05 10:00;Ann;\"Hello; you\"\r\n2024-01-05 10:01;Mira;Hi\r\n";

pub(crate) const TRANSCRIPT: &str =
    "# Talk\n\n## 2024-01-05\n\n**Ann:** Hello\nhow are you?\n\n**Mira:** Fine: thanks\n\n**Ann:** Good\n";

#[test]
fn texts_of_line_are_read() {
    let text = "[LINE] Chat history with Mira\nSaved on: 2024/03/06 10:00\n\n2024/03/05(Tue)\n14:03\tAnn\tHello Mira\n\
        14:04\tMira\t\"Hi!\nNote: it rains\"\n14:05\tMira unsent a message.\n\n2024/03/06(Wed)\n09:00\tMira\tGood morning\n";
    let read = items("[LINE] Chat with Mira.txt", text);
    assert_eq!(talk(&read), ["Ann: Hello Mira", "Mira: Hi!\nNote: it rains", "Mira: Good morning"]);
    assert_eq!(times(&read), ["2024-03-05T14:03:00", "2024-03-05T14:04:00", "2024-03-06T09:00:00"]);
    assert!(skips(&read).iter().any(|skip| skip.reason.contains("notice")), "{:?}", skips(&read));

    let japanese = "[LINE] Miraとのトーク履歴\n保存日時：2024/03/06 10:00\n\n2024/03/05(火)\n午後2:03\tAnn\tこんにちは\n午後2:04\tMira\tこんにちは！\n";
    let read = items("line.txt", japanese);
    assert_eq!(talk(&read), ["Ann: こんにちは", "Mira: こんにちは！"]);
    assert_eq!(times(&read)[0], "2024-03-05T14:03:00");

    let american = "Chat history with Mira\n\nTue, 03/05/2024\n02:03PM\tAnn\tHello\n02:04PM\tMira\tHi\n";
    assert_eq!(times(&items("line.txt", american)), ["2024-03-05T14:03:00", "2024-03-05T14:04:00"]);
}

#[test]
fn texts_of_kakaotalk_are_read() {
    let computer = "Mira 님과 카카오톡 대화\n저장한 날짜 : 2024-03-06 10:00:00\n\n--------------- 2024년 3월 5일 화요일 ---------------\n\
        [Ann] [오후 2:03] 안녕하세요\n[Mira] [오후 2:04] 네\n둘째 줄\n--------------- 2024년 3월 6일 수요일 ---------------\n\
        [Ann] [오전 9:00] 좋은 아침\n";
    let read = items("KakaoTalk.txt", computer);
    assert_eq!(talk(&read), ["Ann: 안녕하세요", "Mira: 네\n둘째 줄", "Ann: 좋은 아침"]);
    assert_eq!(times(&read), ["2024-03-05T14:03:00", "2024-03-05T14:04:00", "2024-03-06T09:00:00"]);

    let phone = "Mira 님과 카카오톡 대화\n저장한 날짜 : 2024년 3월 6일 오전 10:00\n\n2024년 3월 5일 오후 2:03\n\
        2024년 3월 5일 오후 2:03, Ann : 안녕하세요\n2024년 3월 5일 오후 2:04, Mira : 네: 둘\n\
        2024년 3월 5일 오후 2:05: Theo님이 들어왔습니다.\n";
    let read = items("KakaoTalk.txt", phone);
    assert_eq!(talk(&read), ["Ann: 안녕하세요", "Mira: 네: 둘"]);
    assert_eq!(times(&read), ["2024-03-05T14:03:00", "2024-03-05T14:04:00"]);

    let english = "--------------- Tuesday, March 5, 2024 ---------------\n[Ann] [2:03 PM] Hello\n[Mira] [2:04 PM] Hi\n";
    assert_eq!(times(&items("KakaoTalk.txt", english)), ["2024-03-05T14:03:00", "2024-03-05T14:04:00"]);
    let english = "March 5, 2024 at 2:03 PM, Ann : Hello\nMarch 5, 2024 at 2:04 PM, Mira : Hi\n";
    assert_eq!(times(&items("KakaoTalk.txt", english)), ["2024-03-05T14:03:00", "2024-03-05T14:04:00"]);
}

#[test]
fn texts_of_imessage_are_read() {
    let text = "Mar 05, 2024  2:03:05 PM\nMe\nHello Mira\nNote: it rains\n\n\
        Mar 05, 2024  2:04:10 PM (Read by you after 5 seconds)\n+1 555 0100\nHi! How are you?\n\n";
    let read = items("+15550100.txt", text);
    assert_eq!(talk(&read), ["Me: Hello Mira\nNote: it rains", "+1 555 0100: Hi! How are you?"]);
    assert_eq!(times(&read), ["2024-03-05T14:03:05", "2024-03-05T14:04:10"]);
    assert_eq!(messages(&read)[0].role, Role::User);
}

/// Messages that sometimes look like a heading or a messenger's line.
#[test]
fn other_talk_is_read_as_before() {
    let text =
        "Ann: Tuesday, March 5, 2024\nMarch 5, 2024\nMira: at 14:03\tthen\nAnn: [Mira] [2:03 PM] was when?\n";
    let read = items("talk.txt", text);
    assert_eq!(
        talk(&read),
        [
            "Ann: Tuesday, March 5, 2024\nMarch 5, 2024",
            "Mira: at 14:03\tthen",
            "Ann: [Mira] [2:03 PM] was when?"
        ]
    );
}

#[test]
fn files_that_no_reader_knows_are_read_by_the_names_of_their_fields() {
    let csv = "Wann;Wer;Nachricht\n05.01.2024 10:00;Ann;Hallo\n05.01.2024 10:01;Mira;Na du\n";
    assert!(messages(&items("talk.csv", csv)).is_empty(), "nobody guesses German columns");
    let read = items_by(&["text=nachricht", "from=Wer", "time=Wann"], "talk.csv", csv);
    assert_eq!(talk(&read), ["Ann: Hallo", "Mira: Na du"]);
    assert_eq!(times(&read), ["2024-01-05T10:00:00", "2024-01-05T10:01:00"]);

    let lines = r#"{"n": 1, "payload": {"words": "Hello", "by": "Ann"}, "sent.at": "2024-01-05T10:00:00Z"}
{"n": 2, "payload": {"words": "Hi", "by": "Mira"}, "sent.at": "2024-01-05T10:01:00Z"}
"#;
    let fields = ["text=payload.words", "from=payload.by", "time=sent.at", "id=n"];
    let read = items_by(&fields, "talk.jsonl", lines);
    assert_eq!(talk(&read), ["Ann: Hello", "Mira: Hi"]);
    assert_eq!(messages(&read)[1].id, ExternalId::Given("2".to_owned()));
    assert_eq!(times(&read), ["2024-01-05T10:00:00Z", "2024-01-05T10:01:00Z"]);

    let list = r#"{"version": 2, "entries": [{"w": "Hello", "b": "Ann", "t": 1704448800}, {"b": "Mira"}]}"#;
    let read = items_by(&["text=w", "from=b", "time=t"], "talk.json", list);
    assert_eq!(talk(&read), ["Ann: Hello"]);
    assert_eq!(skips(&read)[0].reason, "it has no text");
    let bare = r#"[{"w": "Hello", "b": "Ann", "t": 1704448800}]"#;
    assert_eq!(talk(&items_by(&["text=w", "from=b", "time=t"], "talk.json", bare)), ["Ann: Hello"]);

    let wrong = items_by(&["text=Wort"], "talk.csv", csv);
    assert!(skips(&wrong)[0].reason.ends_with("Wann, Wer, Nachricht"), "{:?}", skips(&wrong));
    for named in ["text", "speech=a", "=a", "text= "] {
        assert!(import::FieldNames::parse([named]).is_err(), "{named}");
    }
}

#[test]
fn json_lines_are_read() {
    let items = items("talk.jsonl", JSON_LINES);
    assert_eq!(talk(&items), ["Ann: Hello", "Mira: Hi"]);
    assert_eq!(times(&items), ["2024-01-05T10:00:00Z", "2024-01-05T10:01:00Z"]);
    assert_eq!(messages(&items)[0].id, ExternalId::Given("1".to_owned()));
    assert_eq!(messages(&items)[0].conversation, "garden");
    assert_eq!(skips(&items)[0].place, "talk.jsonl, line 3");
}

#[test]
fn lists_of_roles_are_read() {
    let read = items("talk.json", JSON);
    assert_eq!(talk(&read), ["user: Hello", "assistant: Hi"]);
    assert_eq!(
        messages(&read).iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::User, Role::Persona]
    );
    assert!(skips(&read)[0].reason.contains("instruction"));
    let tuning = r#"{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}"#;
    let read = items("tuning.jsonl", format!("{tuning}\n{}\n", tuning.replace("\"a\"", "\"c\"")));
    let conversations = read.iter().filter(|item| matches!(item, Item::Conversation(_))).count();
    assert_eq!((messages(&read).len(), conversations), (4, 2));
}

#[test]
fn csv_is_read() {
    let items = items("talk.csv", CSV);
    assert_eq!(talk(&items), ["Ann: Hello; you", "Mira: Hi"]);
    assert_eq!(times(&items)[0], "2024-01-05T10:00:00");
}

#[test]
fn transcripts_are_read() {
    let read = items("talk.md", TRANSCRIPT);
    assert_eq!(talk(&read), ["Ann: Hello\nhow are you?", "Mira: Fine: thanks", "Ann: Good"]);
    assert_eq!(times(&read)[0], "2024-01-05T12:00:00");
    let read = items(
        "talk.txt",
        "[2024-01-05 10:00] 安：你好\n[2024-01-05 10:01] 米拉：嗯\n[2024-01-05 10:02] 安：再见\n",
    );
    assert_eq!(talk(&read), ["安: 你好", "米拉: 嗯", "安: 再见"]);
    assert_eq!(times(&read)[2], "2024-01-05T10:02:00");
    assert_eq!(inspect_upload("talk.txt", "You: hi\nAI: hello\nYou: bye\nAI: bye\n").speakers.len(), 2);
}

#[test]
fn other_text_is_a_document() {
    let diary = "# 2024-01-05\n\nWe went to the lake: it was cold.\nNote: bring bread.\n\nLater we slept.\nIt was a good day.\n";
    let read = items("diary.md", diary);
    let [Item::Document(document)] = &read[..] else { panic!("{read:?}") };
    assert_eq!((document.text.as_str(), document.day.unwrap().to_string()), (diary, "2024-01-05".to_owned()));
    let letter = "Dear Ann,\n\nthe ferry, the rain, the wind: all was late.\nCome soon,\nMira\n";
    assert!(matches!(items("letter.txt", letter)[..], [Item::Document(_)]));
}

#[test]
fn unknown_table_is_no_document_and_its_columns_are_named() {
    let table = "Wann;Wer;Nachricht\n05.01.2024 10:00;Ann;Hallo\n05.01.2024 10:01;Mira;Na du\n";
    for name in ["talk.csv", "talk.txt"] {
        let look = inspect_upload(name, table);
        assert_eq!((look.documents, look.skipped_count), (0, 1), "{name}");
        assert_eq!(look.fields, ["Wann", "Wer", "Nachricht"], "{name}");
        assert_eq!(look.field_samples, ["05.01.2024 10:00", "Ann", "Hallo"], "{name}");
    }
    let nested =
        r#"{"version": 3, "log": [{"wer": {"name": "Ann"}, "was": "Hallo\ndu", "n": 7}, {"was": "Na"}]}"#;
    let look = inspect_upload("talk.json", nested);
    assert_eq!(look.fields, ["version", "log", "log.wer", "log.was", "log.n"]);
    assert_eq!(look.field_samples, ["3", "", "", "Hallo du", "7"]);
    let list = r#"[{"wer": "Ann", "was": "Hallo"}, {"wer": "Mira", "was": "Na"}]"#;
    assert_eq!(inspect_upload("talk.json", list).field_samples, ["Ann", "Hallo"]);
}

#[test]
fn any_text_can_be_read_as_words_of_the_user() {
    let diary = "# 2024-01-05\n\nWe went to the lake: it was cold.\nNote: bring bread.\n\nLater we slept.\n\n2024-01-06\nLater we slept.\n";
    let read = items_as("own-words", "diary.md", diary);
    let [first, second, third] = &messages(&read)[..] else { panic!("{read:?}") };
    assert_eq!(first.text, "We went to the lake: it was cold.\nNote: bring bread.");
    assert_eq!((second.text.as_str(), &third.text), ("Later we slept.", &second.text));
    assert!([first, second, third].iter().all(|message| message.role == Role::User));
    assert_eq!(times(&read), ["2024-01-05T12:00:00", "2024-01-05T12:00:00", "2024-01-06T12:00:00"]);
    assert_eq!(first.place, "diary.md, line 3");
    let grown = items_as("own-words", "later.md", format!("{diary}\nA third day.\n"));
    let ids = |items: &[Item]| messages(items).iter().map(|message| message.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&grown)[..3], ids(&read));
    assert_eq!(messages(&grown)[3].conversation, first.conversation);
}

#[test]
fn unknown_files_are_skipped_with_their_kind() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"SQLite format 3\0rest", "database"),
        (b"\xFF\xD8\xFF\xE0 jpeg", "picture"),
        (b"<!DOCTYPE html><html></html>", "unknown file format"),
        (b"{\"settings\": {\"theme\": 1}}", "unknown file format"),
        (b"\0\0\0\x18ftypmp42", "video"),
    ] {
        let read = items("file", bytes);
        assert_eq!(read.len(), 1);
        assert!(skips(&read)[0].reason.contains(word), "{read:?}");
    }
}

#[test]
fn dates_of_spreadsheets_are_decided_over_the_whole_file() {
    let csv =
        "Timestamp,From,Text,Reaction,ID\n05/01/2024 10:30,Me,Hello,,1\n13/01/2024 22:05:07,Rep,Hi,,2\n";
    let read = items("backup.csv", csv);
    assert_eq!(times(&read), ["2024-01-05T10:30:00", "2024-01-13T22:05:07"]);
    assert_eq!(messages(&read)[0].role, Role::User);
    let csv = "date,name,text\n\"1/5/2024, 10:30 PM\",Ann,a\n\"1/13/2024, 9:00 AM\",Mira,b\nsoon,Ann,c\n";
    assert_eq!(times(&items("talk.csv", csv)), ["2024-01-05T22:30:00", "2024-01-13T09:00:00", ""]);
    let text = "[5.1.2024, 10:30] Ann: a\n[13.1.2024, 10:31] Mira: b\n[13.1.2024, 10:32] Ann: c\n";
    assert_eq!(times(&items("talk.txt", text))[..2], ["2024-01-05T10:30:00", "2024-01-13T10:31:00"]);
}
