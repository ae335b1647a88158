//! Laws of every file: order, counts, resumption, digests.

use import::{
    FoundItem, Item, MappedItem, Mapper, Mapping, MessageTime, ReadOptions, ReadPosition, preview, read,
};
use proptest::prelude::*;

use crate::reading::{found, items, messages, sources, talk};
use crate::samples::samples;

#[test]
fn reading_resumes_at_every_position() {
    for (format, name, bytes) in samples() {
        let sources = sources(name, &bytes);
        let all = found(&sources);
        let mut before = ReadPosition::default();
        for (index, found) in all.iter().enumerate() {
            assert!(found.position > before, "{format}: positions rise");
            before = found.position;
            let rest = read(&sources, &ReadOptions::default(), found.position).unwrap();
            let rest: Vec<FoundItem> = rest.map(Result::unwrap).collect();
            assert_eq!(rest, all[index + 1..], "{format} after {index}");
        }
    }
}

#[test]
fn a_position_beyond_the_files_is_refused() {
    let sources = sources("_chat.txt", crate::whatsapp::IOS);
    for position in [ReadPosition { source: 0, item: 99 }, ReadPosition { source: 2, item: 0 }] {
        assert!(read(&sources, &ReadOptions::default(), position).is_err(), "{position:?}");
    }
    assert!(
        read(
            &sources,
            &ReadOptions { format: Some("fax".to_owned()), ..ReadOptions::default() },
            ReadPosition::default()
        )
        .is_err()
    );
}

#[test]
fn a_second_read_finds_the_same() {
    for (format, name, bytes) in samples() {
        assert_eq!(items(name, &bytes), items(name, &bytes), "{format}");
    }
}

/// Messages: speaker, minutes since the preceding one, text.
fn talk_lines() -> impl Strategy<Value = Vec<(bool, u16, String)>> {
    prop::collection::vec((any::<bool>(), 0..3000u16, "[a-z好 ]{0,12}[a-z好]"), 1..60)
}

fn civil_times(lines: &[(bool, u16, String)]) -> Vec<jiff::civil::DateTime> {
    let mut at = jiff::civil::date(2023, 11, 20).at(8, 0, 0, 0);
    lines
        .iter()
        .map(|(_, minutes, _)| {
            at = at.saturating_add(jiff::Span::new().minutes(i64::from(*minutes)));
            at
        })
        .collect()
}

fn name(is_ann: bool) -> &'static str {
    if is_ann { "Ann" } else { "Theo" }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// With any order of day, month and year and any clock, the order of messages and their times are those of the
    /// file, as long as it contains a day after the twelfth.
    #[test]
    fn whatsapp_keeps_order_and_times(lines in talk_lines(), form in 0..5usize) {
        let times = civil_times(&lines);
        prop_assume!(times.iter().any(|at| at.day() > 12 && i16::from(at.day()) != at.year() % 100));
        let header = |at: &jiff::civil::DateTime| match form {
            0 => at.strftime("%d/%m/%Y, %H:%M").to_string(),
            1 => at.strftime("%m/%d/%y, %I:%M %p").to_string(),
            2 => at.strftime("%d.%m.%y, %H:%M").to_string(),
            3 => at.strftime("%Y-%m-%d, %I:%M %p").to_string(),
            _ => at.strftime("%Y/%m/%d %H:%M").to_string(),
        };
        let text: String = lines
            .iter()
            .zip(&times)
            .map(|((is_ann, _, text), at)| format!("{} - {}: {text}\n", header(at), name(*is_ann)))
            .collect();
        let items = items("_chat.txt", text);
        let expected: Vec<String> = lines.iter().map(|(is_ann, _, text)| format!("{}: {text}", name(*is_ann))).collect();
        prop_assert_eq!(talk(&items), expected);
        let read: Vec<MessageTime> = messages(&items).iter().map(|message| message.time).collect();
        let expected: Vec<MessageTime> = times.into_iter().map(MessageTime::Local).collect();
        prop_assert_eq!(read, expected);
    }

    /// A newer export repeats the ids of the earlier one and adds new ones.
    #[test]
    fn a_grown_file_adds_only_what_is_new(lines in talk_lines(), cut in any::<prop::sample::Index>()) {
        let times = civil_times(&lines);
        let written: Vec<String> = lines
            .iter()
            .zip(&times)
            .map(|((is_ann, _, text), at)| serde_json::json!({"from": name(*is_ann), "text": text, "time": at.to_string()}).to_string())
            .collect();
        let cut = cut.index(written.len()) + 1;
        let ids = |lines: &[String]| -> Vec<_> {
            messages(&items("a.jsonl", format!("{}\n", lines.join("\n")))).iter().map(|message| (message.conversation.clone(), message.id.clone())).collect()
        };
        let whole = ids(&written);
        prop_assert_eq!(&ids(&written[..cut])[..], &whole[..cut]);
        let mut distinct = whole.clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), whole.len());
    }

    /// Local times in any zone with clock changes: times that rise in the file do not fall as instants, except in the
    /// repeated hour, where the file is ambiguous.
    #[test]
    fn instants_rise_with_local_times(lines in talk_lines(), zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"])) {
        let mut mapper = Mapper::new(Mapping { zone: Some(zone.to_owned()), ..Mapping::default() }).unwrap();
        let text: String = civil_times(&lines).iter().map(|at| format!("{} - Ann: x\n", at.strftime("%Y-%m-%d, %H:%M"))).collect();
        let mut previous = None;
        for item in items("_chat.txt", text) {
            if let MappedItem::Message(message) = mapper.map_record(item) {
                prop_assert!(previous <= message.at);
                previous = message.at;
            }
        }
    }

    /// Any bytes, in any format.
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300), format in prop::sample::select(import::formats().iter().map(|format| format.id).collect::<Vec<_>>())) {
        crate::foreign_bytes::are_read(Some(format), &bytes);
        crate::foreign_bytes::are_read(None, &bytes);
    }

    /// Samples with changed bytes.
    #[test]
    fn changed_samples_are_read(at in any::<prop::sample::Index>(), sample in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..4)) {
        let samples = samples();
        let (format, _, mut sample) = samples[sample.index(samples.len())].clone();
        let at = at.index(sample.len());
        sample.splice(at..(at + 1), bytes);
        crate::foreign_bytes::are_read(Some(format), &sample);
    }
}

#[test]
fn a_look_counts_what_a_read_finds() {
    for (format, name, bytes) in samples() {
        let sources = sources(name, &bytes);
        let all = found(&sources);
        let look = preview(&sources, &ReadOptions::default()).unwrap();
        let count = |is: fn(&Item) -> bool| all.iter().filter(|found| is(&found.item)).count() as u64;
        assert_eq!(look.messages, count(|item| matches!(item, Item::Message(_))), "{format}");
        assert_eq!(look.skipped_count, count(|item| matches!(item, Item::Skip(_))), "{format}");
        assert_eq!(look.found, count(Item::is_counted), "{format}");
        let parts = look.messages
            + look.documents
            + look.cards
            + look.lorebooks
            + look.core_drafts
            + look.skipped_count;
        assert_eq!(look.found, parts, "{format}");
    }
}
