//! Laws of personas and users as people edit them.

use memory::core_blocks::CoreBlocks;
use memory::facts::{Fact, Facts};
use memory::messages::Turn;
use memory::ports::{
    Appearance, Avatar, BindOutcome, ExternalIdentity, FailedAttempt, FailedWork, FirstPersona, KnownUser,
    NewMessage, Store, StoreError,
};
use memory::sessions::CloseTrigger;
use memory::{PersonaId, Scope, UserId};

use super::Outcome;
use super::stage::{Stage, at};

/// Creating a persona with an existing id is refused and changes nothing.
pub async fn a_persona_is_made_once(store: &dyn Store) -> Outcome {
    let luna = Scope::new(PersonaId::new("luna 小月")?, UserId::new("self")?);
    let first = |name: &str, style: &str| FirstPersona {
        display_name: name.to_owned(),
        facts: vec![(Fact::FullName, Some(name.to_owned()))],
        blocks: CoreBlocks { style: style.to_owned(), ..CoreBlocks::default() },
    };
    store.ensure_user(&luna.user, at(0)).await?;
    assert!(store.create_persona(&luna, first("Luna", "short"), "owner", at(0)).await?);
    assert!(!store.create_persona(&luna, first("Other", "long"), "owner", at(1)).await?);
    assert_eq!(store.core_blocks(&luna).await?.style, "short");
    assert_eq!(store.persona_facts(&luna.persona).await?.get(Fact::FullName), Some("Luna"));
    let personas = store.personas().await?;
    assert_eq!(personas.iter().map(|persona| persona.display_name.as_str()).collect::<Vec<_>>(), ["Luna"]);
    Ok(())
}

/// Fields that are not written keep their values; a reset clears all.
pub async fn facts_are_stored_separately(store: &dyn Store) -> Outcome {
    let luna = PersonaId::new("luna")?;
    assert!(!store.write_facts(&luna, vec![(Fact::FullName, Some("x".to_owned()))]).await?);
    store.ensure_persona(&luna, "Luna", at(0)).await?;
    assert!(store.persona_facts(&luna).await?.is_empty());
    let all = Fact::ALL.map(|fact| (fact, Some(format!("{} 一", fact.as_str())))).to_vec();
    assert!(store.write_facts(&luna, all).await?);
    store.write_facts(&luna, vec![(Fact::Gender, None), (Fact::Location, Some("杭州".to_owned()))]).await?;
    let facts = store.persona_facts(&luna).await?;
    assert_eq!((facts.get(Fact::Gender), facts.get(Fact::Location)), (None, Some("杭州")));
    assert_eq!(facts.get(Fact::HealthStatus), Some("health_status 一"));
    store.reset_persona(&luna, "Luna", at(1)).await?;
    assert_eq!(store.persona_facts(&luna).await?, Facts::default());
    Ok(())
}

/// A new picture replaces the old one. A reset removes picture, voice and card.
pub async fn a_picture_and_a_voice_are_stored(store: &dyn Store) -> Outcome {
    let luna = PersonaId::new("luna")?;
    store.ensure_persona(&luna, "Luna", at(0)).await?;
    assert_eq!(store.persona_appearance(&luna).await?, Appearance::default());
    let picture =
        |extension: &str, byte| Avatar { extension: extension.to_owned(), image: vec![byte; 70_000] };
    store.put_avatar(&luna, picture("png", 1), at(1)).await?;
    store.put_avatar(&luna, picture("gif", 2), at(2)).await?;
    store.enable_voice(&luna, true).await?;
    store.choose_voice(&luna, "alto").await?;
    assert_eq!(store.avatar(&luna).await?, Some(picture("gif", 2)));
    let appearance = store.persona_appearance(&luna).await?;
    assert!(appearance.has_avatar && appearance.voice_enabled);
    assert_eq!(appearance.voice_id.as_deref(), Some("alto"));
    assert!(store.remove_avatar(&luna).await?);
    assert!(!store.remove_avatar(&luna).await?);
    assert_eq!(store.avatar(&luna).await?, None);
    store.put_avatar(&luna, picture("webp", 3), at(3)).await?;
    assert_eq!(store.character_card(&luna).await?, None);
    store.put_character_card(&luna, r#"{"name": "露娜"}"#).await?;
    assert_eq!(store.character_card(&luna).await?.as_deref(), Some(r#"{"name": "露娜"}"#));
    store.reset_persona(&luna, "Luna", at(4)).await?;
    assert_eq!(store.persona_appearance(&luna).await?, Appearance::default());
    assert_eq!(store.character_card(&luna).await?, None);
    Ok(())
}

/// An account on a channel belongs to one user until that user's link is removed.
pub async fn external_identities_belong_to_one_user(store: &dyn Store) -> Outcome {
    let (ann, bob) = (UserId::new("ann")?, UserId::new("bob 小明")?);
    let discord =
        |id: &str| ExternalIdentity { channel_id: "discord".to_owned(), external_id: id.to_owned() };
    let number = discord("18446744073709551615");
    assert_eq!(store.bind_identity(&ann, number.clone(), at(0)).await?, BindOutcome::NoUser);
    let new = |id: &UserId, name: &str| KnownUser {
        id: id.clone(),
        display_name: Some(name.to_owned()),
        timezone: Some("Asia/Shanghai".to_owned()),
        created_at: at(1),
        identities: Vec::new(),
    };
    assert!(store.create_user(new(&bob, "小明")).await?);
    assert!(store.create_user(new(&ann, "Ann")).await?);
    assert!(!store.create_user(new(&ann, "Other")).await?);
    assert_eq!(store.bind_identity(&ann, number.clone(), at(2)).await?, BindOutcome::Now);
    assert_eq!(store.bind_identity(&ann, number.clone(), at(3)).await?, BindOutcome::Before);
    assert_eq!(store.bind_identity(&bob, number.clone(), at(4)).await?, BindOutcome::ToAnother(ann.clone()));
    store.bind_identity(&ann, discord("a/b?c"), at(5)).await?;
    assert_eq!(store.user_of_identity(&number).await?, Some(ann.clone()));
    assert_eq!(store.user_of_identity(&discord("1844674407370955161")).await?, None);

    let listed = store.users(None, 10).await?;
    assert_eq!(listed.iter().map(|user| &user.id).collect::<Vec<_>>(), [&ann, &bob]);
    assert_eq!(
        listed[0],
        KnownUser { identities: vec![number.clone(), discord("a/b?c")], ..new(&ann, "Ann") }
    );
    assert_eq!(store.users(Some(&ann), 1).await?, [new(&bob, "小明")]);
    assert!(store.name_user(&bob, None).await?);
    assert_eq!(store.user(&bob).await?.and_then(|user| user.display_name), None);
    assert!(!store.unbind_identity(&bob, &number).await?);
    assert!(store.unbind_identity(&ann, &number).await?);
    assert_eq!(store.bind_identity(&bob, number, at(6)).await?, BindOutcome::Now);
    Ok(())
}

/// Failed turns are listed until they are retried.
pub async fn failed_turns_wait_for_a_person(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut turns = Vec::new();
    for minute in 0..3 {
        let turn_id = Some(stage.turn_id());
        let line = NewMessage { turn_id, ..stage.user_line("hello", minute * 60) };
        store.capture(line, stage.policy, None).await?;
        turns.extend(turn_id);
    }
    let failed_turns = async |limit| {
        let found = store.failed_work(None, None, limit).await?;
        Ok::<_, StoreError>(found.into_iter().filter_map(turn_of).collect::<Vec<_>>())
    };
    assert!(failed_turns(10).await?.is_empty());
    for turn in &turns[..2] {
        store.fail_turn(*turn, "the model is down").await?;
    }
    let failed = failed_turns(10).await?;
    assert_eq!(failed.iter().map(|turn| turn.id).collect::<Vec<_>>(), [turns[1], turns[0]]);
    assert_eq!(failed[0].reason.as_deref(), Some("the model is down"));
    assert_eq!(failed_turns(1).await?.len(), 1);
    store.reopen_turn(turns[1]).await?;
    assert_eq!(failed_turns(10).await?.len(), 1);
    Ok(())
}

fn turn_of(work: FailedWork) -> Option<Turn> {
    match work {
        FailedWork::Turn(turn) => Some(turn),
        FailedWork::Session(_) => None,
    }
}

/// Failed sessions and turns are one list, read in pages, of one scope or of all.
pub async fn failed_work_is_listed_in_pages(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut expected = Vec::new();
    for minute in 0..6 {
        let scope = if minute % 3 == 0 { &stage.other } else { &stage.scope };
        let turn_id = stage.turn_id();
        let line = NewMessage {
            turn_id: Some(turn_id),
            scope: scope.clone(),
            ..stage.user_line("hello", minute * 60)
        };
        let session = store.capture(line, stage.policy, None).await?.message.session_id;
        store.fail_turn(turn_id, "the model is down").await?;
        expected.push((scope.clone(), turn_id.0));
        if minute == 5 {
            store.end_session(session, CloseTrigger::Idle).await?;
            store.claim_closing_session(at(400)).await?;
            let error = "the model is down".to_owned();
            store.record_failure(FailedAttempt { session_id: session, error, retry_at: None }).await?;
            expected.push((scope.clone(), session.0));
        }
    }
    for scope in [None, Some(&stage.scope), Some(&stage.other)] {
        let (mut listed, mut before) = (Vec::new(), None);
        loop {
            let page = store.failed_work(scope, before, 2).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.list_position());
            listed.extend(page.iter().map(FailedWork::list_position));
        }
        let mut of_scope: Vec<_> = expected
            .iter()
            .filter(|(of, _)| scope.is_none_or(|scope| scope == of))
            .map(|(_, id)| *id)
            .collect();
        assert!(listed.is_sorted_by(|newer, older| newer > older), "{listed:?}");
        let mut listed: Vec<_> = listed.into_iter().map(|(_, id)| id).collect();
        listed.sort_unstable();
        of_scope.sort_unstable();
        assert_eq!(listed, of_scope, "{scope:?}");
    }
    Ok(())
}
