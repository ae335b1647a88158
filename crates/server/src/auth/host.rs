//! Checks the host names by which the server may be reached. A foreign page whose name resolves to this machine (DNS
//! rebinding) is refused.

use axum::extract::{Request, State};
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::client::{forwarded_host, is_health_path};
use crate::problem::Problem;
use crate::state::App;

/// Names of this machine, reached by any port.
const LOCAL_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Accepts requests whose Host is one of [`LOCAL_NAMES`] or in `allowed_hosts`. A request without exactly one Host,
/// or whose target names another host, is refused; health checks need no Host.
pub(crate) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let settings = app.parts.settings.load();
    let allowed = &settings.allowed_hosts;
    let named = match host_of(request.headers()) {
        Some(host) => is_allowed(host, allowed),
        // Health checks of proxies use HTTP/1.0 without a host. Browsers always name one.
        None => !request.headers().contains_key(HOST) && is_health_path(request.uri().path()),
    };
    // The host that the browser requested from the proxy is as good as the Host that the proxy sends.
    let forwarded = forwarded_host(request.headers(), app.parts.settings.load().behind_proxy);
    let named = named && forwarded.is_none_or(|host| is_allowed(host, allowed));
    if named && target_authority(request.uri()).is_none_or(|host| is_allowed(host, allowed)) {
        return next.run(request).await;
    }
    app.runtime().metrics().count_refusal("host");
    let detail = "this host name is not allowed; to allow it, add it to server.allowed_hosts";
    Problem::new(StatusCode::MISDIRECTED_REQUEST, detail).into_response()
}

/// The only Host of a request.
pub(super) fn host_of(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

fn target_authority(uri: &Uri) -> Option<&str> {
    uri.authority().map(axum::http::uri::Authority::as_str)
}

fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let (name, port) = split(host);
    LOCAL_NAMES.iter().any(|local| local.eq_ignore_ascii_case(name))
        || allowed.iter().any(|entry| {
            let (allowed_name, allowed_port) = split(entry);
            allowed_name.eq_ignore_ascii_case(name) && (allowed_port.is_none() || allowed_port == port)
        })
}

/// Splits a host and its port. An invalid port stays part of the name, which then matches nothing.
pub(super) fn split(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => {
            port.parse().map_or((host, None), |port| (name, Some(port)))
        }
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_allowed_by_any_port_and_nothing_that_looks_like_it() {
        let allowed = ["chat.example".to_owned(), "pi.local:8080".to_owned()];
        let passes = |host| is_allowed(host, &allowed);
        for host in ["127.0.0.1", "127.0.0.1:7777", "localhost:1", "LOCALHOST", "[::1]", "[::1]:7777"] {
            assert!(passes(host), "{host}");
        }
        for host in ["chat.example", "CHAT.example:443", "pi.local:8080"] {
            assert!(passes(host), "{host}");
        }
        let foreign = [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "::1",
            "pi.local",
            "pi.local:80",
            "",
            "user@localhost",
            "localhost:99999",
            "localhost:",
            "localhost:80:80",
            "0.0.0.0",
        ];
        for host in foreign {
            assert!(!passes(host), "{host}");
        }
    }
}
