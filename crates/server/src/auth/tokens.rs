//! The owner's token, login codes, and the cookie that a login leaves.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Principal;

/// How long a login link works.
const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// Login codes that are valid at once; a further one replaces the oldest.
const CODES_MAX: usize = 16;
/// Random bytes of a login code.
const CODE_BYTES: usize = 16;
/// Before the name of a cookie that browsers take from this host alone, over TLS.
const HOST_PREFIX: &str = "__Host-";
/// How long a browser stays logged in.
const COOKIE_LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);

/// 32 bytes from the system's randomness; passed in, so that a test can repeat itself.
pub type Random = Box<dyn Fn() -> [u8; 32] + Send + Sync>;

/// A token that can't guard anything.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TokenError {
    /// There is none.
    #[error(
        "the token is empty, so anybody could come in; unset ECHOVESSEL_TOKEN or give it a long random value"
    )]
    Empty,
}

/// A one-time code that logs a browser in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginCode {
    /// The code.
    pub code: String,
    /// When it stops working.
    pub expires_at: Timestamp,
}

impl LoginCode {
    /// The link to open; `base` is where the server is reached, as `http://127.0.0.1:7777`.
    pub fn link(&self, base: &str) -> String {
        format!("{}/login?code={}", base.trim_end_matches('/'), self.code)
    }
}

/// Who may come in. The owner's token itself is not kept, only its digest and keys that are made from it: a new token
/// ends every login.
pub struct Tokens {
    owner: [u8; 32],
    cookie_key: [u8; 32],
    cookie_name: String,
    codes: Mutex<VecDeque<LoginCode>>,
    random: Random,
}

impl Tokens {
    /// Guards with the owner's token.
    pub fn new(owner: &str, random: Random) -> Result<Self, TokenError> {
        let owner = owner.trim();
        if owner.is_empty() {
            return Err(TokenError::Empty);
        }
        let owner: [u8; 32] = Sha256::digest(owner).into();
        // Cookies do not know ports: two homes on one machine must not overwrite each other's.
        let home = hex::encode(&keyed(&owner, b"cookie name")[..4]);
        Ok(Self {
            owner,
            cookie_key: keyed(&owner, b"cookie key"),
            cookie_name: format!("echovessel_{home}"),
            codes: Mutex::default(),
            random,
        })
    }

    /// 32 bytes that nobody can guess.
    pub(crate) fn random(&self) -> &(dyn Fn() -> [u8; 32] + Send + Sync) {
        &*self.random
    }

    /// A new code for one login within ten minutes of `now`.
    pub fn mint_login_code(&self, now: Timestamp) -> LoginCode {
        let code = LoginCode {
            code: hex::encode(&(self.random)()[..CODE_BYTES]),
            expires_at: now.saturating_add(CODE_LIFETIME).unwrap_or(Timestamp::MAX),
        };
        let mut codes = self.codes();
        if codes.len() == CODES_MAX {
            codes.pop_front();
        }
        codes.push_back(code.clone());
        code
    }

    /// Uses a code up. False if it is unknown, used or too old.
    pub(crate) fn redeem(&self, given: &str, now: Timestamp) -> bool {
        let mut codes = self.codes();
        codes.retain(|code| now < code.expires_at);
        let found = codes.iter().position(|code| code.code.as_bytes().ct_eq(given.as_bytes()).into());
        found.and_then(|place| codes.remove(place)).is_some()
    }

    /// A `Set-Cookie` value that logs a browser in. It holds no token and survives a restart.
    pub(crate) fn cookie(&self, now: Timestamp, secure: bool) -> String {
        let until = now.as_second().saturating_add(COOKIE_LIFETIME.as_secs());
        let claim = format!("{until}.{}", hex::encode(&(self.random)()[..CODE_BYTES]));
        let proof = hex::encode(keyed(&self.cookie_key, claim.as_bytes()));
        let name = self.cookie_name_for(secure);
        let age = COOKIE_LIFETIME.as_secs();
        let secure = if secure { "; Secure" } else { "" };
        format!("{name}={claim}.{proof}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}")
    }

    /// Whether these headers are the owner's. A token that is wrong is not made good by a cookie.
    pub(crate) fn principal(&self, headers: &HeaderMap, now: Timestamp) -> Option<Principal> {
        if headers.contains_key(AUTHORIZATION) {
            return bearer(headers).filter(|token| self.is_owner(token)).map(|_| Principal::owner());
        }
        let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = pairs.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs
            .any(|(name, value)| {
                name.trim_start_matches(HOST_PREFIX) == self.cookie_name && self.is_login(value, now)
            })
            .then(|| Principal { is_login: true, ..Principal::owner() })
    }

    fn cookie_name_for(&self, secure: bool) -> String {
        format!("{}{}", if secure { HOST_PREFIX } else { "" }, self.cookie_name)
    }

    fn is_owner(&self, token: &str) -> bool {
        // Digests have one length, so the comparison tells nothing of the token's.
        Sha256::digest(token).as_slice().ct_eq(&self.owner).into()
    }

    fn is_login(&self, value: &str, now: Timestamp) -> bool {
        let Some((claim, proof)) = value.rsplit_once('.') else { return false };
        let expected = hex::encode(keyed(&self.cookie_key, claim.as_bytes()));
        if !bool::from(expected.as_bytes().ct_eq(proof.as_bytes())) {
            return false;
        }
        let until = claim.split_once('.').and_then(|(until, _)| until.parse::<i64>().ok());
        until.is_some_and(|until| now.as_second() < until)
    }

    fn codes(&self) -> MutexGuard<'_, VecDeque<LoginCode>> {
        // Nothing that holds the lock can leave the list half-changed.
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The token of an `Authorization: Bearer` header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// HMAC-SHA-256 (RFC 2104).
fn keyed(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(text);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use std::sync::atomic::{AtomicU8, Ordering};

    fn tokens(owner: &str) -> Tokens {
        let counter = AtomicU8::new(1);
        Tokens::new(owner, Box::new(move || [counter.fetch_add(1, Ordering::Relaxed); 32])).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn cookie_of(tokens: &Tokens, now: Timestamp) -> HeaderMap {
        let cookie = tokens.cookie(now, false);
        let pair = cookie.split(';').next().unwrap();
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&format!("other=1; {pair}")).unwrap())])
    }

    #[test]
    fn a_code_works_once_and_for_ten_minutes() {
        let tokens = tokens("secret");
        let code = tokens.mint_login_code(at(0));
        assert!(!tokens.redeem("guess", at(0)));
        assert!(tokens.redeem(&code.code, at(599)));
        assert!(!tokens.redeem(&code.code, at(599)));
        let late = tokens.mint_login_code(at(0));
        assert!(!tokens.redeem(&late.code, at(600)));
    }

    #[test]
    fn the_oldest_code_gives_way() {
        let tokens = tokens("secret");
        let first = tokens.mint_login_code(at(0));
        let codes: Vec<_> = (0..CODES_MAX).map(|_| tokens.mint_login_code(at(0))).collect();
        assert!(!tokens.redeem(&first.code, at(1)));
        assert!(codes.iter().all(|code| tokens.redeem(&code.code, at(1))));
    }

    #[test]
    fn a_cookie_ends_by_time_by_a_new_token_and_by_any_change() {
        let old = tokens("secret");
        let headers = cookie_of(&old, at(0));
        assert!(
            old.principal(&headers, at(60))
                .is_some_and(|principal| principal.is_login && principal.is_owner())
        );
        assert_eq!(old.principal(&headers, at(COOKIE_LIFETIME.as_secs())), None);
        assert_eq!(tokens("another").principal(&headers, at(60)), None);
        let changed = headers[COOKIE].to_str().unwrap().replace("=7", "=8");
        let changed = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&changed).unwrap())]);
        assert_ne!(changed, headers);
        assert_eq!(old.principal(&changed, at(60)), None);
    }

    #[test]
    fn a_wrong_token_is_not_made_good_by_a_cookie() {
        let tokens = tokens("secret");
        let mut headers = cookie_of(&tokens, at(0));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer wrong"));
        assert_eq!(tokens.principal(&headers, at(0)), None);
        headers.insert(AUTHORIZATION, HeaderValue::from_static("bearer secret"));
        assert_eq!(tokens.principal(&headers, at(0)), Some(Principal::owner()));
    }

    #[test]
    fn an_empty_token_guards_nothing() {
        assert_eq!(Tokens::new(" \n", Box::new(|| [0; 32])).err(), Some(TokenError::Empty));
    }

    #[test]
    fn the_keyed_digest_is_the_standard_one() {
        // RFC 4231, test case 1: a key of 20 bytes, which HMAC fills up with zeros.
        let mut key = [0_u8; 32];
        key[..20].fill(0x0b);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex::encode(keyed(&key, b"Hi There")), expected);
    }
}
