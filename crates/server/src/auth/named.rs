//! Named tokens: created once, shown once, stored as a hash, and remembered so that most requests need no hashing.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use jiff::{SignedDuration, Timestamp};
use memory::UserId;
use memory::access::{AccessScope, NamedToken, OWNER, TOKEN_NAME_LENGTH_MAX, is_plain_name};
use memory::ports::{AccessStore, StoreError};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, watch};

use super::principal::{NAMED_STREAMS_MAX, OWNER_STREAMS_MAX, Principal};
use crate::tasks::spawn;

/// Prefix of every named token, by which people and scanners for leaked secrets recognise one.
const TOKEN_PREFIX: &str = "ev_";
/// Random bytes of the public part. They are enough to find the row, and not part of the secret.
const PREFIX_BYTES: usize = 6;
/// Maximum tokens that are accepted without hashing; beyond that all are hashed again.
const PROVEN_TOKENS_MAX: usize = 1_024;
/// Time for which a proven token is accepted before it is looked up in the database again. Other daemons learn of a
/// revocation within this time, and most requests read no row.
const PROOF_LIFETIME: SignedDuration = SignedDuration::from_secs(10);
/// Precision of the time of last use. Otherwise each request would be a write.
const LAST_USE_PRECISION: SignedDuration = SignedDuration::from_secs(60);
/// Maximum concurrent hashes: each takes 19 MiB and a processor.
const HASHES_AT_ONCE: usize = 2;
/// Fields of a new token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewToken {
    /// The name of the token; generated if absent.
    pub name: Option<String>,
    /// Areas that the token gives access to.
    pub scopes: Vec<AccessScope>,
    /// The only user that it may act for; `None` for all.
    pub user: Option<UserId>,
    /// Time at which the token expires.
    pub expires_at: Option<Timestamp>,
    pub streams_max: Option<u32>,
    /// Maximum users that it may create.
    pub users_max: Option<u32>,
}

/// Why no token was created.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NewTokenError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// A token with this name exists.
    #[error("name: a token `{0}` already exists; revoke it first, or choose another name")]
    Taken(String),
    /// The token could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Creates a token. The returned text is the token itself: it is shown once and not stored.
pub async fn make_token(
    store: &dyn AccessStore,
    random: &(dyn Fn() -> [u8; 32] + Send + Sync),
    now: Timestamp,
    new: NewToken,
) -> Result<(NamedToken, String), NewTokenError> {
    let scopes: BTreeSet<AccessScope> = new.scopes.into_iter().collect();
    check(new.name.as_deref(), &scopes, new.user.as_ref())?;
    if new.expires_at.is_some_and(|end| end <= now) {
        return Err(NewTokenError::Invalid("expires_at: must not be in the past".to_owned()));
    }
    let streams = 1..=OWNER_STREAMS_MAX;
    if new.streams_max.is_some_and(|most| !streams.contains(&(most as usize))) {
        return Err(NewTokenError::Invalid(format!("streams_max: must be 1 to {OWNER_STREAMS_MAX}")));
    }
    let secret = random();
    let (public, private) = secret.split_at(PREFIX_BYTES);
    let prefix = hex::encode(public);
    let text = format!("{TOKEN_PREFIX}{prefix}_{}", hex::encode(private));
    let name = new.name.unwrap_or_else(|| {
        let word = scopes.first().map(ToString::to_string).unwrap_or_default().replace(':', "-");
        format!("{word}-{prefix}")
    });
    let salt = random();
    let hash = hash_secret(text.clone(), salt).await?;
    let token = NamedToken {
        name,
        prefix,
        hash,
        scopes: scopes.into_iter().collect(),
        user: new.user,
        created_at: now,
        last_used_at: None,
        expires_at: new.expires_at,
        streams_max: new.streams_max,
        users_max: new.users_max,
    };
    if store.add_token(token.clone()).await? {
        Ok((token, text))
    } else {
        Err(NewTokenError::Taken(token.name))
    }
}

fn check(
    name: Option<&str>,
    scopes: &BTreeSet<AccessScope>,
    user: Option<&UserId>,
) -> Result<(), NewTokenError> {
    let refused = |reason: String| Err(NewTokenError::Invalid(reason));
    if scopes.is_empty() {
        return refused(
            "scopes: a token needs at least one of chat, chat:read, admin, admin:read, metrics, openai, hub:INSTANCE"
                .to_owned(),
        );
    }
    if user.is_some() && scopes.iter().any(is_admin_scope) {
        return refused(
            "user_id: a token with the scope admin sees all users, so it can't be bound to one".to_owned(),
        );
    }
    match name {
        Some(name) if !is_plain_name(name, TOKEN_NAME_LENGTH_MAX) => {
            refused(format!("name: 1 to {TOKEN_NAME_LENGTH_MAX} letters, digits, `.`, `_` and `-`"))
        }
        Some(name) if name.eq_ignore_ascii_case(OWNER) => {
            refused("name: `owner` is reserved for the owner's token".to_owned())
        }
        _ => Ok(()),
    }
}

fn is_admin_scope(scope: &AccessScope) -> bool {
    matches!(scope, AccessScope::Admin | AccessScope::AdminRead)
}

async fn hash_secret(text: String, salt: [u8; 32]) -> Result<String, StoreError> {
    let failed = |error: &dyn std::fmt::Display| {
        StoreError::Failed(format!("the hash could not be computed: {error}"))
    };
    let work = move || {
        let hash: Result<PasswordHash, _> =
            Argon2::default().hash_password_with_salt(text.as_bytes(), &salt[..16]);
        hash.map(|hash| hash.to_string())
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(hash)) => Ok(hash),
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}

#[derive(Clone, Debug)]
struct KnownToken {
    token: Arc<NamedToken>,
    looked_at: Timestamp,
    noted_at: Option<Timestamp>,
}

/// Verifies named tokens. A proven one is remembered by a digest, so that most requests need no hash; it is looked up
/// again every ten seconds, and forgotten at once when this process revokes it.
pub(crate) struct NamedTokens {
    store: Arc<dyn AccessStore>,
    known: Mutex<HashMap<[u8; 32], KnownToken>>,
    /// Limits concurrent hashes. A hash takes memory and a processor on purpose; without a limit, wrong tokens would
    /// take all of them.
    hashing: Semaphore,
    revoked: watch::Sender<u64>,
}

/// Result of looking up a token without hashing it.
pub(crate) enum TokenLookup {
    /// The token was proven before.
    Known(Principal),
    /// The text has the form of a token and has to be hashed.
    Unproven(String),
    Foreign,
}

impl NamedTokens {
    pub(crate) fn new(store: Arc<dyn AccessStore>) -> Self {
        Self {
            store,
            known: Mutex::default(),
            hashing: Semaphore::new(HASHES_AT_ONCE),
            revoked: watch::Sender::new(0),
        }
    }

    /// Looks up a token that was verified recently.
    pub(crate) fn find_verified(&self, text: &str, now: Timestamp) -> TokenLookup {
        if prefix_of(text).is_none() {
            return TokenLookup::Foreign;
        }
        let known = self.known.lock().get(&digest_of(text)).cloned();
        match known {
            Some(known) if is_fresh(&known, now) && is_valid(&known.token, now) => {
                TokenLookup::Known(principal_of(&known.token))
            }
            _ => TokenLookup::Unproven(text.to_owned()),
        }
    }

    /// Verifies a token: one database read, and one hash if it was not verified before.
    pub(crate) async fn verify_token(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<Option<Principal>, StoreError> {
        let Some(prefix) = prefix_of(text) else { return Ok(None) };
        let digest = digest_of(text);
        let stored = self.store.token_of(prefix).await?.filter(|token| is_valid(token, now));
        let Some(stored) = stored else {
            self.known.lock().remove(&digest);
            return Ok(None);
        };
        let before = self.known.lock().get(&digest).cloned();
        let proven = before.as_ref().is_some_and(|before| before.token.hash == stored.hash);
        if !proven && !self.verify_hash(text, &stored.hash).await {
            return Ok(None);
        }
        let noted_at = before.and_then(|before| before.noted_at).max(stored.last_used_at);
        let known = KnownToken { token: Arc::new(stored), looked_at: now, noted_at };
        let principal = principal_of(&known.token);
        let mut all = self.known.lock();
        if all.len() >= PROVEN_TOKENS_MAX {
            all.clear();
        }
        all.insert(digest, known);
        Ok(Some(principal))
    }

    /// Stores the time of the token's use, at most once a minute, after the request.
    pub(crate) fn note_use(&self, text: &str, now: Timestamp) {
        let prefix = {
            let mut all = self.known.lock();
            let Some(known) = all.get_mut(&digest_of(text)) else { return };
            let due = known.noted_at.is_none_or(|noted| now.duration_since(noted) >= LAST_USE_PRECISION);
            if !due {
                return;
            }
            known.noted_at = Some(now);
            known.token.prefix.clone()
        };
        let store = self.store.clone();
        spawn(Box::pin(async move {
            if let Err(error) = store.touch_tokens(vec![(prefix, now)]).await {
                tracing::warn!("the time of a token's last use was not saved: {error}");
            }
        }));
    }

    /// All tokens, by name.
    pub(crate) async fn all_tokens(&self) -> Result<Vec<NamedToken>, StoreError> {
        self.store.tokens().await
    }

    pub(crate) fn store(&self) -> &dyn AccessStore {
        &*self.store
    }

    /// Revokes a token at once, and ends its event streams.
    pub(crate) async fn revoke(&self, name: &str) -> Result<Option<NamedToken>, StoreError> {
        let revoked = self.store.revoke_token(name).await?;
        self.known.lock().retain(|_, known| known.token.name != name);
        self.revoked.send_modify(|count| *count += 1);
        Ok(revoked)
    }

    /// Ends a login, or all of them, with their event streams. Returns their number.
    pub(crate) async fn end_logins(&self, id: Option<&str>) -> Result<u64, StoreError> {
        let ended = self.store.end_logins(id).await?;
        self.revoked.send_modify(|count| *count += 1);
        Ok(ended)
    }

    /// Returns when the token or the login of this caller is revoked. Never for the owner's token.
    pub(crate) async fn wait_for_revocation(&self, principal: &Principal) {
        let (prefix, login) = (principal.prefix.as_deref(), principal.login.as_deref());
        if prefix.is_none() && login.is_none() {
            return std::future::pending().await;
        }
        let mut revoked = self.revoked.subscribe();
        loop {
            // A database that does not respond is no reason to end a stream.
            if let Some(prefix) = prefix
                && matches!(self.store.token_of(prefix).await, Ok(None))
            {
                return;
            }
            if let Some(login) = login
                && matches!(self.store.login_of(login).await, Ok(None))
            {
                return;
            }
            if revoked.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    async fn verify_hash(&self, text: &str, hash: &str) -> bool {
        let Ok(_turn) = self.hashing.acquire().await else { return false };
        let (text, hash) = (text.to_owned(), hash.to_owned());
        let work = move || {
            PasswordHash::new(&hash)
                .is_ok_and(|hash| Argon2::default().verify_password(text.as_bytes(), &hash).is_ok())
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(false)
    }
}

pub(super) fn is_valid(token: &NamedToken, now: Timestamp) -> bool {
    token.expires_at.is_none_or(|end| now < end)
}

fn is_fresh(known: &KnownToken, now: Timestamp) -> bool {
    let age = now.duration_since(known.looked_at);
    !age.is_negative() && age < PROOF_LIFETIME
}

pub(super) fn principal_of(token: &NamedToken) -> Principal {
    Principal {
        name: token.name.clone(),
        may_admin: token.scopes.iter().any(is_admin_scope),
        user: token.user.clone(),
        scopes: Some(token.scopes.clone()),
        prefix: Some(token.prefix.clone()),
        expires_at: token.expires_at,
        streams_max: token.streams_max.map_or(NAMED_STREAMS_MAX, |most| most as usize),
        users_max: token.users_max,
        login: None,
    }
}

/// The public part of a text that looks like a named token.
fn prefix_of(text: &str) -> Option<&str> {
    let (prefix, secret) = text.strip_prefix(TOKEN_PREFIX)?.split_once('_')?;
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fits = prefix.len() == 2 * PREFIX_BYTES && secret.len() == 2 * (32 - PREFIX_BYTES);
    (fits && is_hex(prefix) && is_hex(secret)).then_some(prefix)
}

fn digest_of(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_form() {
        let text = format!("ev_{}_{}", "a1".repeat(6), "0f".repeat(26));
        assert_eq!(prefix_of(&text), Some("a1a1a1a1a1a1"));
        let foreign =
            ["", "ev_", "ev_a1_0f", "ev__", &text[1..], &text[..text.len() - 1], &format!("{text}0")];
        for foreign in foreign {
            assert_eq!(prefix_of(foreign), None, "{foreign}");
        }
        assert_eq!(prefix_of(&text.replace("a1a1", "../.")), None);
    }

    #[test]
    fn invalid_names_and_scopes_of_tokens_are_refused() {
        let chat = BTreeSet::from([AccessScope::Chat]);
        let ann = UserId::new("ann").unwrap();
        assert_eq!(check(Some("phone"), &chat, Some(&ann)), Ok(()));
        assert_eq!(check(None, &chat, None), Ok(()));
        assert!(check(None, &BTreeSet::new(), None).is_err());
        for name in ["", "Owner", "a b", "../x", "-x", &"x".repeat(65)] {
            assert!(check(Some(name), &chat, None).is_err(), "{name}");
        }
        let admin = BTreeSet::from([AccessScope::Admin]);
        assert!(check(None, &admin, Some(&ann)).is_err(), "an admin sees every user");
    }
}
