//! Consolidation of one session whose model answers at once.

use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use memory::consolidate::{ConsolidateSettings, Consolidator, Participants};
use memory::entities::EntityKind;
use memory::messages::Role;
use memory::nodes::{NodeKind, Subject};
use memory::ports::{
    Extraction, ExtractionInput, MentionedEntity, ProposedEvent, ProposedQuote, Reflection, SessionStore,
};
use memory::recall::RecallSettings;
use memory::sessions::CloseTrigger;
use memory::vector_index::VectorIndex;
use testkit::FixedMind;

use crate::Failed;
use crate::measure::{Figures, processor_time};
use crate::past::{Dice, Home, Past};
use crate::recalling::Ready;

const ROUNDS: usize = 40;
/// Messages of one session.
const LINES: usize = 20;

pub(crate) async fn measure(past: Past, aim: &'static str) -> Result<(), Failed> {
    let mut home = Home::copy(past).await?;
    let (index, mut dice) = (VectorIndex::default(), Dice::new());
    let mind = FixedMind::new();
    mind.extract_with(|input| Ok(remembered(input)));
    mind.reflect_with(|_| Ok(Reflection::default()));
    let (mut times, mut cold): (Vec<Duration>, _) = (Vec::with_capacity(ROUNDS), None);
    let mut spent = Duration::ZERO;
    for round in 0..=ROUNDS {
        end_session(&mut home, &mut dice).await?;
        let embedder = Ready(dice.vector());
        let consolidator = Consolidator {
            store: &home.store,
            mind: &mind,
            embedder: Some(&embedder),
            index: &index,
            clock: &home.clock,
            ids: &home.ids,
            settings: &ConsolidateSettings::default(),
            recall: &RecallSettings::default(),
            formed: &|_| (),
        };
        let parties = |_| async { Ok(Participants { persona_name: "Echo".to_owned(), zone: TimeZone::UTC }) };
        let (before, started) = (processor_time(), Instant::now());
        assert!(consolidator.consolidate_next(parties).await?, "a session waits");
        match round {
            0 => cold = Some(started.elapsed()),
            _ => {
                times.push(started.elapsed());
                spent += processor_time() - before;
            }
        }
    }
    assert_eq!(home.store.sessions(Default::default()).await?.len(), 0, "a limit of none lists none");
    let processor = spent / u32::try_from(ROUNDS)?;
    Figures { what: format!("consolidation of a session, {}", past.name()), times, processor, cold, aim }
        .print();
    home.close().await
}

async fn end_session(home: &mut Home, dice: &mut Dice) -> Result<(), Failed> {
    let mut session = None;
    for line in 0..LINES {
        let role = if line.is_multiple_of(2) { Role::User } else { Role::Persona };
        session = Some(home.say(role, &dice.text()).await?.session_id);
    }
    let session = session.ok_or("a session has lines")?;
    home.store.end_session(session, CloseTrigger::Explicit).await?;
    home.pass(1);
    Ok(())
}

/// Two events and one entity, with the user's first and last line as evidence.
fn remembered(input: &ExtractionInput) -> Extraction {
    let said: Vec<_> = input.messages.iter().filter(|message| message.role == Role::User).collect();
    let event = |message: &&memory::messages::Message| ProposedEvent {
        kind: NodeKind::Event,
        description: message.content.clone(),
        emotional_impact: 3,
        emotion_tags: vec!["calm".to_owned()],
        relational_tags: Vec::new(),
        subject: Subject::User,
        event_time: None,
        evidence: vec![ProposedQuote { message_id: message.id, quote: message.content.clone() }],
        supersedes: Vec::new(),
        entities: vec!["小黑".to_owned()],
    };
    Extraction {
        events: said.first().into_iter().chain(said.last()).map(event).collect(),
        mentioned_entities: vec![MentionedEntity {
            canonical_name: "小黑".to_owned(),
            aliases: Vec::new(),
            kind: EntityKind::Pet,
        }],
        summary: Some("They talked.".to_owned()),
        ..Extraction::default()
    }
}
