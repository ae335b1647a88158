//! Laws of tokens, logins and the audit log.

use memory::UserId;
use memory::access::{AccessScope, AuditEntry, LOGIN_LIFETIME, Login, NamedToken};
use memory::identifiers::TurnId;
use memory::ports::{AccessStore, LOGINS_MAX, TOKEN_TURNS_RETENTION};

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
        users_max: None,
    }
}

/// A token is found by its prefix, listed by its name, marked as used, and removed when it is revoked.
pub async fn a_token_is_stored_until_it_is_revoked(store: &dyn AccessStore) -> Outcome {
    let phone = NamedToken {
        user: Some(UserId::new("ann")?),
        expires_at: Some(at(9_000)),
        streams_max: Some(3),
        users_max: Some(7),
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

/// Entries of the audit log are listed newest first, in pages.
pub async fn audit_entries_are_listed_newest_first(store: &dyn AccessStore) -> Outcome {
    assert!(store.audit_entries(None, 10).await?.is_empty());
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
    let first = store.audit_entries(None, 2).await?;
    assert_eq!(first.iter().map(|(_, act)| act.clone()).collect::<Vec<_>>(), [act(5), act(4)]);
    let rest = store.audit_entries(first.last().map(|(number, _)| *number), 10).await?;
    assert_eq!(rest.into_iter().map(|(_, act)| act).collect::<Vec<_>>(), [act(3), act(2), act(1)]);
    Ok(())
}

fn login(id: &str, token_prefix: Option<&str>, seconds: i64) -> Login {
    Login {
        id: id.to_owned(),
        cookie_digest: format!("cookie of {id}"),
        page_key_digest: format!("page key of {id}"),
        token: token_prefix.map_or("owner", |_| "laptop").to_owned(),
        token_prefix: token_prefix.map(str::to_owned),
        address: "192.0.2.7".to_owned(),
        browser: "Firefox, Linux".to_owned(),
        created_at: at(seconds),
        last_seen_at: at(seconds),
    }
}

/// A login is listed by its last use and exists until it is ended, its token is revoked, or it was unused for too
/// long.
pub async fn a_login_ends_with_its_token_by_hand_or_unused(store: &dyn AccessStore) -> Outcome {
    assert!(store.add_token(token("laptop", "a1")).await?);
    for made in [login("1", None, 1), login("2", Some("a1"), 2), login("3", None, 3)] {
        store.add_login(made).await?;
    }
    store.touch_login("1", at(60)).await?;
    store.touch_login("1", at(30)).await?;
    assert_eq!(store.login_of("1").await?, Some(Login { last_seen_at: at(60), ..login("1", None, 1) }));
    let ids = |logins: Vec<Login>| logins.into_iter().map(|login| login.id).collect::<Vec<_>>();
    assert_eq!(ids(store.logins().await?), ["1", "3", "2"]);

    store.revoke_token("laptop").await?;
    assert_eq!(store.login_of("2").await?, None, "it ended with its token");
    assert_eq!(store.end_logins(Some("3")).await?, 1);
    assert_eq!(store.end_logins(Some("3")).await?, 0);
    assert_eq!(ids(store.logins().await?), ["1"]);

    let late = 61 + LOGIN_LIFETIME.as_secs();
    store.add_login(login("4", None, late)).await?;
    assert_eq!(ids(store.logins().await?), ["4"], "the other was unused for too long");
    for number in 0..LOGINS_MAX {
        store.add_login(login(&format!("more {number}"), None, late + 1)).await?;
    }
    assert_eq!(store.login_of("4").await?, None, "the oldest was removed");
    assert_eq!(store.end_logins(None).await?, u64::from(LOGINS_MAX));
    Ok(())
}

/// Users that a token created and replies that it requested are counted, and removed with it.
pub async fn replies_of_a_token_are_counted(store: &dyn AccessStore) -> Outcome {
    assert!(store.add_token(token("phone", "b2")).await?);
    let (ann, ben, cat) = (UserId::new("ann")?, UserId::new("ben")?, UserId::new("cat")?);
    for user in [&ann, &ben, &ann] {
        assert!(store.admit_user("b2", user, 2).await?);
    }
    assert!(!store.admit_user("b2", &cat, 2).await?, "it has created as many as it may");
    assert!(store.admit_user("c3", &cat, 2).await?, "another token has its own");
    assert!(store.admit_user("b2", &cat, 3).await?);

    let turn = TurnId(uuid::Uuid::from_u128(7));
    for seconds in [10, 20, 30] {
        store.add_token_turn("b2", at(seconds), turn).await?;
    }
    store.add_token_turn("b2", at(40), turn).await?;
    assert_eq!(store.token_use("b2", at(20)).await?, (3, 0.0));
    assert_eq!(store.token_use("c3", at(20)).await?, (0, 0.0));
    store.add_token_turn("b2", at(31 + TOKEN_TURNS_RETENTION.as_secs()), turn).await?;
    assert_eq!(store.token_use("b2", at(0)).await?.0, 2, "those of days ago are not kept");

    store.revoke_token("phone").await?;
    assert_eq!(store.token_use("b2", at(0)).await?.0, 0);
    assert!(store.admit_user("b2", &ann, 1).await?, "nothing of it is left");
    Ok(())
}
