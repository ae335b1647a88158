//! Hubs that speak the protocol but break its rules.

use std::sync::Mutex;

use async_trait::async_trait;
use hub::api::sync::{SyncPull, SyncPush};
use hub::ports::{RemoteError, RemoteHub, RemotePage, RemotePushed, RemoteStatus};
use hub::{ExchangeError, Hub};
use memory::Scope;

use crate::embodiment::{exchange, pair};
use crate::home::identity_text;
use crate::link::Link;

/// A hub whose pulls never end, or that reports another version of the protocol.
struct StrangeHub {
    link: Link,
    protocol_version: Option<u32>,
    refuses_cursors: bool,
    pulls: Mutex<usize>,
}

impl StrangeHub {
    fn new(hub: &Hub) -> Self {
        let (link, pulls) = (Link::new(hub, "laptop"), Mutex::default());
        Self { link, protocol_version: None, refuses_cursors: false, pulls }
    }
}

#[async_trait]
impl RemoteHub for StrangeHub {
    async fn sync_status(&self, scope: &Scope) -> Result<RemoteStatus, RemoteError> {
        let status = self.link.sync_status(scope).await?;
        let protocol_version = self.protocol_version.unwrap_or(status.protocol_version);
        Ok(RemoteStatus { protocol_version, ..status })
    }

    async fn sync_pull(&self, _: &Scope, pull: &SyncPull) -> Result<RemotePage, RemoteError> {
        let mut pulls = self.pulls.lock().unwrap();
        *pulls += 1;
        if self.refuses_cursors && pull.cursor.is_some() {
            return Err(RemoteError::Refused("this cursor is unknown".to_owned()));
        }
        Ok(RemotePage { next_cursor: Some(pulls.to_string()), ..RemotePage::default() })
    }

    async fn sync_push(&self, scope: &Scope, push: &SyncPush) -> Result<RemotePushed, RemoteError> {
        self.link.sync_push(scope, push).await
    }
}

/// The error of an exchange with such a hub. Pending changes stay pending and are sent to a hub that follows the
/// rules.
async fn refusal(alter: impl FnOnce(&mut StrangeHub)) -> String {
    let (hub, laptop) = pair().await;
    let town = identity_text("self", "town.md", "Porto\n");
    laptop.hub.identity_write(&laptop.caller, town).await.unwrap();
    let mut strange = StrangeHub::new(&hub.hub);
    alter(&mut strange);
    let error = laptop.hub.exchange(&strange, &laptop.caller.scope).await.unwrap_err();
    assert!(strange.link.pushes.lock().unwrap().is_empty(), "nothing is sent to it");
    exchange(&laptop, &hub).await;
    assert_eq!(hub.identity("town.md").await.unwrap(), "Porto\n");
    assert!(matches!(error, ExchangeError::Remote(RemoteError::Refused(_))), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn pages_without_end_are_refused() {
    let text = refusal(|_| ()).await;
    assert!(text.contains("pages without an end"), "{text}");
}

#[tokio::test]
async fn a_hub_that_refuses_its_own_cursors_is_refused() {
    let text = refusal(|hub| hub.refuses_cursors = true).await;
    assert!(text.contains("pages without an end"), "{text}");
}

#[tokio::test]
async fn another_version_of_the_protocol_is_refused() {
    for version in [0, 2] {
        let text = refusal(|hub| hub.protocol_version = Some(version)).await;
        assert!(text.contains(&format!("version {version} of the sync protocol")), "{text}");
        assert!(text.contains("update the older") && text.contains("Nothing was synced"), "{text}");
    }
}
