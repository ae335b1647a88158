//! Headers by which daemons forward requests: the shared secret, and the client.

use std::net::SocketAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use subtle::ConstantTimeEq as _;

use crate::auth::client::Peer;

/// Header with the secret that all daemons of a home share.
const SECRET: HeaderName = HeaderName::from_static("echovessel-daemon");
/// Header with the client's address and port.
const CLIENT: HeaderName = HeaderName::from_static("echovessel-client");
/// Header that is present if so little room is left that the connection serves only the owner.
const FOR_OWNER: HeaderName = HeaderName::from_static("echovessel-for-owner");

/// The sender of a request.
pub(super) struct Sender {
    peer: Option<Peer>,
    /// True if the sender is another daemon of the home.
    is_daemon: bool,
}

impl Sender {
    /// A request that this daemon makes itself.
    pub(super) fn own_request() -> Self {
        Self { peer: None, is_daemon: false }
    }

    pub(super) fn is_client(&self) -> bool {
        !self.is_daemon
    }

    /// Adds the client's data to a request for another daemon.
    pub(super) fn write(&self, headers: &mut HeaderMap, secret: &HeaderValue) {
        headers.insert(SECRET, secret.clone());
        let Some(peer) = self.peer else { return };
        if let Ok(address) = HeaderValue::try_from(peer.address.to_string()) {
            headers.insert(CLIENT, address);
        }
        // Commands of this machine's owner have reserved room.
        if peer.is_for_owner && !peer.is_at_home {
            headers.insert(FOR_OWNER, HeaderValue::from_static("1"));
        }
    }
}

/// Finds out who sent a request. The data of another daemon is trusted; the same headers from clients are removed.
pub(super) fn take_sender(request: &mut Request, secret: &HeaderValue) -> Sender {
    let headers = request.headers_mut();
    let (given, client, for_owner) =
        (headers.remove(SECRET), headers.remove(CLIENT), headers.remove(FOR_OWNER));
    let is_daemon = given.is_some_and(|given| given.as_bytes().ct_eq(secret.as_bytes()).into());
    if is_daemon {
        let address = client.and_then(|client| client.to_str().ok()?.parse::<SocketAddr>().ok());
        match address {
            Some(address) => {
                let peer = Peer { address, is_for_owner: for_owner.is_some(), is_at_home: false };
                request.extensions_mut().insert(peer);
            }
            None => drop(request.extensions_mut().remove::<Peer>()),
        }
    }
    Sender { peer: request.extensions().get::<Peer>().copied(), is_daemon }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn peer_address(address: &str) -> Peer {
        Peer { address: address.parse().unwrap(), is_for_owner: false, is_at_home: false }
    }

    /// The request to forward to the next daemon.
    fn forwarded_request(sender: &Sender, secret: &str) -> Request {
        let mut request = Request::new(Body::empty());
        sender.write(request.headers_mut(), &HeaderValue::try_from(secret).unwrap());
        request.extensions_mut().insert(peer_address("10.0.0.2:7777"));
        request
    }

    #[test]
    fn the_client_address_of_a_daemon_is_used() {
        let secret = HeaderValue::from_static("shared");
        for address in ["192.0.2.7:555", "[2001:db8::1]:80"] {
            let sender = Sender { peer: Some(peer_address(address)), is_daemon: false };
            let mut request = forwarded_request(&sender, "shared");
            assert!(!take_sender(&mut request, &secret).is_client());
            assert_eq!(request.extensions().get::<Peer>().unwrap().address.to_string(), address);
            assert!(request.headers().is_empty(), "{:?}", request.headers());
        }
    }

    #[test]
    fn forwarding_headers_need_the_secret() {
        let sender = Sender { peer: Some(peer_address("127.0.0.1:1")), is_daemon: false };
        let mut request = forwarded_request(&sender, "guessed");
        assert!(take_sender(&mut request, &HeaderValue::from_static("shared")).is_client());
        assert_eq!(request.extensions().get::<Peer>().unwrap().address.to_string(), "10.0.0.2:7777");
        assert!(request.headers().is_empty(), "{:?}", request.headers());
    }
}
