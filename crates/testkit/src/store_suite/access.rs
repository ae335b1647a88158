//! Tokens and acts.

use memory::UserId;
use memory::access::{AccessScope, AuditEntry, NamedToken};
use memory::ports::AccessStore;

use super::Outcome;
use super::stage::at;

fn token(name: &str, prefix: &str) -> NamedToken {
    NamedToken {
        name: name.to_owned(),
        prefix: prefix.to_owned(),
        hash: format!("hash of {prefix}"),
        scopes: vec![AccessScope::Chat, AccessScope::Hub("laptop".to_owned())],
        user: None,
        created_at: at(1),
        last_used_at: None,
        expires_at: None,
        streams_max: None,
    }
}

/// A token is found by its prefix, listed by its name, counted as used, and gone when it is revoked.
pub async fn a_token_is_kept_until_it_is_revoked(store: &dyn AccessStore) -> Outcome {
    let phone = NamedToken {
        user: Some(UserId::new("ann")?),
        expires_at: Some(at(9_000)),
        streams_max: Some(3),
        ..token("phone", "b2")
    };
    assert!(store.add_token(phone.clone()).await?);
    assert!(store.add_token(token("laptop", "a1")).await?);
    assert!(!store.add_token(token("phone", "c3")).await?, "the name is taken");
    assert!(!store.add_token(token("watch", "b2")).await?, "the prefix is taken");
    assert_eq!(store.token_of("b2").await?, Some(phone.clone()));
    assert_eq!(store.token_of("c3").await?, None);
    let names = |tokens: Vec<NamedToken>| tokens.into_iter().map(|token| token.name).collect::<Vec<_>>();
    assert_eq!(names(store.tokens().await?), ["laptop", "phone"]);

    store.touch_tokens(vec![("b2".to_owned(), at(60)), ("gone".to_owned(), at(60))]).await?;
    store.touch_tokens(vec![("b2".to_owned(), at(30))]).await?;
    let used = NamedToken { last_used_at: Some(at(60)), ..phone };
    assert_eq!(store.token_of("b2").await?, Some(used.clone()), "time does not run backwards");

    assert_eq!(store.revoke_token("phone").await?, Some(used));
    assert_eq!(store.revoke_token("phone").await?, None);
    assert_eq!(store.token_of("b2").await?, None);
    assert!(store.add_token(token("phone", "d4")).await?, "a name is free again");
    Ok(())
}

/// Acts are listed newest first, page by page.
pub async fn acts_are_listed_backwards(store: &dyn AccessStore) -> Outcome {
    assert!(store.acts(None, 10).await?.is_empty());
    let act = |seconds: i64| AuditEntry {
        at: at(seconds),
        token: "owner".to_owned(),
        act: "POST /api/admin/stop".to_owned(),
        object: format!("object {seconds}"),
        status: 202,
    };
    for seconds in 1..=5 {
        store.record_act(act(seconds)).await?;
    }
    let first = store.acts(None, 2).await?;
    assert_eq!(first.iter().map(|(_, act)| act.clone()).collect::<Vec<_>>(), [act(5), act(4)]);
    let rest = store.acts(first.last().map(|(number, _)| *number), 10).await?;
    assert_eq!(rest.into_iter().map(|(_, act)| act).collect::<Vec<_>>(), [act(3), act(2), act(1)]);
    Ok(())
}
