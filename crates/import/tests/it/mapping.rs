use import::{ImportError, Item, MappedItem, MappedMessage, Mapper, Mapping, Role, Speaker};
use jiff::Timestamp;

use crate::reading::items;

fn mapped(mapping: Mapping, items: Vec<Item>) -> (Vec<MappedMessage>, Vec<String>) {
    let mut mapper = Mapper::new(mapping).unwrap();
    let (mut messages, mut skips) = (Vec::new(), Vec::new());
    for item in items {
        match mapper.map_record(item) {
            MappedItem::Message(message) => messages.push(message),
            MappedItem::Item(Item::Skip(skip)) => skips.push(skip.reason),
            MappedItem::Item(_) => {}
        }
    }
    (messages, skips)
}

fn instants(zone: &str, text: &str) -> Vec<String> {
    let mapping = Mapping { zone: Some(zone.to_owned()), ..Mapping::default() };
    let (messages, _) = mapped(mapping, items("_chat.txt", text));
    messages.into_iter().map(|message| message.at.unwrap().to_string()).collect()
}

#[test]
fn a_person_says_who_is_who() {
    let mut mapping = Mapping::default();
    assert_eq!(mapping.speaker("ChatGPT", Role::Persona), Speaker::Persona);
    assert_eq!(mapping.speaker("Ann", Role::Other), Speaker::Other("Ann".to_owned()));
    mapping.user.insert("Ann".to_owned());
    mapping.persona.insert("Mira".to_owned());
    assert_eq!(mapping.speaker("Ann", Role::Other), Speaker::User);
    assert_eq!(mapping.speaker("Mira", Role::User), Speaker::Persona);
    assert_eq!(
        mapping.speaker("Theo", Role::Persona),
        Speaker::Other("Theo".to_owned()),
        "the names are given"
    );
    mapping.use_roles = Some(true);
    assert_eq!(mapping.speaker("Theo", Role::Persona), Speaker::Persona);
}

#[test]
fn local_times_are_read_in_the_zone() {
    let text = "1/5/24, 22:30 - Ann: winter\n13/7/24, 22:30 - Ann: summer\n";
    assert_eq!(instants("Europe/Berlin", text), ["2024-05-01T20:30:00Z", "2024-07-13T20:30:00Z"]);
    assert_eq!(instants("Asia/Shanghai", text), ["2024-05-01T14:30:00Z", "2024-07-13T14:30:00Z"]);
}

#[test]
fn a_time_that_a_clock_change_skips_moves_forward() {
    // On 2024-03-31 the clocks of Berlin went from 02:00 to 03:00.
    let text = "31/3/24, 01:59 - Ann: a\n31/3/24, 02:30 - Ann: b\n31/3/24, 03:31 - Ann: c\n";
    assert_eq!(
        instants("Europe/Berlin", text),
        ["2024-03-31T00:59:00Z", "2024-03-31T01:30:00Z", "2024-03-31T01:31:00Z"]
    );
}

#[test]
fn a_time_that_occurs_twice_does_not_go_back() {
    // On 2024-10-27 the clocks of Berlin went from 03:00 back to 02:00.
    let text = "27/10/24, 02:50 - Ann: a\n27/10/24, 02:10 - Ann: b\n27/10/24, 03:00 - Ann: c\n";
    assert_eq!(
        instants("Europe/Berlin", text),
        ["2024-10-27T00:50:00Z", "2024-10-27T01:10:00Z", "2024-10-27T02:00:00Z"]
    );
}

#[test]
fn messages_left_out_by_options_are_skips() {
    let text = "1/5/24, 22:30 - Ann: a\n13/5/24, 22:30 - Ann: b\n";
    let since = Mapping { since: Some("2024-05-02".parse().unwrap()), ..Mapping::default() };
    let (messages, skips) = mapped(since, items("_chat.txt", text));
    assert_eq!((messages.len(), skips), (1, vec!["it is from before 2024-05-02".to_owned()]));
    let until = Mapping { until: Some("2024-05-01".parse().unwrap()), ..Mapping::default() };
    let (messages, skips) = mapped(until, items("_chat.txt", text));
    assert_eq!((messages.len(), skips), (1, vec!["it is from after 2024-05-01".to_owned()]));
    let none = Mapping { conversations: Some(["other".to_owned()].into()), ..Mapping::default() };
    let (messages, skips) = mapped(none, items("_chat.txt", text));
    assert_eq!((messages.len(), skips.len()), (0, 2));
}

#[test]
fn an_undated_message_has_the_time_before_it() {
    let text = "{\"user\": \"Ann\", \"text\": \"a\", \"time\": \"2024-01-05T10:00:00Z\"}\n{\"user\": \"Ann\", \"text\": \"b\"}\n";
    let (messages, _) = mapped(Mapping::default(), items("a.jsonl", text));
    let at: Option<Timestamp> = Some("2024-01-05T10:00:00Z".parse().unwrap());
    assert_eq!((messages[0].at, messages[1].at), (at, at));
    let (messages, _) = mapped(Mapping::default(), items("a.txt", "Ann: a\nTheo: b\nAnn: c\n"));
    assert_eq!(messages[0].at, None);
}

#[test]
fn an_unknown_zone_is_refused() {
    let mapping = Mapping { zone: Some("Mars/Olympus".to_owned()), ..Mapping::default() };
    assert!(matches!(Mapper::new(mapping), Err(ImportError::UnknownZone(_))));
}
