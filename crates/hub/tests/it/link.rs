//! Connects an embodiment and its hub in one process: calls the hub's methods, with JSON in between and with the
//! faults of a network.

use std::sync::Mutex;

use async_trait::async_trait;
use hub::api::sync::{SyncPull, SyncPush};
use hub::ports::{RemoteError, RemoteHub, RemotePage, RemotePushed, RemoteStatus};
use hub::{Caller, Hub, HubError, InstanceId};
use memory::Scope;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The faults of the network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// Calls that succeed before the network is cut.
    pub(crate) cut_after: Option<usize>,
    /// Whether the first failed call reached the hub.
    pub(crate) loses_answer: bool,
    /// Whether each push is delivered twice.
    pub(crate) repeats: bool,
}

pub(crate) struct Link {
    hub: Hub,
    instance: InstanceId,
    faults: Faults,
    calls: Mutex<usize>,
    /// Every push, in its form on the wire.
    pub(crate) pushes: Mutex<Vec<String>>,
}

impl Link {
    pub(crate) fn new(hub: &Hub, instance: &str) -> Self {
        Self::with(hub, instance, Faults::default())
    }

    pub(crate) fn with(hub: &Hub, instance: &str, faults: Faults) -> Self {
        let (calls, pushes) = (Mutex::new(0), Mutex::default());
        Self { hub: hub.clone(), instance: instance.parse().unwrap(), faults, calls, pushes }
    }

    fn caller(&self, scope: &Scope) -> Caller {
        Caller {
            scope: scope.clone(),
            instance: self.instance.clone(),
            is_person: false,
            is_bound: true,
            is_of_one_user: false,
        }
    }

    /// Whether this call reaches the hub, and whether its answer returns.
    fn passes(&self) -> (bool, bool) {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        match self.faults.cut_after {
            Some(limit) if *calls == limit + 1 => (self.faults.loses_answer, false),
            Some(limit) if *calls > limit => (false, false),
            _ => (true, true),
        }
    }

    async fn carry<Answer: Serialize, Read: DeserializeOwned>(
        &self,
        call: impl Future<Output = Result<Answer, HubError>>,
    ) -> Result<Read, RemoteError> {
        let (arrives, comes_back) = self.passes();
        let away = || RemoteError::Away("the network is cut".to_owned());
        if !arrives {
            return Err(away());
        }
        let answer = call.await.map_err(|error| RemoteError::Refused(error.to_string()))?;
        if !comes_back {
            return Err(away());
        }
        Ok(serde_json::from_value(serde_json::to_value(answer).unwrap()).unwrap())
    }
}

fn over_the_wire<T: Serialize + DeserializeOwned>(input: &T) -> T {
    serde_json::from_str(&serde_json::to_string(input).unwrap()).unwrap()
}

#[async_trait]
impl RemoteHub for Link {
    async fn sync_status(&self, scope: &Scope) -> Result<RemoteStatus, RemoteError> {
        self.carry(self.hub.sync_status(&self.caller(scope))).await
    }

    async fn sync_pull(&self, scope: &Scope, pull: &SyncPull) -> Result<RemotePage, RemoteError> {
        self.carry(self.hub.sync_pull(&self.caller(scope), over_the_wire(pull))).await
    }

    async fn sync_push(&self, scope: &Scope, push: &SyncPush) -> Result<RemotePushed, RemoteError> {
        self.pushes.lock().unwrap().push(serde_json::to_string(push).unwrap());
        if self.faults.repeats {
            let twice = self.hub.sync_push(&self.caller(scope), over_the_wire(push)).await;
            twice.map_err(|error| RemoteError::Refused(error.to_string()))?;
        }
        self.carry(self.hub.sync_push(&self.caller(scope), over_the_wire(push))).await
    }
}
