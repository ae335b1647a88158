//! Reading the answer to an extraction.

use memory::entities::EntityKind;
use memory::ports::{Clarification, Extraction, MentionedEntity, MoodSignal};
use serde_json::{Map, Value};

use super::ExtractionTask;
use crate::answer::{self, Malformed};
use crate::fields::{Notes, bounded, objects, snippet, strings, text};
use crate::language_mind::Parsed;

/// Members without which an answer is of the wrong shape or cut, the decisive one first.
const REQUIRED: [&str; 2] = ["events", "self_check_notes"];
/// Longest name of an entity, in characters.
const NAME_LENGTH_MAX: usize = 100;
/// Most entities that one answer may name.
const ENTITIES_MAX: usize = 50;
/// Most aliases of one entity.
const ALIASES_MAX: usize = 20;
/// Longest summary and longest check notes, in characters.
const PROSE_LENGTH_MAX: usize = 2_000;
/// What the model is told when it left out the look back.
const CHECK_MISSING: &str = "`self_check_notes` is missing: look again for an emotional peak that was passed over, and \
                             write what you found.";
/// Energy when the answer gives none.
const ENERGY_DEFAULT: i64 = memory::mood::ENERGY_NEUTRAL as i64;

impl ExtractionTask<'_> {
    /// Reads an answer; one bad item never costs the good ones.
    ///
    /// # Errors
    /// [`Malformed`] when there is no object with a list of events at all.
    pub(crate) fn read(&self, answer: &str) -> Result<Parsed<Extraction>, Malformed> {
        let answer = answer::read(answer, &REQUIRED)?;
        let members = &answer.members;
        let mut notes = Notes::of(answer.notes);
        let Some(Value::Array(proposed)) = members.get("events") else {
            return Err(Malformed("`events` must be a list; write [] if there are none.".to_owned()));
        };
        let sifted = self.sift_events(proposed, &mut notes);
        let checked = members.get("self_check_notes").is_some_and(Value::is_string);
        if !checked {
            notes.add("no `self_check_notes`: the check for missed peaks may have been skipped");
        }
        let prose = |name, notes: &mut Notes| {
            text(members, name).map(|text| bounded(text, PROSE_LENGTH_MAX, name, notes))
        };
        let value = Extraction {
            events: sifted.events,
            refused: sifted.refused,
            mentioned_entities: entities(members, &mut notes),
            clarification: clarification(members, &mut notes),
            mood: mood(members, &mut notes),
            summary: prose("session_summary", &mut notes),
            self_check_notes: prose("self_check_notes", &mut notes).unwrap_or_default(),
            notes: notes.into_list(),
        };
        Ok(Parsed { value, whole: answer.whole, missing: (!checked).then_some(CHECK_MISSING) })
    }
}

fn entities(members: &Map<String, Value>, notes: &mut Notes) -> Vec<MentionedEntity> {
    let mut found: Vec<MentionedEntity> = Vec::new();
    for entity in objects(members, "mentioned_entities", notes) {
        let Some(canonical_name) = text(entity, "canonical_name").filter(|name| is_name(name)) else {
            notes.add("an entity without a usable name, dropped");
            continue;
        };
        if found.len() == ENTITIES_MAX {
            notes.add(format!("more than {ENTITIES_MAX} entities, the rest dropped"));
            break;
        }
        let kind = text(entity, "kind").unwrap_or_default().to_lowercase();
        if !EntityKind::ALL.iter().any(|known| known.as_str() == kind) {
            notes.add(format!(
                "kind \"{}\" of {} is unknown, taken as other",
                snippet(&kind),
                snippet(&canonical_name)
            ));
        }
        let mut aliases = names(entity, "aliases", notes);
        aliases.retain(|alias| *alias != canonical_name);
        aliases.truncate(ALIASES_MAX);
        found.push(MentionedEntity { canonical_name, aliases, kind: EntityKind::parse(&kind) });
    }
    found
}

fn clarification(members: &Map<String, Value>, notes: &mut Notes) -> Option<Clarification> {
    let object = match members.get("entity_clarification") {
        None | Some(Value::Null) => return None,
        Some(value) => value.as_object(),
    };
    let read = object.and_then(|object| {
        let same = object.get("same")?.as_bool()?;
        Some(Clarification { a: text(object, "a")?, b: text(object, "b")?, same })
    });
    if read.is_none() {
        notes.add("`entity_clarification` is incomplete, dropped");
    }
    read
}

fn mood(members: &Map<String, Value>, notes: &mut Notes) -> Option<MoodSignal> {
    let object = match members.get("session_mood_signal") {
        None | Some(Value::Null) => return None,
        Some(value) => value.as_object(),
    };
    let Some((object, mood)) = object.and_then(|object| Some((object, text(object, "mood")?))) else {
        notes.add("`session_mood_signal` names no mood, dropped");
        return None;
    };
    let energy = match object.get("energy").and_then(Value::as_f64) {
        Some(energy) => energy.round().clamp(0.0, 10.0) as i64,
        None => ENERGY_DEFAULT,
    };
    Some(MoodSignal { mood, energy, last_user_signal: text(object, "last_user_signal") })
}

/// Distinct usable names of a list.
pub(super) fn names(members: &Map<String, Value>, name: &str, notes: &mut Notes) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in strings(members, name, notes) {
        if is_name(&name) && !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn is_name(text: &str) -> bool {
    text.chars().count() <= NAME_LENGTH_MAX && !text.chars().any(char::is_control)
}
