//! Laws of personas, users, core blocks and costs.

use memory::core_blocks::{CoreBlockLabel, CoreBlocks};
use memory::facts::Fact;
use memory::ledger::ModelCall;
use memory::ports::{Avatar, FirstPersona, Store};
use memory::{PersonaId, Scope, UserId};

use super::Outcome;
use super::stage::{Stage, at};

/// A name stays until a person changes it.
pub async fn personas_and_users_are_stored(store: &dyn Store) -> Outcome {
    let (luna, vera, ann) = (PersonaId::new("luna")?, PersonaId::new("a-vera")?, UserId::new("ann")?);
    assert_eq!(store.ensure_persona(&luna, "Luna", at(0)).await?.display_name, "Luna");
    assert_eq!(store.ensure_persona(&luna, "Other", at(1)).await?.display_name, "Luna");
    store.ensure_persona(&vera, "Vera", at(2)).await?;
    store.rename_persona(&luna, "Luna 小月").await?;
    let personas = store.personas().await?;
    let names: Vec<_> =
        personas.iter().map(|persona| (persona.id.as_str(), persona.display_name.as_str())).collect();
    assert_eq!(names, [("a-vera", "Vera"), ("luna", "Luna 小月")]);
    assert_eq!(store.persona(&luna).await?.as_ref(), personas.last());
    assert_eq!(store.persona(&PersonaId::new("nobody")?).await?, None);

    let user = store.ensure_user(&ann, at(0)).await?;
    assert_eq!((user.display_name, user.timezone), (None, None));
    store.set_user_timezone(&ann, Some("Asia/Shanghai".to_owned())).await?;
    assert_eq!(store.ensure_user(&ann, at(1)).await?.timezone.as_deref(), Some("Asia/Shanghai"));
    Ok(())
}

/// A page has the look of each persona, and shows if texts for the current user are written.
pub async fn personas_are_listed_in_pages(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let own = stage.scope.persona.clone();
    for id in ["a-vera", "小月", "zoe"] {
        store.ensure_persona(&PersonaId::new(id)?, id, at(1)).await?;
    }
    let vera = Scope::new(PersonaId::new("a-vera")?, stage.scope.user.clone());
    store.write_core_block(&vera, CoreBlockLabel::User, "Ann is a nurse", "owner", at(2)).await?;
    let zoe = Scope::new(PersonaId::new("zoe")?, stage.scope.user.clone());
    store.write_core_block(&zoe, CoreBlockLabel::Style, "short", "owner", at(2)).await?;
    store.write_core_block(&zoe, CoreBlockLabel::Style, "", "owner", at(3)).await?;
    store.enable_voice(&zoe.persona, true).await?;
    let avatar = Avatar { extension: "png".to_owned(), image: vec![1; 10] };
    store.put_avatar(&zoe.persona, avatar, at(4)).await?;

    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = store.persona_page(&stage.scope.user, after.as_ref(), 2).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.record.id.clone());
        listed.extend(page);
    }
    let all = store.personas().await?;
    assert_eq!(
        listed.iter().map(|listed| &listed.record).collect::<Vec<_>>(),
        all.iter().collect::<Vec<_>>()
    );
    for persona in &listed {
        assert_eq!(persona.appearance, store.persona_appearance(&persona.record.id).await?);
        assert_eq!(persona.is_written, persona.record.id == vera.persona, "{}", persona.record.id);
    }
    assert!(listed.iter().any(|listed| listed.record.id == own));
    let other = store.persona_page(&stage.other.user, None, 1).await?;
    assert!(!other[0].is_written, "what is written of one user is not there for another");
    Ok(())
}

/// Name, facts and blocks of the first persona are written together, and only if it has none yet.
pub async fn the_first_persona_is_written_once(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let first = |name: &str, style: &str| FirstPersona {
        display_name: name.to_owned(),
        facts: vec![(Fact::FullName, Some(name.to_owned()))],
        blocks: CoreBlocks { style: style.to_owned(), ..CoreBlocks::default() },
    };
    assert!(store.write_first_persona(&stage.scope, first("Mira", "short"), "owner", at(1)).await?);
    assert!(!store.write_first_persona(&stage.scope, first("Vera", "long"), "owner", at(2)).await?);
    let blocks = CoreBlocks { style: "short".to_owned(), ..CoreBlocks::default() };
    assert_eq!(store.core_blocks(&stage.scope).await?, blocks);
    assert_eq!(store.persona_facts(&stage.scope.persona).await?.get(Fact::FullName), Some("Mira"));
    let name = store.ensure_persona(&stage.scope.persona, "x", at(3)).await?.display_name;
    assert_eq!(name, "Mira");
    Ok(())
}

/// The block `user` belongs to each user; the others are shared.
pub async fn core_blocks_belong_to_the_right_users(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    assert_eq!(store.core_blocks(&stage.scope).await?, CoreBlocks::default());
    let write =
        async |scope, label, text: &str| store.write_core_block(scope, label, text, "owner", at(1)).await;
    write(&stage.scope, CoreBlockLabel::Persona, "I am Luna").await?;
    write(&stage.scope, CoreBlockLabel::User, "Ann is a nurse").await?;
    write(&stage.other, CoreBlockLabel::User, "Bob is a baker").await?;
    write(&stage.other, CoreBlockLabel::Style, "short").await?;
    write(&stage.scope, CoreBlockLabel::Style, "shorter").await?;
    let blocks = |user: &str| CoreBlocks {
        persona: "I am Luna".to_owned(),
        user: user.to_owned(),
        style: "shorter".to_owned(),
    };
    assert_eq!(store.core_blocks(&stage.scope).await?, blocks("Ann is a nurse"));
    assert_eq!(store.core_blocks(&stage.other).await?, blocks("Bob is a baker"));
    assert_eq!(store.scope_counts(&stage.scope).await?, [3, 0, 0, 0]);
    write(&stage.scope, CoreBlockLabel::User, "").await?;
    assert_eq!(store.core_blocks(&stage.scope).await?, blocks(""));
    assert_eq!(store.scope_counts(&stage.scope).await?, [2, 0, 0, 0]);

    let long = "长".repeat(memory::core_blocks::CORE_BLOCK_LENGTH_MAX);
    write(&stage.scope, CoreBlockLabel::User, &long).await?;
    assert!(write(&stage.scope, CoreBlockLabel::User, &format!("{long}。")).await.is_err());
    assert_eq!(store.core_blocks(&stage.scope).await?.user, long);
    Ok(())
}

/// The ledger stores every call, with or without a turn.
pub async fn costs_are_stored(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    for turn_id in [Some(stage.turn_id()), None] {
        let call = ModelCall {
            at: at(1),
            task: "reply".to_owned(),
            tier: "medium".to_owned(),
            provider: "scripted".to_owned(),
            model: "model".to_owned(),
            input_tokens: u64::MAX,
            output_tokens: 20,
            cached_tokens: 0,
            latency_ms: 12,
            outcome: "ok".to_owned(),
            turn_id,
            session_id: None,
            prompt_hash: "digest".to_owned(),
            cost_usd: None,
        };
        store.record_call(call).await?;
    }
    Ok(())
}
