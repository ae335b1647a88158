//! Limits of connections: in total, and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::auth::client::client_network;

/// Maximum connections; further ones wait in the system's backlog. Each takes a file handle and some kilobytes.
const CONNECTIONS_MAX: usize = 4_096;
/// Number of connections reserved for the owner, who can still revoke a token that has used up all the others. A
/// browser opens six.
const OWNERS_CONNECTIONS: usize = 64;
/// Maximum connections of one address. A browser opens six, and a household shares one address.
const PER_ADDRESS_MAX: usize = 64;
/// Maximum connections of this machine, where many programs share one address, and of a proxy for many people. A
/// quarter is left to others, including the owner.
const PER_SHARED_ADDRESS_MAX: usize = 3_072;

/// Permits for connections, in total and by address. Addresses are counted under a lock, because checking and
/// counting are one step.
pub(crate) struct Room {
    all: Arc<Semaphore>,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// Permit for a connection from any address.
pub(crate) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
}

/// Permit of one connection, held until it ends.
pub(crate) struct ConnectionSlot {
    address: IpAddr,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _place: ConnectionPermit,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(CONNECTIONS_MAX)), by_address: Arc::default() }
    }

    /// Waits until there is room for another connection.
    pub(crate) async fn acquire_connection(&self) -> Result<ConnectionPermit, AcquireError> {
        Ok(ConnectionPermit { _permit: self.all.clone().acquire_owned().await? })
    }

    /// True if new connections are answered only for the owner.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.all.available_permits() < OWNERS_CONNECTIONS
    }

    /// Assigns the permit to a connection from this address; `None` if the address has its maximum.
    pub(crate) fn admit(
        &self,
        place: ConnectionPermit,
        address: IpAddr,
        is_proxy: bool,
    ) -> Option<ConnectionSlot> {
        let address = client_network(address.to_canonical());
        let most = if address.is_loopback() || is_proxy { PER_SHARED_ADDRESS_MAX } else { PER_ADDRESS_MAX };
        let mut counts = self.by_address.lock();
        let count = counts.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(ConnectionSlot { address, by_address: self.by_address.clone(), _place: place })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut counts = self.by_address.lock();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn admit(room: &Room, address: &str, is_proxy: bool) -> Option<ConnectionSlot> {
        let place = room.acquire_connection().await.unwrap();
        room.admit(place, address.parse().unwrap(), is_proxy)
    }

    #[tokio::test]
    async fn an_address_has_so_many_and_its_end_makes_room() {
        let room = Room::new();
        let mut held = Vec::new();
        for _ in 0..PER_ADDRESS_MAX {
            held.push(admit(&room, "192.0.2.7", false).await.unwrap());
        }
        assert!(admit(&room, "192.0.2.7", false).await.is_none());
        assert!(admit(&room, "::ffff:192.0.2.7", false).await.is_none(), "the same address in another form");
        assert!(admit(&room, "192.0.2.8", false).await.is_some());
        held.pop();
        assert!(admit(&room, "192.0.2.7", false).await.is_some());
        held.clear();
        assert!(room.by_address.lock().is_empty());
        assert_eq!(
            room.all.available_permits(),
            CONNECTIONS_MAX,
            "a refused connection gives its place back"
        );
    }

    #[tokio::test]
    async fn this_machine_and_a_proxy_leave_room_for_others_and_the_last_places_are_the_owner_s() {
        let room = Room::new();
        let mut held = Vec::new();
        for _ in 0..PER_SHARED_ADDRESS_MAX {
            held.push(admit(&room, "127.0.0.1", false).await.unwrap());
        }
        assert!(admit(&room, "127.0.0.1", false).await.is_none());
        assert!(!room.is_nearly_full());
        for _ in PER_SHARED_ADDRESS_MAX..=CONNECTIONS_MAX - OWNERS_CONNECTIONS {
            held.push(admit(&room, "192.0.2.1", true).await.unwrap());
        }
        assert!(room.is_nearly_full());
    }
}
