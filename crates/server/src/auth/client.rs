//! The origin of a request: address, proxy and host.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::http::{HeaderMap, Request};

const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_PROTO: &str = "x-forwarded-proto";
const FORWARDED_HOST: &str = "x-forwarded-host";

/// The peer of the connection, set when it is accepted. A request without one comes from this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// True if there is so little room left that this connection serves only the owner.
    pub(crate) is_for_owner: bool,
    /// True for the socket in the home, which only its owner can open.
    pub(crate) is_at_home: bool,
}

/// The address of the client. Behind a proxy it is the one that the proxy added last; earlier ones come from the
/// client and can't be trusted.
pub(crate) fn address_of<B>(request: &Request<B>, behind_proxy: bool) -> IpAddr {
    let forwarded = behind_proxy.then(|| last_forwarded(request.headers())).flatten();
    let peer = request.extensions().get::<Peer>().map(|peer| peer.address.ip());
    forwarded.or(peer).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)).to_canonical()
}

/// True for health checks, which are never refused because the program is busy.
pub(crate) fn is_health_path(path: &str) -> bool {
    matches!(path, "/health" | "/ready")
}

/// The part of the address that identifies a client: a whole IPv6 /64 belongs to one.
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

/// True if the browser uses TLS to the proxy.
pub(crate) fn is_encrypted(headers: &HeaderMap, behind_proxy: bool) -> bool {
    behind_proxy
        && last_header_entry(headers, FORWARDED_PROTO)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

/// The host that the browser requested from the proxy.
pub(crate) fn forwarded_host(headers: &HeaderMap, behind_proxy: bool) -> Option<&str> {
    behind_proxy.then(|| last_header_entry(headers, FORWARDED_HOST)).flatten()
}

fn last_forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let text = last_header_entry(headers, FORWARDED_FOR)?;
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip())).ok()
}

fn last_header_entry<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let last = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next().map(str::trim).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer { address: address.parse().unwrap(), is_for_owner: false, is_at_home: false }
    }

    fn client_address(headers: &[(&str, &str)], behind_proxy: bool) -> String {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(()).unwrap();
        request.extensions_mut().insert(peer("10.0.0.9:1"));
        address_of(&request, behind_proxy).to_string()
    }

    #[test]
    fn only_the_header_of_a_proxy_is_used() {
        let headers = [(FORWARDED_FOR, "127.0.0.1, 192.0.2.7")];
        assert_eq!(client_address(&headers, false), "10.0.0.9");
        assert_eq!(client_address(&headers, true), "192.0.2.7");
        assert_eq!(
            client_address(&[(FORWARDED_FOR, "127.0.0.1"), (FORWARDED_FOR, "192.0.2.8")], true),
            "192.0.2.8"
        );
        assert_eq!(client_address(&[(FORWARDED_FOR, "192.0.2.7:80")], true), "192.0.2.7");
        assert_eq!(client_address(&[(FORWARDED_FOR, "[2001:db8::1]")], true), "2001:db8::1");
        for nonsense in ["unknown", "", ",", "evil, "] {
            assert_eq!(client_address(&[(FORWARDED_FOR, nonsense)], true), "10.0.0.9", "{nonsense}");
        }
    }

    #[test]
    fn a_client_is_an_address_or_a_64() {
        let client = |text: &str| client_network(text.parse().unwrap()).to_string();
        assert_eq!(client("192.0.2.7"), "192.0.2.7");
        assert_eq!(client("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }

    #[test]
    fn an_address_in_the_form_of_another_is_itself() {
        let mut request = Request::builder().body(()).unwrap();
        request.extensions_mut().insert(peer("[::ffff:127.0.0.1]:1"));
        assert!(address_of(&request, false).is_loopback());
    }
}
