//! Renders the two texts of a reply's prompt.

use memory::identifiers::{MessageId, NodeId};
use memory::messages::{Message, Role};
use memory::nodes::Node;
use memory::text::estimate_tokens;
use serde_json::{Value, json};

use super::budget::{self, ReplyBudget};
use super::context::{DayGroup, EventGroup, FactLine, LabelledText, MoodLine, SystemContext, UserContext};
use super::corrected;
use super::input::{PersonaFacts, ReplyInput};
use super::sections::{Item, ItemForm, Name, Sections};
use crate::calendar;
use crate::prompts::{PromptError, PromptName, Prompts, digest};
use crate::quoted::{one_line, quote_authored, quote_lines};

/// Names that mean that the user has none.
const PLACEHOLDER_NAMES: [&str; 2] = ["", "self"];

/// A rendered prompt, and a list of its content for the receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedReply {
    pub system: String,
    pub user: String,
    /// The values in the prompt as data, for a provider without a language model.
    pub inputs: Value,
    /// SHA-256, in hexadecimal, of both texts and of the templates that they were rendered with.
    pub prompt_hash: String,
    /// The sections that were shortened or cut to fit the budget, and by how much; empty if everything fitted.
    pub cut: Vec<String>,
    /// The nodes in the prompt, in its order.
    pub kept_nodes: Vec<NodeId>,
    /// The passages' messages in the prompt.
    pub kept_passages: Vec<MessageId>,
    /// Number of earlier messages of the conversation that fit into the prompt.
    pub kept_conversation: u32,
    /// Estimated tokens of both texts.
    pub tokens: u32,
}

/// Renders the prompt of a reply within `budget`.
///
/// # Errors
/// [`PromptError`] when an overridden template fails on these inputs.
pub fn render(
    prompts: &Prompts,
    input: &ReplyInput,
    budget: &ReplyBudget,
) -> Result<RenderedReply, PromptError> {
    let all = Sections::from_input(input);
    let mut sections = all.clone();
    let shortened = budget::distribute_budget(&mut sections, budget);
    let (system, user, tokens) = loop {
        let system = prompts.render_text(PromptName::ReplySystem, system_context(input, &sections))?;
        let user = prompts.render_text(PromptName::ReplyUser, user_context(input, &sections))?;
        let tokens = estimate_tokens(&system).saturating_add(estimate_tokens(&user));
        let excess = tokens.saturating_sub(budget.tokens);
        if excess == 0 || !budget::cut_sections(&mut sections, u64::from(excess)) {
            break (system, user, tokens);
        }
    };
    let kept = || Name::ALL.into_iter().flat_map(|name| sections.section_items(name));
    let kept_nodes: Vec<NodeId> = kept().filter_map(|item| item.node).collect();
    let kept_passages: Vec<MessageId> = kept().flat_map(|item| item.messages.clone()).collect();
    Ok(RenderedReply {
        inputs: reply_data(input, &kept_nodes, &kept_passages, &period_values(&sections)),
        prompt_hash: prompt_hash(prompts, &system, &user),
        cut: budget::describe_lost_items(&all, &sections).into_iter().chain(shortened).collect(),
        kept_nodes,
        kept_passages,
        kept_conversation: u32::try_from(sections.section_items(Name::Conversation).len())
            .unwrap_or(u32::MAX),
        system,
        user,
        tokens,
    })
}

fn system_context(input: &ReplyInput, sections: &Sections) -> SystemContext {
    let shown = |name| sections.section_items(name).iter().map(|item| item.shown.clone());
    SystemContext {
        persona_name: one_line(&input.persona_name),
        persona_block: quote_authored(&input.core_blocks.persona),
        user_block: quote_authored(&input.core_blocks.user),
        style_block: quote_authored(&input.core_blocks.style),
        documents: labelled_texts(sections, Name::Documents),
        // The most important entry is nearest to the conversation.
        lore: labelled_texts(sections, Name::Lore).into_iter().rev().collect(),
        facts: fact_lines(&input.facts),
        clocks: clock_lines(input),
        mood: mood_line(input),
        entities: shown(Name::Entities)
            .filter_map(|shown| if let ItemForm::Entity(entity) = shown { Some(entity) } else { None })
            .collect(),
        uncertain: shown(Name::Uncertain)
            .filter_map(|shown| if let ItemForm::Pair(pair) = shown { Some(pair) } else { None })
            .collect(),
        doubts: shown(Name::Uncertain)
            .filter_map(|shown| if let ItemForm::Line(line) = shown { Some(line) } else { None })
            .collect(),
        fulfilled: shown(Name::Fulfilled)
            .filter_map(|shown| if let ItemForm::Line(line) = shown { Some(line) } else { None })
            .collect(),
    }
}

fn user_context(input: &ReplyInput, sections: &Sections) -> UserContext {
    let lines = |name| -> Vec<String> {
        let line =
            |shown: &ItemForm| if let ItemForm::Line(line) = shown { Some(line.clone()) } else { None };
        sections.section_items(name).iter().filter_map(|item| line(&item.shown)).collect()
    };
    let oldest_first = |name| lines(name).into_iter().rev().collect();
    let passages = sections.section_items(Name::Passages).iter().filter_map(|item| match &item.shown {
        ItemForm::Lines(lines) => Some(lines.clone()),
        _ => None,
    });
    UserContext {
        speaker: user_label(input),
        periods: labelled_texts(sections, Name::Periods),
        sessions: oldest_first(Name::Sessions),
        thoughts: lines(Name::Thoughts),
        pinned_thoughts: lines(Name::PinnedThoughts),
        self_thoughts: lines(Name::SelfThoughts),
        events: lines(Name::Events),
        event_groups: event_groups(input, sections),
        passages: passages.collect(),
        corrected: corrected::corrected_lines(input),
        promises: lines(Name::Promises),
        expectations: lines(Name::Expectations),
        nothing_found: input.nothing_found,
        conversation: conversation_by_day(sections),
        said: oldest_first(Name::Said),
    }
}

/// Groups the events by the sign of their impact, so that grief is never listed among joys; each group keeps the
/// order of the ranking.
fn event_groups(input: &ReplyInput, sections: &Sections) -> Vec<EventGroup> {
    let impact = |item: &Item| {
        let node = input.recalled.iter().find(|node| Some(node.id) == item.node);
        node.map_or(0, |node| node.emotional_impact.signum())
    };
    let group = |(sign, heading)| {
        let of_sign = sections.section_items(Name::Events).iter().filter(|item| impact(item) == sign);
        let lines = of_sign.filter_map(|item| match &item.shown {
            ItemForm::Line(line) => Some(line.clone()),
            _ => None,
        });
        EventGroup { heading, lines: lines.collect() }
    };
    let groups = [(-1, "What was hard"), (1, "What was good"), (0, "What was neither")].map(group);
    groups.into_iter().filter(|group| !group.lines.is_empty()).collect()
}

/// The labelled texts of a section. They are also written by instances and models, so each line is quoted with a bar,
/// to separate it from the prompt's own text.
fn labelled_texts(sections: &Sections, name: Name) -> Vec<LabelledText> {
    let one = |shown: &ItemForm| match shown {
        ItemForm::Text(LabelledText { label, text }) => {
            Some(LabelledText { label: label.clone(), text: quote_lines(text) })
        }
        _ => None,
    };
    sections.section_items(name).iter().filter_map(|item| one(&item.shown)).collect()
}

fn conversation_by_day(sections: &Sections) -> Vec<DayGroup> {
    let mut groups: Vec<DayGroup> = Vec::new();
    for item in sections.section_items(Name::Conversation).iter().rev() {
        let ItemForm::Dated(bucket, line) = &item.shown else { continue };
        match groups.last_mut().filter(|group| group.heading == bucket.day_heading()) {
            Some(group) => group.lines.push(line.clone()),
            None => groups.push(DayGroup { heading: bucket.day_heading(), lines: vec![line.clone()] }),
        }
    }
    groups
}

fn user_label(input: &ReplyInput) -> String {
    let name = one_line(input.user_name.as_deref().unwrap_or_default());
    if PLACEHOLDER_NAMES.contains(&name.as_str()) { "them".to_owned() } else { name }
}

fn fact_lines(facts: &PersonaFacts) -> Vec<FactLine> {
    let year = facts.birth_date.as_deref().and_then(|date| date.trim().split('-').next()).map(str::to_owned);
    let labelled = [
        ("Name", &facts.full_name),
        ("Gender", &facts.gender),
        ("Born", &year),
        ("Ethnicity", &facts.ethnicity),
        ("Nationality", &facts.nationality),
        ("Native language", &facts.native_language),
        ("Raised in the ways of", &facts.locale_region),
        ("Based in", &facts.location),
        ("Education", &facts.education_level),
        ("Occupation", &facts.occupation),
        ("Field of work", &facts.occupation_field),
        ("Relationship", &facts.relationship_status),
        ("Stage of life", &facts.life_stage),
        ("Health", &facts.health_status),
    ];
    let lines = labelled.into_iter().filter_map(|(label, value)| {
        // Stored choices are spelled like `new_parent`.
        let value = one_line(value.as_deref()?).replace('_', " ");
        (!value.is_empty()).then_some(FactLine { label, value })
    });
    lines.collect()
}

fn clock_lines(input: &ReplyInput) -> Vec<String> {
    let mut clocks = vec![format!("For them it is {}.", calendar::wall_clock(input.now, &input.user_zone))];
    if let Some(zone) = &input.persona_zone {
        let place = zone.iana_name().map_or_else(String::new, |name| format!(", in {name},"));
        clocks.push(format!("For you{place} it is {}.", calendar::wall_clock(input.now, zone)));
    }
    clocks
}

fn mood_line(input: &ReplyInput) -> Option<MoodLine> {
    let mood = input.mood.as_ref()?.fade_at(input.now);
    (!mood.is_neutral()).then(|| MoodLine {
        mood: one_line(&mood.mood),
        energy: mood.energy,
        signal: one_line(mood.last_user_signal.as_deref().unwrap_or_default()),
    })
}

fn period_values(sections: &Sections) -> Vec<Value> {
    let one = |shown: &ItemForm| match shown {
        ItemForm::Text(period) => Some(json!({"period": period.label, "text": period.text})),
        _ => None,
    };
    sections.section_items(Name::Periods).iter().filter_map(|item| one(&item.shown)).collect()
}

/// The prompt as data: the user's messages, and the recalled memories and passages in it, most relevant first.
fn reply_data(input: &ReplyInput, nodes: &[NodeId], messages: &[MessageId], periods: &[Value]) -> Value {
    let zone = &input.user_zone;
    let corrected = &input.corrected;
    // The offline provider can't weigh notes: former values are only mentioned, with dates, if they are asked about.
    let is_current = |node: &&Node| {
        !corrected.nodes.contains_key(&node.id)
            && corrected.correction_denying(&node.description, node.created_at).is_none()
            && corrected.doubt_of(node.id).is_none()
    };
    let is_said_so = |message: &MessageId| {
        !corrected.messages.contains_key(message) && corrected.doubt_of_message(*message).is_none()
    };
    let recalled = input.recalled.iter().filter(|node| nodes.contains(&node.id)).filter(is_current);
    let former = corrected.former.iter().map(|value| {
        let description = corrected::value_with_day(value, zone);
        json!({ "description": description, "kind": "event", "when": calendar::format_day(value.since, zone) })
    });
    let memories = recalled.map(|node| {
        let at = node.event_time.map_or(node.created_at, |time| time.start);
        json!({
            "description": node.description,
            "kind": node.kind.as_str(),
            "when": calendar::format_day(at, zone),
        })
    });
    let lines = input.passages.iter().flat_map(|passage| &passage.lines);
    let passages = lines
        .filter(|line| messages.contains(&line.message_id) && is_said_so(&line.message_id))
        .map(|line| {
            let speaker = match line.speaker {
                Role::User => "user",
                Role::Persona => "persona",
                Role::Other => "other",
            };
            json!({ "speaker": speaker, "name": line.name, "text": line.text, "date": calendar::format_day(line.at, zone) })
        });
    let said_before = |message: &&Message| {
        message.role == Role::User
            && is_said_so(&message.id)
            && !input.burst.iter().any(|other| other.id == message.id)
    };
    let recent = input.window.iter().rev().filter(said_before);
    let recent = recent.map(|message| json!({ "speaker": "user", "text": message.content }));
    let mut burst: Vec<&Message> = input.burst.iter().collect();
    burst.sort_by_key(|message| (message.created_at, message.seq));
    let said: Vec<&str> = burst.iter().map(|message| message.content.as_str()).collect();
    json!({
        "user_text": said.join("\n"),
        "persona_name": input.persona_name,
        "periods": periods,
        "memories": former.chain(memories).collect::<Vec<_>>(),
        "passages": passages.collect::<Vec<_>>(),
        "recent": recent.collect::<Vec<_>>(),
        "nothing_found": input.nothing_found,
    })
}

fn prompt_hash(prompts: &Prompts, system: &str, user: &str) -> String {
    digest(&[prompts.hash(PromptName::ReplySystem), prompts.hash(PromptName::ReplyUser), system, user])
}
