//! Exports can be imported again without a difference.

use import::export::{ChatGptWriter, SillyTavernWriter};
use import::{Alternative, ExternalId, Item, Message, MessageTime, Role};
use jiff::Timestamp;
use proptest::prelude::*;

use crate::reading::{items, messages};

fn message(index: usize, role: Role, at: Timestamp, texts: &[String], shown_index: usize) -> Message {
    let speaker = if role == Role::User { "User" } else { "ChatGPT" };
    let alternatives = texts[1..].iter().enumerate().map(|(version, text)| Alternative {
        id: format!("m{index}#{version}"),
        follows: None,
        speaker: speaker.to_owned(),
        role,
        time: MessageTime::Instant(at),
        text: text.clone(),
        model: (role == Role::Persona).then(|| format!("m{version}")),
    });
    Message {
        id: ExternalId::Given(format!("m{index}")),
        conversation: "c".to_owned(),
        id_space: None,
        speaker: speaker.to_owned(),
        role,
        time: MessageTime::Instant(at),
        text: texts[0].clone(),
        alternatives: alternatives.collect(),
        shown_index: shown_index.min(texts.len() - 1),
        attachments: Vec::new(),
        model: (role == Role::Persona).then(|| "m".to_owned()),
        is_cleaned: false,
        place: String::new(),
    }
}

type Content<'a> = (&'a str, Role, MessageTime, &'a str, usize, Vec<&'a str>, Option<&'a str>);

/// The parts of a message that a format stores.
fn contents<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Content<'a>> {
    let one = |message: &'a Message| {
        let versions = message.alternatives.iter().map(|version| version.text.as_str()).collect();
        let Message { speaker, role, time, text, shown_index, model, .. } = message;
        (speaker.as_str(), *role, *time, text.as_str(), *shown_index, versions, model.as_deref())
    };
    messages.into_iter().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn talk_comes_back_from_both_forms(talk in prop::collection::vec((any::<bool>(), 0..4_000_000_000_000_000i64, prop::collection::vec("[a-z好\"\\\\\n]{0,8}[a-z好]", 1..4), 0..4usize), 1..12)) {
        let written: Vec<Message> = talk
            .iter()
            .enumerate()
            .map(|(index, (is_user, at, texts, shown))| {
                let role = if *is_user { Role::User } else { Role::Persona };
                message(index, role, Timestamp::from_microsecond(*at).unwrap(), texts, *shown)
            })
            .collect();
        let mut writer = ChatGptWriter::new(Vec::new()).unwrap();
        writer.begin("c", "Bees", written[0].time).unwrap();
        written.iter().for_each(|message| writer.write(message).unwrap());
        let read = items("conversations.json", writer.finish().unwrap());
        prop_assert_eq!(contents(messages(&read)), contents(&written));
        prop_assert!(messages(&read).iter().zip(&written).all(|(read, written)| read.id == written.id));

        let mut writer = SillyTavernWriter::new(Vec::new(), "c", "ChatGPT", "User", Timestamp::UNIX_EPOCH).unwrap();
        written.iter().for_each(|message| writer.write(message).unwrap());
        let (bytes, left_out) = writer.finish().unwrap();
        prop_assert_eq!(left_out, 0);
        let read = items("chat.jsonl", bytes);
        prop_assert_eq!(contents(messages(&read)), contents(&written));
        let is_named = matches!(&read[0], Item::Conversation(start) if start.id == "c");
        prop_assert!(is_named);
    }
}

#[test]
fn words_of_others_stay_theirs_in_both_forms() {
    let mut message = messages(&items("conversations.json", crate::chatgpt::sample()))[0].clone();
    (message.role, message.speaker) = (Role::Other, "Tom".to_owned());
    message.alternatives.clear();
    let who = |items: &[Item]| -> Vec<(String, Role)> {
        messages(items).iter().map(|message| (message.speaker.clone(), message.role)).collect()
    };
    let mut writer = ChatGptWriter::new(Vec::new()).unwrap();
    writer.begin("c", "Bees", message.time).unwrap();
    writer.write(&message).unwrap();
    let read = items("conversations.json", writer.finish().unwrap());
    assert_eq!(who(&read), [("Tom".to_owned(), Role::Other)]);
    let mut writer = SillyTavernWriter::new(Vec::new(), "c", "Mira", "Ann", Timestamp::UNIX_EPOCH).unwrap();
    writer.write(&message).unwrap();
    let read = items("chat.jsonl", writer.finish().unwrap().0);
    assert_eq!(who(&read)[0].0, "Tom");
}

#[test]
fn branches_come_back_from_chatgpts_form() {
    let original = items("conversations.json", crate::chatgpt::sample());
    let mut writer = ChatGptWriter::new(Vec::new()).unwrap();
    writer.begin("c-1", "Bees", MessageTime::Unknown).unwrap();
    messages(&original).into_iter().for_each(|message| writer.write(message).unwrap());
    writer.begin("c-2", "Empty", MessageTime::Unknown).unwrap();
    let read = items("conversations.json", writer.finish().unwrap());
    let tree = |items: &[Item]| -> Vec<_> {
        messages(items)
            .into_iter()
            .map(|message| (message.id.clone(), message.shown_index, message.alternatives.clone()))
            .collect()
    };
    assert_eq!(tree(&read), tree(&original));
    let starts = read.iter().filter(|item| matches!(item, Item::Conversation(_))).count();
    assert_eq!(starts, 2);
    let mut writer = SillyTavernWriter::new(Vec::new(), "c", "M", "U", Timestamp::UNIX_EPOCH).unwrap();
    messages(&original).into_iter().for_each(|message| writer.write(message).unwrap());
    assert_eq!(writer.finish().unwrap().1, 1, "the answer to the question that was asked anew");
}
