//! Documents and summaries of periods in the prompt of a reply.

use hub::api::identity::MetaText;
use jiff::civil::Date;
use memory::{Scope, UserId};

use crate::home::{Home, identity_text};

fn span(first: &str, last: &str) -> (Date, Date) {
    (first.parse().unwrap(), last.parse().unwrap())
}

#[tokio::test]
async fn documents_come_under_their_labels_in_their_order_and_without_core_blocks() {
    let home = Home::open().await;
    for (category, filename, content) in [
        ("custom", "rules.md", "不提那场车祸。"),
        ("relationship", "relationship_notes.md", "We laugh a lot. [chat:c1] [via:sillytavern]"),
        ("self", "zeal.md", "I collect maps."),
        ("self", "my_wants.md", "I want to see the sea."),
        ("user", "user_life.md", "Works at night."),
        ("custom", "empty.md", "   "),
    ] {
        let written = home.hub.identity_write(&home.caller, identity_text(category, filename, content)).await;
        assert!(written.unwrap().success);
    }
    let label = MetaText {
        category: "custom".parse().unwrap(),
        filename: "rules.md".parse().unwrap(),
        prompt_label: "我们的约定".to_owned(),
    };
    home.hub.identity_set_meta(&home.caller, label).await.unwrap();
    // A core block is in the prompt once, as a core block.
    let edit = hub::api::documents::DocumentEdit {
        content: "Persona block.".to_owned(),
        version: None,
        prompt_label: None,
    };
    let name = hub::DocumentName::parse("self", "persona").unwrap();
    home.hub.document_write(&home.person(), &name, "admin", &edit).await.unwrap();
    let found = home.hub.for_prompt(&home.caller.scope, &[]).await.unwrap();
    let told: Vec<(&str, &str)> =
        found.documents.iter().map(|(label, text)| (label.as_str(), text.as_str())).collect();
    assert_eq!(
        told,
        [
            ("my_wants", "I want to see the sea."),
            ("zeal", "I collect maps."),
            ("user_life", "Works at night."),
            ("relationship_notes", "We laugh a lot."),
            ("我们的约定", "不提那场车祸。"),
        ]
    );
    assert!(found.periods.is_empty());
    // Another user of the persona sees what belongs to the persona, and nothing else.
    let other = Scope::new(home.caller.scope.persona.clone(), UserId::new("ben").unwrap());
    let labels: Vec<String> = home
        .hub
        .for_prompt(&other, &[])
        .await
        .unwrap()
        .documents
        .into_iter()
        .map(|(label, _)| label)
        .collect();
    assert_eq!(labels, ["my_wants", "zeal", "我们的约定"]);
}

#[tokio::test]
async fn a_span_is_described_by_the_coarsest_tier_that_exists() {
    let home = Home::open().await;
    for (granularity, date, text) in [
        ("monthly", "2025-05", "- may"),
        ("monthly", "2025-06", "# Monthly Memory - 2025-06\n\n- june [via:home]"),
        ("monthly", "2025-08", "- august"),
        ("weekly", "2025-W27", "- a week of July"),
        ("weekly", "2026-W27", "- the sea"),
        ("yearly", "2024", "- a year"),
        ("monthly", "2024-06", "- a month of that year"),
        ("daily", "2025-07-03", "- a day"),
    ] {
        home.create(granularity, date, text).await;
    }
    let told = |spans: Vec<(Date, Date)>| {
        let (hub, scope) = (home.hub.clone(), home.caller.scope.clone());
        async move { hub.for_prompt(&scope, &spans).await.unwrap().periods }
    };
    let pair = |date: &str, text: &str| (date.to_owned(), text.to_owned());
    assert_eq!(
        told(vec![span("2025-06-01", "2025-08-31")]).await,
        [pair("2025-06", "- june"), pair("2025-08", "- august")]
    );
    assert_eq!(told(vec![span("2025-07-01", "2025-07-31")]).await, [pair("2025-W27", "- a week of July")]);
    assert_eq!(told(vec![span("2024-01-01", "2024-12-31")]).await, [pair("2024", "- a year")]);
    assert_eq!(
        told(vec![span("2026-06-29", "2026-07-05"), span("2024-01-01", "2024-12-31")]).await,
        [pair("2024", "- a year"), pair("2026-W27", "- the sea")]
    );
    assert_eq!(told(vec![span("2025-07-03", "2025-07-05")]).await, [], "a day or two are told by recall");
    assert_eq!(told(vec![span("2023-01-01", "2023-12-31")]).await, []);
}
