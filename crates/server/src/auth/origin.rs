//! Refuses changes by pages of other origins, even on another port of this machine.

use axum::extract::{Request, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, HeaderName, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::admission::is_guarded;
use super::host::{host_of, split};
use crate::problem::Problem;
use crate::state::App;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses requests to the API from pages of other sites, and state changes sent by a foreign page. GET and HEAD
/// change nothing and pass (browsers hide their answers from other origins: there are no CORS headers). Any other
/// request passes if it has no Origin, as from programs, or if its Origin is `http://` or `https://` and names either
///
/// - the request's own Host, with the same port (a missing port is the scheme's), or
/// - an entry of `allowed_hosts` (for proxies that rewrite Host): its port, or the scheme's if it has none.
pub(crate) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    // Browsers mark requests of other sites' pages. Only the page itself may be opened from elsewhere.
    let is_cross_site = request.headers().get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site");
    if is_cross_site && is_guarded(request.uri().path()) {
        app.runtime().metrics().count_refusal("origin");
        return Problem::forbidden("cross-site request rejected; nothing was changed").into_response();
    }
    let safe = matches!(*request.method(), Method::GET | Method::HEAD);
    if safe || is_own(request.headers(), &app.parts.settings.load().allowed_hosts) {
        return next.run(request).await;
    }
    app.runtime().metrics().count_refusal("origin");
    Problem::forbidden("cross-origin request rejected; nothing was changed").into_response()
}

fn is_own(headers: &HeaderMap, allowed: &[String]) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let (default_port, authority) = match origin.split_once("://") {
        Some(("http", authority)) => (80, authority),
        Some(("https", authority)) => (443, authority),
        _ => return false,
    };
    let of = |authority: &str| {
        let (name, port) = split(authority);
        (name.to_ascii_lowercase(), port.unwrap_or(default_port))
    };
    let same = |other: &str| of(other) == of(authority);
    origins.next().is_none()
        && (host_of(headers).is_some_and(same) || allowed.iter().any(|entry| same(entry)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use axum::http::header::HOST;

    fn is_allowed(host: &str, origin: &str) -> bool {
        let header = |text: &str| HeaderValue::from_str(text).unwrap();
        let headers = HeaderMap::from_iter([(HOST, header(host)), (ORIGIN, header(origin))]);
        is_own(&headers, &["chat.example".to_owned(), "pi.local:8443".to_owned()])
    }

    #[test]
    fn the_servers_own_page_may_change_things() {
        assert!(is_allowed("127.0.0.1:7777", "http://127.0.0.1:7777"));
        assert!(is_allowed("LOCALHOST:7777", "http://localhost:7777"));
        assert!(is_allowed("chat.example", "https://chat.example"));
        assert!(is_allowed("localhost", "http://localhost:80"));
        assert!(is_own(&HeaderMap::new(), &[]));
    }

    #[test]
    fn a_proxy_that_rewrites_the_host_is_known_by_its_name() {
        assert!(is_allowed("127.0.0.1:7777", "https://chat.example"));
        assert!(is_allowed("127.0.0.1:7777", "https://pi.local:8443"));
        assert!(!is_allowed("127.0.0.1:7777", "https://chat.example:9999"));
        assert!(!is_allowed("127.0.0.1:7777", "https://pi.local"));
    }

    #[test]
    fn everybody_else_may_not() {
        let foreign = [
            "http://evil.example",
            "http://127.0.0.1:3000",
            "http://localhost:7777",
            "http://127.0.0.1",
            "null",
            "",
            "ftp://127.0.0.1:7777",
            "http://127.0.0.1:7777.evil.example",
            "127.0.0.1:7777",
        ];
        for origin in foreign {
            assert!(!is_allowed("127.0.0.1:7777", origin), "{origin}");
        }
    }
}
