//! Parses the answer to an extraction.

use memory::entities::EntityKind;
use memory::ports::{Clarification, Extraction, MentionedEntity, MoodSignal};

use super::ExtractionTask;
use crate::answer::{self, List, MalformedAnswer, Member, Notes, snippet};
use crate::contract::{ClarificationAnswer, EntityAnswer, ExtractionAnswer, MoodAnswer};
use crate::parsed::ParsedAnswer;

/// Members without which an answer is malformed or incomplete, the decisive one first.
const REQUIRED_MEMBERS: [&str; 2] = ["events", "self_check_notes"];
/// Maximum length of an entity's name, in characters. Longer names are descriptions.
const NAME_LENGTH_MAX: usize = 100;
/// Maximum entities in one answer. No session names so many; an answer with more is wrong.
const ENTITIES_MAX: usize = 50;
/// Maximum aliases of one entity. Each is compared with the words of every message.
const ALIASES_MAX: usize = 20;
/// Maximum length of the summary and of the self-check notes, in characters. People read them in a list.
const PROSE_LENGTH_MAX: usize = 2_000;
/// Message to a model that left out the self-check.
const CHECK_MISSING: &str = "`self_check_notes` is missing: look again for an emotional peak that was passed over, and \
                             write what you found.";
/// Energy if the answer has none.
const ENERGY_DEFAULT: i64 = memory::mood::ENERGY_NEUTRAL as i64;

impl ExtractionTask<'_> {
    /// Parses an answer; a bad item does not affect the good ones.
    ///
    /// # Errors
    ///
    /// [`MalformedAnswer`] when there is no object with a list of events at all.
    pub(crate) fn read(&self, answer: &str) -> Result<ParsedAnswer<Extraction>, MalformedAnswer> {
        let mut answer = answer::read(answer, &REQUIRED_MEMBERS)?;
        let (mut notes, whole) = (Notes::from_notes(std::mem::take(&mut answer.notes)), answer.whole);
        let answer: ExtractionAnswer = answer.parse_members()?;
        let List::Items(proposed) = &answer.events else {
            return Err(MalformedAnswer("`events` must be a list; write [] if there are none.".to_owned()));
        };
        let sifted = self.filter_events(proposed, &mut notes);
        let checked = answer.self_check_notes.get().is_some();
        if !checked {
            notes.add("no `self_check_notes`: the check for missed peaks may have been skipped");
        }
        let mut prose = |text: &Member<String>, name| {
            text.trimmed_text().map(|text| notes.cut_text(text, PROSE_LENGTH_MAX, name))
        };
        let summary = prose(&answer.session_summary, "session_summary");
        let self_check_notes = prose(&answer.self_check_notes, "self_check_notes").unwrap_or_default();
        let value = Extraction {
            events: sifted.events,
            refused: sifted.refused,
            mentioned_entities: read_entities(&answer.mentioned_entities, &mut notes),
            clarification: read_clarification(&answer.entity_clarification, &mut notes),
            mood: read_mood(&answer.session_mood_signal, &mut notes),
            summary,
            self_check_notes,
            notes: notes.into_list(),
        };
        Ok(ParsedAnswer { value, whole, missing: (!checked).then_some(CHECK_MISSING) })
    }
}

fn read_entities(named: &List<EntityAnswer>, notes: &mut Notes) -> Vec<MentionedEntity> {
    let mut found: Vec<MentionedEntity> = Vec::new();
    for entity in named.read("an object", "mentioned_entities", notes) {
        let Some(canonical_name) = entity.canonical_name.trimmed_text().filter(|name| is_name(name)) else {
            notes.add("an entity without a usable name, dropped");
            continue;
        };
        if found.len() == ENTITIES_MAX {
            notes.add(format!("more than {ENTITIES_MAX} entities, the rest dropped"));
            break;
        }
        let kind = entity.kind.lower_case_word().unwrap_or_default();
        if !EntityKind::ALL.iter().any(|known| known.as_str() == kind) {
            notes.add(format!(
                "kind \"{}\" of {} is unknown, taken as other",
                snippet(&kind),
                snippet(canonical_name)
            ));
        }
        let mut aliases = read_names(&entity.aliases, "aliases", notes);
        aliases.retain(|alias| alias != canonical_name);
        aliases.truncate(ALIASES_MAX);
        found.push(MentionedEntity {
            canonical_name: canonical_name.to_owned(),
            aliases,
            kind: EntityKind::parse(&kind),
        });
    }
    found
}

fn read_clarification(answer: &Member<ClarificationAnswer>, notes: &mut Notes) -> Option<Clarification> {
    if matches!(answer, Member::Missing | Member::Null) {
        return None;
    }
    let read = answer.get().and_then(|ClarificationAnswer { a, b, same }| {
        Some(Clarification {
            a: a.trimmed_text()?.to_owned(),
            b: b.trimmed_text()?.to_owned(),
            same: *same.get()?,
        })
    });
    if read.is_none() {
        notes.add("`entity_clarification` is incomplete, dropped");
    }
    read
}

fn read_mood(answer: &Member<MoodAnswer>, notes: &mut Notes) -> Option<MoodSignal> {
    if matches!(answer, Member::Missing | Member::Null) {
        return None;
    }
    let Some((answer, mood)) = answer.get().and_then(|answer| Some((answer, answer.mood.trimmed_text()?)))
    else {
        notes.add("`session_mood_signal` names no mood, dropped");
        return None;
    };
    let energy = answer.energy.get().map_or(ENERGY_DEFAULT, |energy| energy.round().clamp(0.0, 10.0) as i64);
    let last_user_signal = answer.last_user_signal.trimmed_text().map(str::to_owned);
    Some(MoodSignal { mood: mood.to_owned(), energy, last_user_signal })
}

/// Distinct usable names of a list.
pub(super) fn read_names(list: &List<String>, name: &str, notes: &mut Notes) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in list.trimmed_texts(name, notes) {
        if is_name(name) && !distinct.iter().any(|known| known == name) {
            distinct.push(name.to_owned());
        }
    }
    distinct
}

fn is_name(text: &str) -> bool {
    text.chars().count() <= NAME_LENGTH_MAX && !text.chars().any(char::is_control)
}
