//! Which older memories an event takes the place of, by the time that it speaks of.
//!
//! A statement about the past never replaces the present, and a plan does so when it is reported as done. Which of two statements
//! was said later is settled where they are stored.

use jiff::civil::date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::evidence::CheckedEvent;
use crate::corrections::contradicts;
use crate::messages::Message;
use crate::nodes::{Node, NodeKind};
use crate::text::{
    CorrectionCue, correction_cue, split_sentences, tells_of_addition, tells_of_the_past,
    tells_of_the_present,
};

/// What happened this long before another memory was formed does not replace it.
const LONG_BEFORE: SignedDuration = SignedDuration::from_hours(60 * 24);
/// What happens this long after it was said is a plan.
const PLANNED_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// Keeps of what the model would replace only what the event can replace, and adds what it contradicts: of two values that
/// can't both be current the later one is, whether the model saw it or not.
pub(super) fn settle_replaced(checked: &mut CheckedEvent, messages: &[Message], known: &[Node]) {
    let proving: Vec<(&Message, &str)> = checked
        .evidence
        .iter()
        .filter_map(|proof| {
            let message = messages.iter().find(|message| message.id == proof.message_id)?;
            Some((message, sentence_around(&message.content, &proof.quote)))
        })
        .collect();
    let has_cue = |wanted: CorrectionCue| {
        proving.iter().any(|(message, _)| correction_cue(&message.content) == Some(wanted))
    };
    let event = &mut checked.event;
    // Who says that it never was so speaks of any time.
    let is_mistaken = has_cue(CorrectionCue::Mistaken);
    let said_at = proving.iter().map(|(message, _)| message.created_at).max();
    let time = event.event_time.map(|time| (time.start, time.end.unwrap_or(time.start)));
    let time = time.or_else(|| proving.iter().find_map(|(_, sentence)| year_in(sentence)));
    let is_plan = time.zip(said_at).is_some_and(|((start, _), at)| start.duration_since(at) > PLANNED_AFTER);
    let is_present = proving.iter().any(|(_, sentence)| tells_of_the_present(sentence));
    let is_past = !proving.is_empty() && proving.iter().all(|(_, sentence)| tells_of_the_past(sentence));
    // A plan is replaced by another plan.
    if event.kind != NodeKind::Event {
        return;
    }
    let stays = |node: &Node| {
        let age = time.map(|(_, end)| node.created_at.duration_since(end));
        let was_before = age.is_some_and(|age| age > LONG_BEFORE);
        let is_planned = node.event_time.is_some_and(|time| time.start > node.created_at);
        !is_mistaken && !is_present && (is_past || was_before || is_plan && !is_planned)
    };
    event.supersedes.retain(|id| !known.iter().any(|node| node.id == *id && stays(node)));
    let corrects = is_mistaken || has_cue(CorrectionCue::Changed);
    let adds = proving.iter().any(|(_, sentence)| tells_of_addition(sentence));
    if adds && !is_mistaken {
        return;
    }
    let contradicted = known.iter().filter(|node| {
        node.kind == NodeKind::Event
            && !stays(node)
            && node.subject == event.subject
            && !event.supersedes.contains(&node.id)
            && contradicts(&event.description, &node.description, corrects)
    });
    let contradicted: Vec<_> = contradicted.map(|node| node.id).collect();
    event.supersedes.extend(contradicted);
}

/// The sentence in which a quote stands; the quote where it goes beyond one.
fn sentence_around<'a>(text: &'a str, quote: &'a str) -> &'a str {
    split_sentences(text).into_iter().find(|sentence| sentence.contains(quote)).unwrap_or(quote)
}

/// The year in which a sentence says that something happened, "in 1999" or 2015年, from its first to its last moment. Other numbers of
/// four digits are none, and "since 1999" tells what is so now.
fn year_in(sentence: &str) -> Option<(Timestamp, Timestamp)> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let year = sentence.match_indices(is_digit).find_map(|(start, _)| {
        let (before, rest) = sentence.split_at(start);
        let number = &rest[..rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len())];
        let is_said = before.to_lowercase().ends_with("in ") || rest[number.len()..].starts_with('年');
        let is_whole = number.len() == 4 && !before.ends_with(is_digit);
        number.parse::<i16>().ok().filter(|year| is_whole && is_said && (1900..2100).contains(year))
    })?;
    let moment = |day: jiff::civil::Date| day.to_zoned(TimeZone::UTC).ok().map(|moment| moment.timestamp());
    Some((moment(date(year, 1, 1))?, moment(date(year, 12, 31))?))
}

#[cfg(test)]
mod tests {
    use super::super::evidence::{EvidenceSources, check};
    use super::super::fixtures::{node, user_says};
    use super::*;
    use crate::nodes::{EventTime, Subject};
    use crate::ports::{ProposedEvent, ProposedQuote};

    /// Whether an event with these words, said in March 2026, replaces a memory of January, where the model says so and where
    /// nobody does.
    fn replaces(words: &str, description: &str, older: &str, event_time: Option<&str>) -> [bool; 2] {
        let at = |day: &str| format!("{day}T12:00:00Z").parse::<Timestamp>().unwrap();
        let older = Node { created_at: at("2026-01-10"), ..node(NodeKind::Event, older) };
        let message = Message { created_at: at("2026-03-04"), ..user_says(words) };
        [vec![older.id], Vec::new()].map(|supersedes| {
            let event = ProposedEvent {
                kind: NodeKind::Event,
                description: description.to_owned(),
                emotional_impact: 2,
                emotion_tags: Vec::new(),
                relational_tags: Vec::new(),
                subject: Subject::User,
                event_time: event_time.map(|day| EventTime { start: at(day), end: None }),
                evidence: vec![ProposedQuote { message_id: message.id, quote: words.to_owned() }],
                supersedes,
                entities: Vec::new(),
            };
            let messages = std::slice::from_ref(&message);
            let mut checked = check(event, EvidenceSources { messages, recalled: &[], people: &[] });
            settle_replaced(&mut checked, messages, std::slice::from_ref(&older));
            checked.event.supersedes == [older.id]
        })
    }

    #[test]
    fn the_present_is_replaced_by_what_is_said_of_it() {
        for (words, description) in [
            ("I moved to Porto last week", "The user lives in Porto"),
            ("I used to live in Hamburg, now I live in Porto", "The user lives in Porto"),
            ("No, I live in Porto", "The user lives in Porto"),
            ("I moved in 2015 and live in Porto now", "The user lives in Porto"),
        ] {
            let found = replaces(words, description, "The user lives in Hamburg", None);
            assert_eq!(found, [true, true], "{words}");
        }
        for words in ["My flat is at 2000 Hill Street", "I live in Porto since 2010", "I pay 1950 in Porto"] {
            assert!(
                replaces(words, "The user lives in Porto", "The user lives in Hamburg", None)[0],
                "{words}"
            );
        }
        let found = replaces("我搬到上海了", "用户住在上海", "用户住在北京", None);
        assert!(found[0], "{found:?}");
    }

    #[test]
    fn the_past_and_plans_replace_nothing() {
        for (words, description, time) in [
            ("In 1999 I moved to Porto", "The user moved to Porto in 1999", None),
            ("I moved to Porto as a student", "The user moved to Porto", Some("1999-05-01")),
            ("I used to live in Porto", "The user used to live in Porto", None),
            ("When I lived in Porto I had a cat", "The user lived in Porto", None),
            ("Next year I will move to Porto", "The user will move to Porto", Some("2027-01-01")),
            ("1999年我搬到了上海", "用户住在上海", None),
            ("我以前住在上海", "用户以前住在上海", None),
            ("住在上海的那几年我很开心", "用户住在上海", None),
        ] {
            for older in ["The user lives in Hamburg", "用户住在北京"] {
                assert_eq!(replaces(words, description, older, time), [false, false], "{words}");
            }
        }
    }

    #[test]
    fn a_plan_replaces_a_plan() {
        let at = |day: &str| format!("{day}T12:00:00Z").parse::<Timestamp>().unwrap();
        let time = |day: &str| Some(EventTime { start: at(day), end: None });
        let exam = node(NodeKind::Event, "The user's exam is on Friday");
        let older = Node { created_at: at("2026-03-01"), event_time: time("2026-03-06"), ..exam };
        let message = Message { created_at: at("2026-03-04"), ..user_says("My exam is on Monday") };
        let event = ProposedEvent {
            kind: NodeKind::Event,
            description: "The user's exam is on Monday".to_owned(),
            emotional_impact: 2,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: Subject::User,
            event_time: time("2026-03-09"),
            evidence: vec![ProposedQuote { message_id: message.id, quote: message.content.clone() }],
            supersedes: vec![older.id],
            entities: Vec::new(),
        };
        let messages = std::slice::from_ref(&message);
        let mut checked = check(event, EvidenceSources { messages, recalled: &[], people: &[] });
        settle_replaced(&mut checked, messages, std::slice::from_ref(&older));
        assert_eq!(checked.event.supersedes, [older.id]);
    }

    #[test]
    fn what_is_added_leaves_the_other_unless_the_model_says_otherwise() {
        for (words, description, older) in [
            (
                "During the week I live in Geneva, too",
                "The user lives in Geneva",
                "The user lives in Hamburg",
            ),
            ("I also work at the library", "The user works at the library", "The user works at the bakery"),
            ("我同时住在上海", "用户住在上海", "用户住在北京"),
        ] {
            assert!(!replaces(words, description, older, None)[1], "{words}");
        }
    }

    #[test]
    fn who_was_mistaken_corrects_the_past_too() {
        let words = "I got that wrong, I live in Porto since 1999";
        let found = replaces(words, "The user lives in Porto since 1999", "The user lives in Hamburg", None);
        assert!(found[0], "{found:?}");
    }
}
