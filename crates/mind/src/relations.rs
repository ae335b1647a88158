//! Relations for the graph: asks for lasting relationships in new memories.

use async_trait::async_trait;
use hub::graph::{
    DocumentFacts, KnownEntity, Relation, RelationEnd, RelationError, RelationExtractor, UnreadDocument,
    UnreadEvent, UnreadSession, entity_kind,
};
use memory::entities::{fold_name, is_named_in_text};
use memory::identifiers::{NodeId, SessionId};
use memory::ports::MindError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{self, List, MalformedAnswer, Member, Notes, snippet};
use crate::contract::{
    self, CONFIDENCE_MIN, GraphAnswer, GraphEntityAnswer, NODE_TYPES, RELATION_LENGTH_MAX, RELATIONSHIPS_MAX,
    RelationshipAnswer, TIE_NAME_LENGTH_MAX,
};
use crate::handles::Handles;
use crate::language_mind::LanguageMind;
use crate::parsed::ParsedAnswer;
use crate::prompts::PromptName;
use crate::quoted::{one_line, quote_lines};
use crate::vocabulary::Vocabulary;

/// Sampling temperature, the same as for extraction: the task copies and judges.
const TEMPERATURE: f32 = 0.2;
const TOKENS_MAX: u32 = 2_048;
/// Type of a name if the answer gives none.
const TYPE_DEFAULT: &str = "topic";

/// Values for the template.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RelationContext {
    persona_name: String,
    user_name: String,
    events: Vec<EventLines>,
    known: Vec<NameLine>,
    problem: String,
    vocabulary: Vocabulary,
}

#[derive(Debug, Serialize)]
struct EventLines {
    handle: String,
    text: String,
    quotes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct NameLine {
    handle: String,
    name: String,
    kind: &'static str,
    aliases: String,
}

impl RelationContext {
    /// A context with one of everything, to try a template out.
    pub(crate) fn example() -> Self {
        let text = || "text".to_owned();
        Self {
            persona_name: text(),
            user_name: text(),
            events: vec![EventLines { handle: text(), text: text(), quotes: vec![text()] }],
            known: vec![NameLine { handle: text(), name: text(), kind: "person", aliases: text() }],
            problem: text(),
            vocabulary: Vocabulary::default(),
        }
    }
}

/// A request about one session.
struct RelationTask<'a> {
    session: &'a UnreadSession,
    events: Handles<NodeId>,
    names: Handles<usize>,
}

impl<'a> RelationTask<'a> {
    fn new(session: &'a UnreadSession) -> Self {
        Self {
            session,
            events: Handles::add_handle('e', session.events.iter().map(|event| event.node)),
            names: Handles::add_handle('t', 0..session.entities.len()),
        }
    }

    fn prompt_context(&self, problem: Option<&str>) -> RelationContext {
        let event = |(index, event): (usize, &UnreadEvent)| EventLines {
            handle: self.events.handle_at(index),
            text: one_line(&event.description),
            quotes: event.quotes.iter().map(|quote| quote_lines(quote)).collect(),
        };
        let name = |(index, known): (usize, &KnownEntity)| NameLine {
            handle: self.names.handle_at(index),
            name: one_line(&known.name),
            kind: known.kind.as_str(),
            aliases: known.aliases.iter().map(|alias| one_line(alias)).collect::<Vec<_>>().join(", "),
        };
        RelationContext {
            persona_name: one_line(&self.session.persona),
            user_name: one_line(self.user_name()),
            events: self.session.events.iter().enumerate().map(event).collect(),
            known: self.session.entities.iter().enumerate().map(name).collect(),
            problem: problem.map_or_else(String::new, one_line),
            vocabulary: Vocabulary::default(),
        }
    }

    /// The user's name; `None` for the owner's placeholder.
    fn user_name(&self) -> &str {
        self.session.user.as_deref().filter(|name| *name != "self").unwrap_or_default()
    }

    /// The input as data, for a provider without a language model.
    fn input_data(&self) -> Value {
        let events = self.session.events.iter().enumerate().map(|(index, event)| {
            json!({"handle": self.events.handle_at(index), "text": event.description, "quotes": event.quotes})
        });
        let names = self.session.entities.iter().enumerate().map(|(index, known)| {
            json!({"handle": self.names.handle_at(index), "name": known.name, "kind": known.kind.as_str()})
        });
        json!({"events": events.collect::<Vec<_>>(), "known": names.collect::<Vec<_>>()})
    }

    /// Parses an answer; a relationship that violates the contract is dropped without affecting the others.
    fn read(&self, answer: &str) -> Result<ParsedAnswer<DocumentFacts>, MalformedAnswer> {
        let mut answer = answer::read(answer, &["entities", "relationships"])?;
        let (mut notes, whole) = (Notes::from_notes(std::mem::take(&mut answer.notes)), answer.whole);
        let answer: GraphAnswer = answer.parse_members()?;
        if matches!(answer.relationships, List::Missing | List::Wrong(_)) {
            return Err(MalformedAnswer(
                "`relationships` must be a list; write [] if there are none.".to_owned(),
            ));
        }
        let entities = answer.entities.read("an object", "entities", &mut notes);
        let types: Vec<(String, String)> = entities
            .iter()
            .filter_map(|entity| {
                Some((fold_name(entity.name.trimmed_text()?), entity.node_type.lower_case_word()?))
            })
            .collect();
        let mut facts: Vec<Relation> = Vec::new();
        for proposed in answer.relationships.read("an object", "relationships", &mut notes) {
            match self.read_relation(proposed, &types) {
                Ok(fact) if is_new(&facts, &fact) => facts.push(fact),
                Ok(_) => notes.add("a relationship that stands there already, dropped"),
                Err(reason) => notes.add(reason),
            }
        }
        notes.cut_list(&mut facts, RELATIONSHIPS_MAX, "relationships");
        for note in notes.into_list() {
            // Without text of the answer, which may quote a person.
            tracing::debug!(length = note.len(), "part of an answer about the graph was not kept");
        }
        let value = DocumentFacts { names: self.new_names(&entities), relations: facts };
        Ok(ParsedAnswer { value, whole, missing: None })
    }

    /// New names of people, places and the like that occur in the texts.
    fn new_names(&self, answered: &[&GraphEntityAnswer]) -> Vec<(String, String)> {
        let mut names: Vec<(String, String)> = Vec::new();
        for entity in answered {
            let (Some(name), Some(node_type)) =
                (entity.name.trimmed_text(), entity.node_type.lower_case_word())
            else {
                continue;
            };
            let folded = fold_name(name);
            let is_of_entity = entity_kind(&node_type).is_some();
            let is_known = names.iter().any(|(known, _)| fold_name(known) == folded)
                || self.session.entities.iter().any(|known| {
                    let all = known.aliases.iter().chain([&known.name]);
                    all.into_iter().any(|name| fold_name(name) == folded)
                });
            let is_of_those_who_talk = [self.user_name(), &self.session.persona, "user", "persona"]
                .iter()
                .any(|name| fold_name(name) == folded);
            let fits = (1..=TIE_NAME_LENGTH_MAX).contains(&name.chars().count());
            let stands_there = || {
                let events = self.session.events.iter();
                events.into_iter().any(|event| is_named_in_text(&fold_name(&event.description), &folded))
            };
            if is_of_entity && !is_known && !is_of_those_who_talk && fits && stands_there() {
                names.push((name.to_owned(), node_type));
            }
        }
        names
    }

    fn read_relation(
        &self,
        proposed: &RelationshipAnswer,
        types: &[(String, String)],
    ) -> Result<Relation, String> {
        let confidence = proposed.confidence.get().copied().unwrap_or(0.0);
        if !(CONFIDENCE_MIN..=1.0).contains(&confidence) {
            return Err(format!("a relationship of confidence {confidence}, dropped"));
        }
        let handle = proposed.memory.trimmed_text().unwrap_or_default();
        let event = self.events.id(handle).ok_or_else(|| {
            format!("a relationship that rests on the unknown memory \"{}\", dropped", snippet(handle))
        })?;
        let relation = proposed.relation.trimmed_text().unwrap_or_default();
        let relation = relation_word(relation)
            .ok_or_else(|| format!("a relationship of the type \"{}\", dropped", snippet(relation)))?;
        let (from, to) =
            (self.read_end(&proposed.from, event, types)?, self.read_end(&proposed.to, event, types)?);
        if from == to {
            return Err("a relationship of something with itself, dropped".to_owned());
        }
        Ok(Relation { from, to, relation, event, confidence })
    }

    /// The entity at one end: one of the two speakers, a known name, or a name in the memory.
    fn read_end(
        &self,
        word: &Member<String>,
        event: NodeId,
        types: &[(String, String)],
    ) -> Result<RelationEnd, String> {
        let word = word.trimmed_text().unwrap_or_default();
        let folded = fold_name(word);
        let is = |name: &str| !name.is_empty() && fold_name(name) == folded;
        if is("user") || is(self.user_name()) {
            return Ok(RelationEnd::User);
        }
        if is("persona") || is(&self.session.persona) {
            return Ok(RelationEnd::Persona);
        }
        let by_handle = self.names.id(word).and_then(|index| self.session.entities.get(index));
        let goes_by = |known: &&KnownEntity| is(&known.name) || known.aliases.iter().any(|alias| is(alias));
        if let Some(known) = by_handle.or_else(|| self.session.entities.iter().find(goes_by)) {
            return Ok(RelationEnd::Entity(known.id));
        }
        let fits = (1..=TIE_NAME_LENGTH_MAX).contains(&word.chars().count());
        let stands_there = self.session.events.iter().filter(|known| known.node == event).any(|event| {
            let texts = event.quotes.iter().chain([&event.description]);
            texts.into_iter().any(|text| is_named_in_text(&fold_name(text), &folded))
        });
        if !fits || !stands_there {
            return Err(format!("\"{}\" is no known name and stands in no words, dropped", snippet(word)));
        }
        let named = types.iter().find(|(name, _)| *name == folded).map(|(_, node_type)| node_type.as_str());
        let node_type = named.filter(|named| NODE_TYPES.contains(named)).unwrap_or(TYPE_DEFAULT);
        Ok(RelationEnd::Named { label: word.to_owned(), node_type: node_type.to_owned() })
    }
}

fn is_new(facts: &[Relation], fact: &Relation) -> bool {
    !facts
        .iter()
        .any(|known| (&known.from, &known.to, &known.relation) == (&fact.from, &fact.to, &fact.relation))
}

/// Normalises a relation: `lives_in` for "Lives in" or "lives-in". `None` unless it is a few English words.
fn relation_word(phrase: &str) -> Option<String> {
    let spaced: String = phrase
        .trim()
        .to_lowercase()
        .chars()
        .map(|letter| if letter == '-' || letter == '_' || letter.is_whitespace() { ' ' } else { letter })
        .collect();
    let word = spaced.split_whitespace().collect::<Vec<_>>().join("_");
    let fits = (2..=RELATION_LENGTH_MAX).contains(&word.len())
        && word.starts_with(|letter: char| letter.is_ascii_lowercase())
        && word.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    fits.then_some(word)
}

impl LanguageMind {
    async fn ask_for_relations(
        &self,
        session: &UnreadSession,
        asked_for: Option<SessionId>,
    ) -> Result<DocumentFacts, RelationError> {
        let question = RelationTask::new(session);
        let schema = contract::schema::<GraphAnswer>();
        let request = |problem: Option<&str>| {
            let asked =
                self.task_prompt(PromptName::Graph, question.prompt_context(problem), question.input_data())?;
            Ok(self.structured_request(asked, &schema, TEMPERATURE, TOKENS_MAX))
        };
        let answered = self.ask(asked_for, request, |text| question.read(text)).await;
        answered
            .map(|(facts, _)| facts)
            .map_err(|error: MindError| RelationError(error.log_description().to_owned()))
    }
}

#[async_trait]
impl RelationExtractor for LanguageMind {
    async fn extract_relations(&self, session: &UnreadSession) -> Result<Vec<Relation>, RelationError> {
        self.ask_for_relations(session, Some(session.session)).await.map(|facts| facts.relations)
    }

    async fn extract_document(&self, document: &UnreadDocument) -> Result<DocumentFacts, RelationError> {
        // The request is the same as for a session: lines are its events. They belong to no session.
        let lines = UnreadSession {
            scope: document.scope.clone(),
            session: SessionId(Default::default()),
            persona: document.persona.clone(),
            user: document.user.clone(),
            events: document.lines.clone(),
            entities: document.entities.clone(),
        };
        self.ask_for_relations(&lines, None).await
    }

    fn can_find_facts(&self) -> bool {
        !self.is_offline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_a_few_english_words() {
        for (phrase, word) in [
            ("lives_in", Some("lives_in")),
            (" Lives In ", Some("lives_in")),
            ("works-at", Some("works_at")),
            ("sister  of", Some("sister_of")),
            ("住在", None),
            ("", None),
            ("x", None),
            ("<script>", None),
            ("7th_of", None),
        ] {
            assert_eq!(relation_word(phrase).as_deref(), word, "{phrase}");
        }
        assert_eq!(relation_word(&"a".repeat(RELATION_LENGTH_MAX + 1)), None);
    }
}
