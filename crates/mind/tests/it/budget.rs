//! The sections that are cut if a prompt is too long, and those that never are.

use memory::identifiers::NodeId;
use memory::messages::Role;
use memory::nodes::NodeKind;
use mind::{RenderedReply, ReplyBudget, ReplyInput};
use proptest::prelude::*;

use crate::support::{at, full_input, id, message, node, rendered, session};

fn within(input: &ReplyInput, tokens: u32) -> RenderedReply {
    rendered(input, ReplyBudget { tokens })
}

/// A turn after years of messages.
fn crowded_input() -> ReplyInput {
    let mut input = full_input();
    let words = "and then we walked along the harbour and talked about what had been and what might come";
    for number in 0..30 {
        let text = format!("No. {number}: {words}");
        input.recalled.push(node(200 + number, NodeKind::Event, "2026-01-01T00:00:00Z", &text));
        input.pinned_thoughts.push(node(300 + number, NodeKind::Thought, "2026-01-01T00:00:00Z", &text));
        input.window.push(message(400 + number, Role::Persona, "2026-03-01T00:00:00Z", &text));
        input.sessions.push(session(500 + number as u128, "2026-01-01T00:00:00Z", Some(&text)));
    }
    input
}

fn never_cut(reply: &RenderedReply) {
    for identity in
        ["IDENTITY Keeps", "IDENTITY Nurse", "IDENTITY Never", "Mira Holm", "# Right now", "wistful"]
    {
        assert!(reply.system.contains(identity), "{identity}");
    }
    assert!(reply.system.contains("# Style\n") && reply.system.contains("I don't have that"));
    assert!(reply.user.ends_with("them: And Bis?\n  | Did I tell you?"), "{}", reply.user);
}

#[test]
fn texts_that_fit_are_not_cut() {
    let whole = within(&crowded_input(), 100_000);
    assert_eq!(whole.cut, Vec::<String>::new());
    let exact = within(&crowded_input(), whole.tokens);
    assert_eq!(exact, whole);
    assert_ne!(within(&crowded_input(), whole.tokens - 1).cut, Vec::<String>::new());
}

#[test]
fn the_cuts_come_in_their_order() {
    let input = crowded_input();
    let whole = within(&input, 100_000).tokens;
    let cuts: Vec<String> = [50, 400, 1_200, 2_000, 2_600, 3_200]
        .into_iter()
        .map(|less| format!("{less} less: {}", within(&input, whole - less).cut.join("; ")))
        .collect();
    insta::assert_snapshot!("cuts", cuts.join("\n"));
}

#[test]
fn identity_and_the_last_message_are_never_cut() {
    let input = crowded_input();
    for tokens in [0, 1, 500, 1_000, 1_500] {
        let reply = within(&input, tokens);
        never_cut(&reply);
    }
    let bare = within(&input, 0);
    assert!(!bare.user.contains("Three hours."), "of the burst only the last message is sure of its place");
    assert_eq!(bare.user.lines().filter(|line| line.starts_with("# ")).count(), 1);
    assert_eq!(bare.kept_nodes, []);
    assert_eq!(bare.kept_passages, []);
    assert_eq!(bare.inputs["memories"], serde_json::json!([]));
    assert_eq!(bare.inputs["passages"], serde_json::json!([]));
}

#[test]
fn a_long_last_message_is_not_cut() {
    let mut input = crowded_input();
    input.burst = vec![message(999, Role::User, "2026-03-03T13:04:00Z", &"很长".repeat(5_000))];
    let reply = within(&input, 2_000);
    assert!(reply.user.contains(&"很长".repeat(5_000)));
    assert!(reply.tokens > 2_000);
}

#[test]
fn pinned_memories_are_the_last_of_their_section_to_be_cut() {
    let mut input = crowded_input();
    if let Some(last) = input.recalled.last_mut() {
        last.pinned = true;
    }
    let pinned = input.recalled.last().unwrap().id;
    let whole = within(&input, 100_000).tokens;
    let reply = within(&input, whole - 2_000);
    assert!(reply.cut.iter().any(|cut| cut.starts_with("Recent things")), "{:?}", reply.cut);
    assert!(reply.kept_nodes.contains(&pinned));
}

#[test]
fn the_talk_is_cut_from_its_oldest_end() {
    let mut input = ReplyInput::new("Mira", at("2026-03-03T13:04:00Z"), jiff::tz::TimeZone::UTC);
    for number in 0..40 {
        let when = format!("2026-03-03T12:{number:02}:00Z");
        input.window.push(message(
            number,
            Role::User,
            &when,
            &format!("line {number} {}", "word ".repeat(20)),
        ));
    }
    input.burst = vec![message(99, Role::User, "2026-03-03T13:04:00Z", "now")];
    let whole = within(&input, 100_000).tokens;
    let reply = within(&input, whole - 200);
    assert!(!reply.user.contains("line 0 ") && reply.user.contains("line 39 "));
    assert!(reply.cut[0].starts_with("Our recent conversation: "), "{:?}", reply.cut);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_prompt_keeps_its_budget_and_says_what_it_kept(tokens in 0u32..6_000) {
        let input = crowded_input();
        let reply = within(&input, tokens);
        never_cut(&reply);
        let bare = within(&input, 0);
        prop_assert!(reply.tokens <= tokens.max(bare.tokens));
        for number in 200..230 {
            let shown = reply.user.contains(&format!("- No. {}: and then", number - 200))
                && reply.user.contains("# Recent things you remember happened");
            if reply.kept_nodes.contains(&NodeId(id(number))) {
                prop_assert!(shown);
            }
        }
    }
}

#[test]
fn one_long_message_does_not_push_the_talk_out() {
    let mut input = full_input();
    input.window.push(message(600, Role::User, "2026-03-01T00:00:00Z", "we met at the ferry"));
    input.window.push(message(601, Role::User, "2026-03-01T00:01:00Z", &"長".repeat(20_000)));
    let reply = within(&input, 8_000);
    assert!(reply.user.contains("we met at the ferry"), "{:?}", reply.cut);
    assert!(reply.user.contains("長… (it went on)") || reply.user.contains("長 … (it went on)"));
    assert_eq!(reply.user.matches('長').count(), 2_000);
}

/// A turn of a persona with very long documents.
fn well_documented_input() -> ReplyInput {
    let mut input = full_input();
    let line = "who I am, what I hold dear and what we have been through since we met\n";
    input.documents = (0..14)
        .map(|number| (format!("Document {number}"), format!("begins {number}\n{}", line.repeat(40))))
        .collect();
    input.periods = ["2025-06", "2025-07", "2025-08"]
        .map(|month| {
            (month.to_owned(), format!("- the heart of {month}\n{}", "- 我们一起去了海边\n".repeat(200)))
        })
        .to_vec();
    input
}

#[test]
fn documents_and_periods_leave_room_for_the_talk() {
    let input = well_documented_input();
    let reply = within(&input, 8_000);
    assert!(reply.tokens <= 8_000);
    assert!(
        reply.user.contains("Three hours.") && reply.user.contains("# Their own words"),
        "{:?}",
        reply.cut
    );
    let part = |texts: &str, from: &str, to: &str| {
        let (_, rest) = texts.split_once(from).unwrap();
        memory::text::estimate_tokens(rest.split_once(to).unwrap().0)
    };
    assert!(part(&reply.system, "# What else is written down\n", "# Style\n") <= 8_000 / 3);
    assert!(reply.system.contains("begins 0") && !reply.system.contains("begins 13"), "the first ones stay");
    for month in ["2025-06", "2025-07", "2025-08"] {
        assert!(
            reply.user.contains(&format!("the heart of {month}")),
            "{month} was asked about like the others"
        );
    }
    assert!(part(&reply.user, "# How you remember 2025-06\n", "# Recent sessions\n") <= 8_000 / 4);
    assert_eq!(reply.user.matches("… (it goes on)").count(), 3);
    let lost: Vec<&str> = reply.cut.iter().map(|cut| cut.split(':').next().unwrap()).collect();
    assert_eq!(lost, ["Identity documents", "Whole texts"], "{:?}", reply.cut);
    assert_eq!(reply.inputs["periods"].as_array().unwrap().len(), 3);
}

#[test]
fn documents_are_cut_before_conversations_and_promises() {
    let mut input = well_documented_input();
    input.documents.truncate(3);
    input.periods.truncate(1);
    let bare = within(&input, 0).tokens;
    let few = within(&input, bare + 150);
    assert!(!few.system.contains("# Document") && !few.user.contains("# How you remember"), "{:?}", few.cut);
    assert!(few.user.contains("# Our recent conversation"), "{:?}", few.cut);
}

#[test]
fn one_endless_line_is_recognised_from_its_beginning() {
    for letter in ["很", "x"] {
        let mut input = ReplyInput::new("Mira", at("2026-03-03T13:04:00Z"), jiff::tz::TimeZone::UTC);
        input.documents = vec![("Endless".to_owned(), letter.repeat(50_000))];
        input.burst = vec![message(99, Role::User, "2026-03-03T13:04:00Z", "now")];
        let reply = within(&input, 6_000);
        assert!(reply.tokens <= 6_000 && reply.system.contains("… (it goes on)"), "{:?}", reply.cut);
        assert!(reply.system.matches(letter).count() > 1_500);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_prompt_with_documents_keeps_its_budget(tokens in 0u32..9_000, documents in 0usize..15, periods in 0usize..4) {
        let mut input = well_documented_input();
        input.documents.truncate(documents);
        input.periods.truncate(periods);
        let reply = within(&input, tokens);
        never_cut(&reply);
        prop_assert!(reply.tokens <= tokens.max(within(&input, 0).tokens));
        prop_assert_eq!(reply.inputs["periods"].as_array().unwrap().len(), reply.user.matches("# How you remember").count());
    }
}
