//! Whose statements count: no echo, no facts of other people, no names that are only used as an address; and what an
//! edited message leaves.

use memory::entities::EntityKind;
use memory::forget::{ForgetMode, ForgetRequest, Selection};
use memory::messages::Role;
use memory::nodes::{NodeKind, RelationalTag};
use memory::ports::{
    CorrectionStore, Extraction, ForgetStore, MessageEdit, MessageStore, NodeStore, PairVerdict,
};
use memory::sessions::{Session, SessionStatus};
use memory::text::{estimate_tokens, index_terms};

use crate::workshop::{Workshop, entity, event};
use crate::world::MINUTE;

/// The model answers every prompt with one event of this text with this quote.
fn always(workshop: &Workshop, description: &'static str, quote: &'static str) {
    workshop.mind.extract_with(move |input| {
        Ok(Extraction { events: vec![event(input, description, quote, 3)], ..Extraction::default() })
    });
}

/// Whether a session of these messages stores an event when the model always answers with it.
async fn is_believed(lines: &[(Role, &str)], description: &'static str, quote: &'static str) -> bool {
    let mut workshop = Workshop::new().await;
    workshop.settings.trivial_user_terms = 0;
    always(&workshop, description, quote);
    workshop.session(lines).await;
    workshop.consolidate().await;
    let (events, rejected) = (workshop.nodes(NodeKind::Event).await, workshop.rejected().await);
    assert_eq!(events.len() + rejected.len(), 1, "believed, or left to a person: {events:?} {rejected:?}");
    assert_eq!(workshop.mind.extractions().len(), 1 + rejected.len(), "asked once more, and only then");
    events.len() == 1
}

#[tokio::test]
async fn claims_of_the_persona_are_not_believed_when_repeated() {
    let persona = (Role::Persona, "你一定很喜欢周末去爬山。");
    let copied = [persona, (Role::User, "你一定很喜欢周末去爬山")];
    assert!(!is_believed(&copied, "用户喜欢周末去爬山", "喜欢周末去爬山").await);
    let framed = [persona, (Role::User, "哈哈,你说“你一定很喜欢周末去爬山”,真逗")];
    assert!(!is_believed(&framed, "用户喜欢周末去爬山", "喜欢周末去爬山").await);
    let own = [persona, (Role::User, "对,我很喜欢周末去爬山")];
    assert!(is_believed(&own, "用户喜欢周末去爬山", "我很喜欢周末去爬山").await);
    let english = (Role::Persona, "You must love hiking in the hills.");
    let copied = [english, (Role::User, "\"You must love hiking in the hills\" is what you said")];
    assert!(!is_believed(&copied, "The user loves hiking in the hills", "love hiking in the hills").await);
    let first = [
        (Role::User, "I love hiking in the hills"),
        english,
        (Role::User, "You must love hiking in the hills"),
    ];
    assert!(is_believed(&first, "The user loves hiking in the hills", "love hiking in the hills").await);
}

#[tokio::test]
async fn a_question_is_no_fact_and_a_bare_yes_only_what_it_answers() {
    let question = (Role::Persona, "你是不是养了狗?");
    assert!(!is_believed(&[(Role::User, "在吗"), question], "用户养了狗", "养了狗").await);
    let answered = [question, (Role::User, "嗯")];
    assert!(is_believed(&answered, "用户养了狗", "嗯").await);
    assert!(!is_believed(&answered, "用户在北京开公司", "嗯").await);
    let choice = [(Role::Persona, "Do you have a cat or a dog?"), (Role::User, "Yes!")];
    assert!(!is_believed(&choice, "The user has a dog", "Yes!").await);
    let statement = [(Role::Persona, "You have a dog. I can tell."), (Role::User, "ok")];
    assert!(!is_believed(&statement, "The user has a dog", "ok").await);
}

#[tokio::test]
async fn the_answered_question_is_evidence_beside_the_yes() {
    let mut workshop = Workshop::new().await;
    workshop.settings.trivial_user_terms = 0;
    always(&workshop, "用户养了狗", "嗯");
    workshop.session(&[(Role::Persona, "你是不是养了狗?"), (Role::User, "嗯")]).await;
    workshop.consolidate().await;
    let node = workshop.nodes(NodeKind::Event).await.remove(0);
    let evidence = workshop.store.node(node.id).await.unwrap().unwrap().evidence;
    let quotes: Vec<&str> = evidence.iter().map(|evidence| evidence.quote.as_str()).collect();
    assert_eq!(quotes, ["你是不是养了狗?", "嗯"]);
}

#[tokio::test]
async fn other_peoples_values_are_not_the_users() {
    let sister = [(Role::User, "我妹妹对花生过敏"), (Role::Persona, "嗯")];
    assert!(!is_believed(&sister, "用户对花生过敏", "对花生过敏").await);
    assert!(is_believed(&sister, "用户的妹妹对花生过敏", "我妹妹对花生过敏").await);
    let english = [(Role::User, "my sister is allergic to peanuts"), (Role::Persona, "oh")];
    assert!(!is_believed(&english, "The user is allergic to peanuts", "allergic to peanuts").await);
    assert!(is_believed(&english, "The user's sister is allergic to peanuts", "allergic to peanuts").await);
}

#[tokio::test]
async fn whom_it_is_about_is_asked_once_more() {
    let mut workshop = Workshop::new().await;
    workshop.settings.trivial_user_terms = 0;
    let mut asked = 0;
    workshop.mind.extract_with(move |input| {
        asked += 1;
        let description = if asked == 1 { "用户对花生过敏" } else { "用户的妹妹对花生过敏" };
        Ok(Extraction {
            events: vec![event(input, description, "对花生过敏", -3)], ..Extraction::default()
        })
    });
    workshop.said("我妹妹对花生过敏").await;
    workshop.consolidate().await;
    let reason = &workshop.mind.extractions()[1].failures[0].reason;
    assert!(reason.contains("someone else") && reason.contains("妹"), "{reason}");
    assert_eq!(workshop.nodes(NodeKind::Event).await[0].description, "用户的妹妹对花生过敏");
    assert!(workshop.rejected().await.is_empty(), "what was mended needs no person");
}

#[tokio::test]
async fn a_name_that_is_only_called_out_becomes_no_entity() {
    let workshop = Workshop::new().await;
    workshop.mind.extract_with(|input| {
        let named =
            ["小雨", "亲爱的", "小黑"].map(|name| entity(name, &[], memory::entities::EntityKind::Person));
        Ok(Extraction {
            events: vec![event(input, "用户养了一只猫叫小黑", "我养了只猫,叫小黑", 2)],
            mentioned_entities: named.to_vec(),
            ..Extraction::default()
        })
    });
    workshop.said("小雨,我回来了。亲爱的,我养了只猫,叫小黑").await;
    workshop.consolidate().await;
    let names: Vec<String> =
        workshop.entities().await.into_iter().map(|entity| entity.canonical_name).collect();
    assert_eq!(names, ["小黑"]);
}

#[tokio::test]
async fn an_edited_session_is_extracted_once_more_and_doubles_nothing() {
    let workshop = Workshop::new().await;
    workshop.mind.extract_with(|input| {
        let told = |quote: &str, description: &str| {
            input
                .messages
                .iter()
                .any(|message| message.content.contains(quote))
                .then(|| event(input, description, quote, 3))
        };
        let events = [
            told("我养了只白猫", "用户养了一只白猫"),
            told("我住在波恩", "用户住在波恩"),
            told("我住在耶拿", "用户住在耶拿"),
        ];
        Ok(Extraction {
            events: events.into_iter().flatten().collect(),
            summary: Some(input.messages[1].content.clone()),
            ..Extraction::default()
        })
    });
    let session = workshop.session(&[(Role::User, "我养了只白猫"), (Role::User, "我住在波恩")]).await;
    workshop.consolidate().await;
    let before = workshop.nodes(NodeKind::Event).await;
    assert_eq!(before.len(), 2);
    for content in ["我住在", "我住在耶拿"] {
        edit(&workshop, &session, 1, content).await;
    }
    assert_eq!(workshop.now_stands(&session).await.summary, None);
    workshop.pass(MINUTE).await;
    workshop.consolidate().await;
    assert_eq!(workshop.mind.extractions().len(), 2, "once for all edits");
    let after = workshop.nodes(NodeKind::Event).await;
    let told: Vec<&str> = after.iter().map(|node| node.description.as_str()).collect();
    assert_eq!(told, ["用户养了一只白猫", "用户住在耶拿"]);
    assert_eq!(after[0].id, before[0].id, "what rested on other words is the same memory");
    let session = workshop.now_stands(&session).await;
    assert_eq!((session.status, session.extracted_events), (SessionStatus::Closed, 2));
    assert_eq!(session.summary.as_deref(), Some("我住在耶拿"));
}

/// The model always answers with the cat, in words that a person had erased; no prompt contains them.
#[tokio::test]
async fn forgotten_text_does_not_return_with_another_messages_edit() {
    let workshop = Workshop::new().await;
    workshop.mind.extract_with(|input| {
        let told = [
            ("我养了只白猫,叫小黑", "用户养了一只白猫,叫小黑"),
            ("它三岁了", "用户的猫三岁了"),
            ("我住在波恩", "用户住在波恩"),
            ("我住在耶拿", "用户住在耶拿"),
        ];
        let events = told.map(|(quote, description)| event(input, description, quote, 3));
        Ok(Extraction {
            events: events.into_iter().filter(|event| !event.description.contains("岁")).collect(),
            mentioned_entities: vec![entity("小黑", &[], EntityKind::Pet)],
            summary: Some(input.messages[0].content.clone()),
            ..Extraction::default()
        })
    });
    let lines = [(Role::User, "我养了只白猫,叫小黑。它三岁了"), (Role::User, "我住在波恩")];
    let session = workshop.session(&lines).await;
    workshop.consolidate().await;
    let cat = workshop.nodes(NodeKind::Event).await.remove(0);
    assert_eq!(cat.description, "用户养了一只白猫,叫小黑");
    let name = workshop.entities().await.remove(0);
    let selection = Selection { entities: [name.id].into(), ..Selection::default() };
    let act = ForgetRequest {
        scope: workshop.scope.clone(),
        selection,
        thoughts: ForgetMode::Orphan,
        at: workshop.clock_now(),
    };
    workshop.store.forget(act, None, None).await.unwrap();
    assert_eq!(workshop.store.node(cat.id).await.unwrap(), None);
    workshop.pass(MINUTE).await;
    edit(&workshop, &session, 1, "我住在耶拿").await;
    workshop.consolidate().await;
    let told =
        |nodes: Vec<memory::nodes::Node>| nodes.into_iter().map(|node| node.description).collect::<Vec<_>>();
    assert_eq!(told(workshop.nodes(NodeKind::Event).await), ["用户住在耶拿"]);
    assert!(workshop.entities().await.is_empty(), "nor its name");
    let shown = workshop.mind.extractions().pop().unwrap().messages;
    assert_eq!(shown[0].content, "[…]。它三岁了");
    assert_eq!(workshop.now_stands(&session).await.summary.as_deref(), Some("[…]。它三岁了"));
    let refused = workshop.rejected().await;
    assert!(refused.iter().all(|refused| !refused.description.contains('猫')), "{refused:?}");

    // Other words of the same message are still extracted, also if the message was edited.
    workshop.mind.extract_with(|input| {
        let told = [("我养了只白猫,叫小黑", "用户养了一只白猫"), ("它四岁了", "用户的猫四岁了")];
        let events = told.map(|(quote, description)| event(input, description, quote, 3));
        Ok(Extraction { events: events.to_vec(), ..Extraction::default() })
    });
    workshop.pass(MINUTE).await;
    edit(&workshop, &session, 0, "听着:我养了只白猫,叫小黑。它四岁了").await;
    workshop.consolidate().await;
    assert_eq!(told(workshop.nodes(NodeKind::Event).await), ["用户住在耶拿", "用户的猫四岁了"]);
}

async fn edit(workshop: &Workshop, session: &Session, place: usize, content: &str) {
    let message = workshop.store.session_messages(session.id).await.unwrap().remove(place);
    let edit = MessageEdit {
        id: message.id,
        content: content.to_owned(),
        terms: index_terms(content),
        token_count: estimate_tokens(content),
        at: message.created_at,
    };
    workshop.store.edit_message(edit).await.unwrap().unwrap();
}

#[tokio::test]
async fn memories_that_a_session_may_replace_are_shown_however_old() {
    let mut workshop = Workshop::new().await;
    workshop.settings.trivial_user_terms = 0;
    let home = workshop.remember("我住在波恩的老城", 2).await;
    workshop.pass(MINUTE).await;
    let mut lines = vec![(Role::User, "我搬家了,不在波恩的老城住了")];
    lines.extend([(Role::User, "今天下雨"), (Role::Persona, "嗯")].repeat(8));
    workshop.session(&lines).await;
    workshop.mind.reconcile_as(PairVerdict::Replaces);
    workshop.mind.extract_with(move |input| {
        let mut moved = event(input, "用户从波恩搬走了", "我搬家了", 3);
        moved.supersedes = vec![home.id];
        moved.relational_tags = vec![RelationalTag::TurningPoint];
        Ok(Extraction { events: vec![moved], ..Extraction::default() })
    });
    workshop.consolidate().await;
    let shown: Vec<_> = workshop.mind.extractions()[1].known_nodes.iter().map(|node| node.id).collect();
    assert!(shown.contains(&home.id));
    let nodes = workshop.nodes(NodeKind::Event).await;
    assert_eq!(nodes[0].superseded_by, Some(nodes[1].id));
    let history = workshop.store.node_history(nodes[1].id, 10).await.unwrap().unwrap();
    assert_eq!(history.len(), 2);
}
