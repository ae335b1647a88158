use import::Item;

use crate::reading::{inspect_upload, items, messages, skips, talk, times};

pub(crate) const IOS: &str =
    "\u{200E}[05.01.24, 09:58:00] Ann: \u{200E}Messages and calls are end-to-end encrypted.\r
[05.01.24, 10:30:12] Ann: Good morning\r
how are you?\r
[13.01.24, 10:31:00] Theo: Fine\r
\u{200E}[13.01.24, 10:31:30] Theo: \u{200E}<attached: 00000004-PHOTO-2024-01-13-10-31-30.jpg>\r
[13.01.24, 10:32:00] Ann: \u{200E}This message was deleted.\r
";

const ANDROID: &str = "1/5/24, 9:58 PM - Messages and calls are end-to-end encrypted. Tap to learn more.
1/5/24, 10:30\u{202F}PM - Ann: Good evening
1/13/24, 12:05 AM - Theo: <Media omitted>
1/13/24, 12:06 AM - Theo: IMG-20240113-WA0001.jpg (file attached)
the lake
1/13/24, 12:07 AM - Ann: Note: bring bread
";

#[test]
fn ios_chats_are_read() {
    let items = items("_chat.txt", IOS);
    assert_eq!(talk(&items)[..2], ["Ann: Good morning\nhow are you?", "Theo: Fine"]);
    assert_eq!(times(&items)[..2], ["2024-01-05T10:30:12", "2024-01-13T10:31:00"]);
    assert_eq!(
        messages(&items)[2].text_with_attachments(),
        "[image: 00000004-PHOTO-2024-01-13-10-31-30.jpg]"
    );
    assert!(skips(&items)[0].reason.contains("notice"), "Messages and calls are end-to-end encrypted");
    assert_eq!(skips(&items)[1].reason, "its sender deleted it");
    assert!(skips(&items)[1].place.ends_with("line 6"));
}

#[test]
fn android_chats_are_read() {
    let items = items("WhatsApp Chat with Theo.txt", ANDROID);
    assert!(matches!(&items[0], Item::Conversation(start) if start.title.as_deref() == Some("Theo")));
    assert_eq!(talk(&items), ["Ann: Good evening", "Theo: ", "Theo: the lake", "Ann: Note: bring bread"]);
    assert_eq!(
        times(&items),
        ["2024-01-05T22:30:00", "2024-01-13T00:05:00", "2024-01-13T00:06:00", "2024-01-13T00:07:00"]
    );
    assert!(skips(&items)[0].reason.contains("notice"));
}

/// Every order of day, month and year, with and without a day that shows the order.
#[test]
fn every_date_order_is_found_over_the_whole_file() {
    let days = [(2024, 3, 4), (2024, 3, 5), (2024, 3, 6), (2024, 4, 1), (2024, 4, 2)];
    type WriteDay = fn((u16, u16, u16)) -> String;
    let forms: [(&str, WriteDay); 7] = [
        ("d/m/yy", |(y, m, d)| format!("{d}/{m}/{}", y % 100)),
        ("dd.mm.yyyy", |(y, m, d)| format!("{d:02}.{m:02}.{y}")),
        ("m/d/yy", |(y, m, d)| format!("{m}/{d}/{}", y % 100)),
        ("mm-dd-yyyy", |(y, m, d)| format!("{m:02}-{d:02}-{y}")),
        ("yyyy-mm-dd", |(y, m, d)| format!("{y}-{m:02}-{d:02}")),
        ("yyyy/m/d", |(y, m, d)| format!("{y}/{m}/{d}")),
        ("yyyy年m月d日", |(y, m, d)| format!("{y}年{m}月{d}日")),
    ];
    for (name, form) in forms {
        let text: String = days.iter().map(|day| format!("{}, 10:00 - Ann: hi\n", form(*day))).collect();
        let expected: Vec<String> =
            days.iter().map(|(y, m, d)| format!("{y}-{m:02}-{d:02}T10:00:00")).collect();
        assert_eq!(times(&items("_chat.txt", text)), expected, "{name}");
    }
}

#[test]
fn the_same_chat_is_known_when_it_begins_later() {
    let later = IOS.split_once("[13.01").map(|(_, rest)| format!("[13.01{rest}")).unwrap();
    let id = |text: &str| match &items("_chat.txt", text)[0] {
        Item::Conversation(start) => start.id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(id(IOS), id(&later));
    let ids = |text: &str| {
        messages(&items("_chat.txt", text)).iter().map(|message| message.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(IOS)[1..], ids(&later)[..]);
}

#[test]
fn equal_messages_of_one_minute_are_kept_apart() {
    let text = "1/5/24, 22:30 - Ann: ok\n1/5/24, 22:30 - Ann: ok\n1/5/24, 22:30 - Theo: ok\n";
    let items = items("_chat.txt", text);
    let mut ids: Vec<_> = messages(&items).iter().map(|message| &message.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_look_says_who_and_when() {
    let look = inspect_upload("_chat.txt", ANDROID);
    let speakers: Vec<_> =
        look.speakers.iter().map(|speaker| (speaker.name.as_str(), speaker.messages)).collect();
    assert_eq!(speakers, [("Ann", 2), ("Theo", 2)]);
    assert_eq!((look.format.as_str(), look.messages, look.skipped_count, look.found), ("whatsapp", 4, 1, 5));
    assert_eq!(
        (look.first.as_deref(), look.last.as_deref()),
        (Some("2024-01-05T22:30:00"), Some("2024-01-13T00:07:00"))
    );
    assert!(look.needs_zone);
}
