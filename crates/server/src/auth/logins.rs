//! Browsers that were logged in by a link, with the two halves of their secret, and their rights.
//!
//! A cookie is sent to every port of a host, so any program that listens on this machine may receive it. It is only
//! half of a login: the page stores the other half in its origin's storage and sends it in a header.

use axum::http::header::USER_AGENT;
use axum::http::{HeaderMap, HeaderName, Method};
use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;

use super::client::is_encrypted;
use super::identity::{Identity, RequestHead};
use super::named;
use super::principal::Principal;
use crate::problem::Problem;
use crate::state::App;
use crate::tasks::spawn;

/// The path of a login link.
pub(crate) const LOGIN_PATH: &str = "/login";

/// Header with the page's key of a login.
const PAGE_KEY: HeaderName = HeaderName::from_static("x-echovessel-login");
/// Pictures, sounds and the documentation: browsers load these themselves and can't send the page's key.
const PATHS_LOADED_BY_BROWSERS: [&str; 3] = ["/api/admin/persona/avatar", "/api/chat/voice/", "/api/docs"];
/// Precision of the time of last use. Otherwise each request would be a write.
const LAST_USE_PRECISION: SignedDuration = SignedDuration::from_secs(60);
/// Maximum length of a browser's description, in characters. It lets a person recognise a device in a list.
const BROWSER_LENGTH_MAX: usize = 64;

/// Finds the login of a request's cookie: one database read, and a second one if a named token created it.
pub(super) async fn identify(app: &App, head: RequestHead<'_>) -> Result<Identity, Problem> {
    let (tokens, now, headers) = (&app.parts.tokens, app.now(), head.headers);
    let Some((id, secret)) = tokens.login_in_cookie(headers) else { return Ok(Identity::default()) };
    let Some(login) = app.parts.access.login_of(id).await? else { return Ok(Identity::default()) };
    if login.expires_at() <= now || !is_equal(&tokens.login_digest(secret), &login.cookie_digest) {
        return Ok(Identity::default());
    }
    let right = match &login.token_prefix {
        None => Some(Principal::owner()),
        Some(prefix) => {
            let token = app.parts.access.token_of(prefix).await?;
            token.filter(|token| named::is_valid(token, now)).map(|token| named::principal_of(&token))
        }
    };
    let Some(right) = right else { return Ok(Identity::default()) };
    let page_key = headers.get(PAGE_KEY).and_then(|key| key.to_str().ok()).unwrap_or_default();
    let is_whole = is_equal(&tokens.login_digest(page_key), &login.page_key_digest);
    if !is_whole && !is_loaded_by_browsers(head.method, head.path) {
        return Ok(Identity { is_half_login: true, ..Identity::default() });
    }
    let is_due = is_whole && now.duration_since(login.last_seen_at) >= LAST_USE_PRECISION;
    let renewed_cookie = is_due.then(|| tokens.cookie(id, secret, is_secure(app, headers)));
    if is_due {
        note_use(app, login.id.clone(), now);
    }
    let principal = Some(Principal { login: Some(login.id), ..right });
    Ok(Identity { principal, is_half_login: false, renewed_cookie })
}

/// True if the browser uses TLS, so that the cookie must never be sent without it.
pub(super) fn is_secure(app: &App, headers: &HeaderMap) -> bool {
    let settings = app.parts.settings.load();
    settings.secure_cookie || is_encrypted(headers, settings.behind_proxy)
}

/// The browser and its system in a few words, for the list of logins.
pub(super) fn browser_of(headers: &HeaderMap) -> String {
    // The first match counts, because browsers also name others for compatibility.
    const BROWSERS: [(&str, &str); 7] = [
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let named = |list: &[(&str, &'static str)]| {
        list.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    match (named(&BROWSERS), named(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser}, {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => {
            let plain = agent.chars().filter(|c| c.is_ascii_alphanumeric() || " ./-_()".contains(*c));
            plain.take(BROWSER_LENGTH_MAX).collect()
        }
    }
}

fn is_loaded_by_browsers(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
        && PATHS_LOADED_BY_BROWSERS.iter().any(|root| path.starts_with(root))
}

fn note_use(app: &App, id: String, now: Timestamp) {
    let access = app.parts.access.clone();
    spawn(Box::pin(async move {
        if let Err(error) = access.touch_login(&id, now).await {
            tracing::warn!("the time of a login's last use was not saved: {error}");
        }
    }));
}

fn is_equal(made: &str, stored: &str) -> bool {
    made.as_bytes().ct_eq(stored.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_browser_is_named_in_a_few_words() {
        let browser = |agent: &'static str| {
            browser_of(&HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]))
        };
        let cases = [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox, Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0",
                "Edge, Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1",
                "Safari, iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
                "Chrome, Android",
            ),
            ("curl/8.5.0", "curl/8.5.0"),
            ("<script>alert(1)</script>", "scriptalert(1)/script"),
        ];
        for (agent, expected) in cases {
            assert_eq!(browser(agent), expected);
        }
        assert_eq!(browser_of(&HeaderMap::new()), "");
    }
}
