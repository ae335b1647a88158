//! Checks the time of an event against its quotes: a model that counted from the wrong day is corrected by 昨天
//! (yesterday).

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::evidence::CheckedEvent;
use crate::messages::Message;
use crate::nodes::{EventTime, Evidence};
use crate::text::{TimePhrase, fold, tells_when, time_phrases};

/// Hour until which people who are awake may mean either day by 昨天 (yesterday).
const NIGHT_END_HOUR: i8 = 5;

/// Corrects the time that a model gave to an event, by the times in its quotes. Returns a description of the change.
///
/// The time is replaced only if the quotes name exactly one time, relative to when they were said ("last Friday"),
/// contain no other expression of time, and the model's answer does not overlap with it. Relative times are counted
/// from the quoted message, in the user's zone.
pub(super) fn correct_event_time(
    checked: &mut CheckedEvent,
    messages: &[Message],
    zone: &TimeZone,
    week_start: Weekday,
) -> Option<String> {
    let named: Vec<NamedTime> = checked
        .evidence
        .iter()
        .flat_map(|evidence| named_times(evidence, messages, zone, week_start))
        .collect();
    let answered = checked.event.event_time;
    if answered.is_some_and(|time| named.iter().any(|said| said.overlaps(time))) {
        return None;
    }
    let [only, rest @ ..] = named.as_slice() else { return None };
    let alone = rest.iter().all(|other| other.time == only.time);
    if !only.phrase.sure || !alone || named.iter().any(|said| said.tells_more) {
        return None;
    }
    checked.event.event_time = Some(only.time);
    let note = match answered {
        None => format!("event_time taken from the words: {}", only.time.start),
        Some(answered) => {
            format!("event_time {} does not fit the words, {} does", answered.start, only.time.start)
        }
    };
    Some(note)
}

/// A time that a quote names.
struct NamedTime {
    phrase: TimePhrase,
    time: EventTime,
    slack: SignedDuration,
    /// True if the quote contains another expression of time that is not understood.
    tells_more: bool,
}

impl NamedTime {
    /// True if a time overlaps with the named one, allowing for differences between speakers.
    fn overlaps(&self, time: EventTime) -> bool {
        let widened = |at: Timestamp, by: SignedDuration| at.checked_add(by).unwrap_or(at);
        let (start, end) = (widened(self.phrase.start, -self.slack), widened(self.phrase.end, self.slack));
        time.start <= end && time.end.unwrap_or(time.start) >= start
    }
}

fn named_times(
    evidence: &Evidence,
    messages: &[Message],
    zone: &TimeZone,
    week_start: Weekday,
) -> Vec<NamedTime> {
    let Some(message) = messages.iter().find(|message| message.id == evidence.message_id) else {
        return Vec::new();
    };
    let phrases = time_phrases(&evidence.quote, message.created_at, zone, week_start);
    let folded = fold(&evidence.quote);
    let rest: String = folded
        .char_indices()
        .map(
            |(at, character)| {
                if phrases.iter().any(|phrase| phrase.place.contains(&at)) { ' ' } else { character }
            },
        )
        .collect();
    let has_moment = phrases.iter().any(|phrase| phrase.moment.is_some());
    let has_number = rest.chars().any(|character| character.is_ascii_digit()) && !has_moment;
    let tells_more = has_number || tells_when(&rest);
    let awake_late = message.created_at.to_zoned(zone.clone()).hour() < NIGHT_END_HOUR;
    let said = |phrase: TimePhrase| {
        let days = phrase.slack_days + i64::from(awake_late);
        let time = match phrase.moment {
            Some(moment) => EventTime { start: moment, end: None },
            None => EventTime { start: phrase.start, end: Some(phrase.end) },
        };
        NamedTime { slack: SignedDuration::from_hours(24 * days), time, tells_more, phrase }
    };
    phrases.into_iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::super::evidence::{EvidenceSources, check};
    use super::super::fixtures::user_says;
    use super::*;
    use crate::nodes::{NodeKind, Subject};
    use crate::ports::{ProposedEvent, ProposedQuote};

    fn zone() -> TimeZone {
        TimeZone::get("Asia/Shanghai").unwrap()
    }

    /// The corrected time, as days, for a session on Wednesday 2026-03-04.
    fn corrected_days(text: &str, clock: &str, answered: Option<(&str, &str)>) -> Option<(String, String)> {
        let moment = |text: &str| -> Timestamp {
            text.parse::<jiff::civil::DateTime>().unwrap().to_zoned(zone()).unwrap().timestamp()
        };
        let message = Message { created_at: moment(&format!("2026-03-04T{clock}:00")), ..user_says(text) };
        let event = ProposedEvent {
            kind: NodeKind::Event,
            description: "d".to_owned(),
            emotional_impact: 2,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: Subject::User,
            event_time: answered.map(|(start, end)| EventTime {
                start: moment(&format!("{start}T00:00:00")),
                end: Some(moment(&format!("{end}T23:59:59"))),
            }),
            evidence: vec![ProposedQuote { message_id: message.id, quote: text.to_owned() }],
            supersedes: Vec::new(),
            entities: Vec::new(),
        };
        let mut checked = check(
            event,
            EvidenceSources { messages: std::slice::from_ref(&message), recalled: &[], people: &[] },
        );
        correct_event_time(&mut checked, std::slice::from_ref(&message), &zone(), Weekday::Monday);
        let civil = |at: Timestamp| at.to_zoned(zone()).strftime("%Y-%m-%d %H:%M").to_string();
        checked.event.event_time.map(|time| (civil(time.start), civil(time.end.unwrap_or(time.start))))
    }

    fn day(date: &str) -> Option<(String, String)> {
        Some((format!("{date} 00:00"), format!("{date} 23:59")))
    }

    #[test]
    fn a_time_that_was_not_answered_is_taken_from_the_words() {
        assert_eq!(corrected_days("昨天外婆走了", "20:00", None), day("2026-03-03"));
        assert_eq!(corrected_days("I saw Ann two days ago", "20:00", None), day("2026-03-02"));
        assert_eq!(corrected_days("今天我辞职了", "20:00", None), day("2026-03-04"));
        let at_five = Some(("2026-03-05 17:00".to_owned(), "2026-03-05 17:00".to_owned()));
        assert_eq!(corrected_days("my exam is tomorrow at 5", "20:00", None), at_five);
        assert_eq!(corrected_days("明天下午五点面试", "20:00", None), at_five);
    }

    #[test]
    fn an_answer_that_can_t_be_meant_is_overruled() {
        let wrong = Some(("2026-03-08", "2026-03-08"));
        assert_eq!(corrected_days("昨天外婆走了", "20:00", wrong), day("2026-03-03"));
        assert_eq!(corrected_days("上周五我们搬家了", "20:00", wrong), day("2026-02-27"));
        assert_eq!(corrected_days("I lost my job yesterday", "20:00", wrong), day("2026-03-03"));
    }

    #[test]
    fn an_answer_that_fits_stays_as_precise_as_it_is() {
        let fits = [
            ("last month I moved", ("2026-02-14", "2026-02-14"), "20:00"),
            ("next Friday is the exam", ("2026-03-13", "2026-03-13"), "20:00"),
            ("last June we married", ("2024-06-12", "2024-06-12"), "20:00"),
            ("昨天外婆走了", ("2026-03-02", "2026-03-02"), "00:40"),
        ];
        for (text, time, clock) in fits {
            let expected = Some((format!("{} 00:00", time.0), format!("{} 23:59", time.1)));
            assert_eq!(corrected_days(text, clock, Some(time)), expected, "{text}");
        }
    }

    #[test]
    fn words_that_may_mean_something_else_change_nothing() {
        let answer = ("2026-05-14", "2026-05-14");
        let kept = Some(("2026-05-14 00:00".to_owned(), "2026-05-14 23:59".to_owned()));
        for text in [
            "I told Ann yesterday that I marry on the 14th",
            "昨天说好了14号结婚",
            "yesterday she said next week is fine",
            "on Friday it was fine",
            "I have a cat",
        ] {
            assert_eq!(corrected_days(text, "20:00", Some(answer)), kept, "{text}");
        }
        for text in ["on Friday it was fine", "三天后他走了", "I have a cat", "昨天和今天都很累"]
        {
            assert_eq!(corrected_days(text, "20:00", None), None, "{text}");
        }
    }
}
