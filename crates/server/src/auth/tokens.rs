//! The owner's token, login codes, and the secrets of logins.

use std::collections::VecDeque;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use memory::access::{LOGIN_LIFETIME, Login, OWNER};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::principal::Principal;

/// Lifetime of a login link. It is enough to open the link on another device, and too short to be found in a history.
const CODE_LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// Maximum valid login codes; another one replaces the oldest, so that unused ones need no cleanup.
const CODES_MAX: usize = 16;
/// Random bytes of a login code. Nobody guesses 128 bits within ten minutes.
const CODE_BYTES: usize = 16;
/// Random bytes of a login's id, which is no secret: it only has to be unique.
const LOGIN_ID_BYTES: usize = 8;
/// Prefix of a cookie's name with which browsers accept it only from this host, over TLS.
const HOST_PREFIX: &str = "__Host-";
/// Separates the id and the secret in a cookie.
const COOKIE_SEPARATOR: char = '.';

/// 32 random bytes of the system; passed in, so that tests are deterministic.
pub type Random = Box<dyn Fn() -> [u8; 32] + Send + Sync>;

/// Why an owner's token is refused as too weak.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TokenError {
    #[error(
        "the token is empty, so anyone could sign in; unset ECHOVESSEL_TOKEN or set it to a long random value"
    )]
    Empty,
}

/// A one-time code that logs a browser in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginCode {
    pub code: String,
    /// Time at which the code stops working.
    pub expires_at: Timestamp,
}

impl LoginCode {
    /// The link to open; `base` is the server's address, such as `http://127.0.0.1:7777`.
    pub fn login_url(&self, base: &str) -> String {
        format!("{}/login?code={}", base.trim_end_matches('/'), self.code)
    }
}

/// A valid code, with the rights that it gives.
struct OpenCode {
    code: LoginCode,
    author: CodeAuthor,
}

/// The creator of a login link. The login has the rights of this token and ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeAuthor {
    /// [`OWNER`], or the name of a token.
    pub(crate) token: String,
    /// The public part of a named token.
    pub(crate) prefix: Option<String>,
}

impl CodeAuthor {
    pub(crate) fn from_principal(principal: &Principal) -> Self {
        Self { token: principal.name.clone(), prefix: principal.prefix.clone() }
    }
}

/// A new login, with the two secrets that only the browser has.
pub(crate) struct NewLogin {
    pub(crate) login: Login,
    pub(crate) cookie_secret: String,
    pub(crate) page_key: String,
}

/// Credentials of the server. Of the owner's token only the digest is stored. Digests of logins are keyed with it, so
/// that a new token ends every login.
pub struct Tokens {
    owner: [u8; 32],
    cookie_name: String,
    /// A code is looked up and removed in one step, so that it never opens two logins.
    codes: Mutex<VecDeque<OpenCode>>,
    random: Random,
}

impl Tokens {
    /// Creates the credentials from the owner's token.
    pub fn new(owner: &str, random: Random) -> Result<Self, TokenError> {
        let owner = owner.trim();
        if owner.is_empty() {
            return Err(TokenError::Empty);
        }
        Ok(Self::of_digest(Sha256::digest(owner).into(), random))
    }

    /// Creates the credentials from the SHA-256 digest of the owner's token.
    pub fn of_digest(owner: [u8; 32], random: Random) -> Self {
        // Cookies ignore ports: two homes on one machine must not overwrite each other's.
        let home = hex::encode(&hmac_sha256(&owner, b"cookie name")[..4]);
        Self { owner, cookie_name: format!("echovessel_{home}"), codes: Mutex::default(), random }
    }

    /// 32 random bytes of the system.
    pub(crate) fn random_source(&self) -> &(dyn Fn() -> [u8; 32] + Send + Sync) {
        &*self.random
    }

    /// Creates a code for one login of the owner within ten minutes of `now`.
    pub fn mint_login_code(&self, now: Timestamp) -> LoginCode {
        self.mint_login_code_of(CodeAuthor { token: OWNER.to_owned(), prefix: None }, now)
    }

    /// Creates a code for one login with the rights of its author.
    pub(crate) fn mint_login_code_of(&self, author: CodeAuthor, now: Timestamp) -> LoginCode {
        let code = LoginCode {
            code: hex::encode(&(self.random)()[..CODE_BYTES]),
            expires_at: now.saturating_add(CODE_LIFETIME).unwrap_or(Timestamp::MAX),
        };
        let mut codes = self.codes.lock();
        if codes.len() == CODES_MAX {
            codes.pop_front();
        }
        codes.push_back(OpenCode { code: code.clone(), author });
        code
    }

    /// Uses up a code. `None` if it is unknown, used or expired.
    pub(crate) fn redeem_code(&self, given: &str, now: Timestamp) -> Option<CodeAuthor> {
        let mut codes = self.codes.lock();
        codes.retain(|open| now < open.code.expires_at);
        let found = codes.iter().position(|open| open.code.code.as_bytes().ct_eq(given.as_bytes()).into());
        found.and_then(|place| codes.remove(place)).map(|open| open.author)
    }

    /// Creates a login with new secrets.
    pub(crate) fn new_login(
        &self,
        author: CodeAuthor,
        now: Timestamp,
        address: String,
        browser: String,
    ) -> NewLogin {
        let (id, cookie_secret, page_key) = ((self.random)(), (self.random)(), (self.random)());
        let (cookie_secret, page_key) = (hex::encode(cookie_secret), hex::encode(page_key));
        let login = Login {
            id: hex::encode(&id[..LOGIN_ID_BYTES]),
            cookie_digest: self.login_digest(&cookie_secret),
            page_key_digest: self.login_digest(&page_key),
            token: author.token,
            token_prefix: author.prefix,
            address,
            browser,
            created_at: now,
            last_seen_at: now,
        };
        NewLogin { login, cookie_secret, page_key }
    }

    /// The stored digest of a login's secret.
    pub(crate) fn login_digest(&self, secret: &str) -> String {
        hex::encode(hmac_sha256(&self.owner, secret.as_bytes()))
    }

    /// A `Set-Cookie` value that keeps a browser logged in.
    pub(crate) fn cookie(&self, id: &str, secret: &str, secure: bool) -> String {
        let name = self.cookie_name_for(secure);
        let age = LOGIN_LIFETIME.as_secs();
        let secure = if secure { "; Secure" } else { "" };
        format!(
            "{name}={id}{COOKIE_SEPARATOR}{secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}"
        )
    }

    /// A `Set-Cookie` value that removes the cookie.
    pub(crate) fn removed_cookie(&self, secure: bool) -> String {
        let name = self.cookie_name_for(secure);
        let secure = if secure { "; Secure" } else { "" };
        format!("{name}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0{secure}")
    }

    /// True if these headers hold the owner's token.
    pub(crate) fn is_owner_request(&self, headers: &HeaderMap) -> bool {
        // Digests have one length, so the comparison reveals nothing about that of the token.
        bearer_token(headers).is_some_and(|token| Sha256::digest(token).as_slice().ct_eq(&self.owner).into())
    }

    /// The login's id and secret in the cookie. A request with a token has no login, even if the token is wrong.
    pub(crate) fn login_in_cookie<'a>(&self, headers: &'a HeaderMap) -> Option<(&'a str, &'a str)> {
        if headers.contains_key(AUTHORIZATION) {
            return None;
        }
        let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let is_ours = |name: &str| name.strip_prefix(HOST_PREFIX).unwrap_or(name) == self.cookie_name;
        let (_, value) = pairs.find(|(name, _)| is_ours(name))?;
        value.split_once(COOKIE_SEPARATOR)
    }

    fn cookie_name_for(&self, secure: bool) -> String {
        format!("{}{}", if secure { HOST_PREFIX } else { "" }, self.cookie_name)
    }
}

/// The token of an `Authorization: Bearer` header.
pub(super) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// HMAC-SHA-256 as defined by RFC 2104.
fn hmac_sha256(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
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

    #[test]
    fn a_code_works_once_and_for_ten_minutes() {
        let tokens = tokens("secret");
        let code = tokens.mint_login_code(at(0));
        assert_eq!(tokens.redeem_code("guess", at(0)), None);
        assert!(tokens.redeem_code(&code.code, at(599)).is_some_and(|author| author.token == OWNER));
        assert_eq!(tokens.redeem_code(&code.code, at(599)), None);
        let late = tokens.mint_login_code(at(0));
        assert_eq!(tokens.redeem_code(&late.code, at(600)), None);
    }

    #[test]
    fn the_oldest_code_is_replaced() {
        let tokens = tokens("secret");
        let first = tokens.mint_login_code(at(0));
        let codes: Vec<_> = (0..CODES_MAX).map(|_| tokens.mint_login_code(at(0))).collect();
        assert_eq!(tokens.redeem_code(&first.code, at(1)), None);
        assert!(codes.iter().all(|code| tokens.redeem_code(&code.code, at(1)).is_some()));
    }

    #[test]
    fn the_cookie_is_read_as_it_was_set() {
        let tokens = tokens("secret");
        for secure in [false, true] {
            let cookie = tokens.cookie("a1", "b2", secure);
            let pair = cookie.split(';').next().unwrap();
            let line = HeaderValue::from_str(&format!("other=1; {pair}")).unwrap();
            let mut headers = HeaderMap::from_iter([(COOKIE, line)]);
            assert_eq!(tokens.login_in_cookie(&headers), Some(("a1", "b2")), "{cookie}");
            headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer wrong"));
            assert_eq!(tokens.login_in_cookie(&headers), None, "a wrong token is not made good by a cookie");
        }
    }

    #[test]
    fn a_new_token_ends_every_login() {
        let author = CodeAuthor { token: OWNER.to_owned(), prefix: None };
        let made = tokens("secret").new_login(author, at(0), String::new(), String::new());
        assert_eq!(made.login.cookie_digest, tokens("secret").login_digest(&made.cookie_secret));
        assert_ne!(made.login.cookie_digest, tokens("another").login_digest(&made.cookie_secret));
        assert_ne!(made.cookie_secret, made.page_key);
    }

    #[test]
    fn the_owner_is_known_by_the_token_or_its_digest() {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("bearer secret"))]);
        assert!(tokens("secret").is_owner_request(&headers));
        assert!(!tokens("another").is_owner_request(&headers));
        assert!(
            Tokens::of_digest(Sha256::digest("secret").into(), Box::new(|| [0; 32]))
                .is_owner_request(&headers)
        );
    }

    #[test]
    fn an_empty_token_guards_nothing() {
        assert_eq!(Tokens::new(" \n", Box::new(|| [0; 32])).err(), Some(TokenError::Empty));
    }

    #[test]
    fn the_keyed_digest_is_the_standard_one() {
        // RFC 4231, test case 1: a key of 20 bytes, which HMAC pads with zeros.
        let mut key = [0_u8; 32];
        key[..20].fill(0x0b);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex::encode(hmac_sha256(&key, b"Hi There")), expected);
    }
}
