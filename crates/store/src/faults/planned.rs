//! Faults by the name of the operation, which is the port's method.

use std::any::type_name;
use std::collections::{HashMap, VecDeque};
use std::future::{Future, pending};

use memory::ports::StoreError;
use parking_lot::Mutex;
use tokio::sync::watch;

tokio::task_local! {
    static HAS_NO_FAULTS: ();
}

/// The behaviour of the next call of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call succeeds; the fault after it is for the next call.
    Works,
    /// The call fails and changes nothing.
    Error(StoreError),
    /// The call writes, and fails with [`StoreError::Unconfirmed`].
    Unconfirmed,
    /// The call panics and changes nothing.
    Panic,
    /// The process ends before anything is written: neither this call nor any later one returns.
    DeathBefore,
    /// The process ends after the write.
    DeathAfter,
}

/// Planned faults of one open store, and the calls that it received.
#[derive(Default)]
pub struct Faults {
    planned: Mutex<HashMap<&'static str, VecDeque<Fault>>>,
    calls: Mutex<HashMap<&'static str, usize>>,
    /// True once the process has ended, as far as callers can see.
    dead: watch::Sender<bool>,
}

/// Runs calls as if the store had no faults, even after the death of its process. They are not counted.
pub fn without_faults<C: Future>(calls: C) -> impl Future<Output = C::Output> {
    HAS_NO_FAULTS.scope((), calls)
}

impl Faults {
    /// Plans a fault for the next call of the operation; several are used in order.
    pub fn plan(&self, operation: &'static str, fault: Fault) {
        self.planned.lock().entry(operation).or_default().push_back(fault);
    }

    /// Ends the process now.
    pub fn die(&self) {
        self.dead.send_replace(true);
    }

    pub fn is_dead(&self) -> bool {
        *self.dead.borrow()
    }

    /// Waits until the process has ended.
    pub async fn death(&self) {
        // The sender lives as long as this.
        let _ = self.dead.subscribe().wait_for(|dead| *dead).await;
    }

    /// Number of calls of the operation.
    pub fn calls(&self, operation: &str) -> usize {
        self.calls.lock().get(operation).copied().unwrap_or_default()
    }

    /// Makes the call behave as planned for the operation.
    pub(crate) async fn inject<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if HAS_NO_FAULTS.try_with(|()| ()).is_ok() {
            return call.await;
        }
        *self.calls.lock().entry(operation).or_default() += 1;
        let fault = self.planned.lock().get_mut(operation).and_then(VecDeque::pop_front);
        match &fault {
            Some(Fault::Error(error)) => return Err(error.clone()),
            Some(Fault::Panic) => panic_as_planned(operation),
            Some(Fault::DeathBefore) => self.die(),
            Some(Fault::DeathAfter | Fault::Unconfirmed | Fault::Works) | None => {}
        }
        self.wait_if_dead().await;
        let answer = call.await;
        if fault == Some(Fault::DeathAfter) {
            self.die();
        }
        self.wait_if_dead().await;
        match fault {
            Some(Fault::Unconfirmed) => Err(StoreError::Unconfirmed("as a test planned".to_owned())),
            _ => answer,
        }
    }

    /// Never returns once the process has ended.
    async fn wait_if_dead(&self) {
        if self.is_dead() {
            pending::<()>().await;
        }
    }
}

#[expect(clippy::panic, reason = "a test wants to see what a panic in the store does")]
fn panic_as_planned(operation: &str) {
    panic!("a test planned that {operation} panics");
}

/// The method in whose body a closure is written. Its type is called `<… as Port>::method<'_>::{{closure}}`.
pub(crate) fn operation_of<W>() -> &'static str {
    let path = type_name::<W>().split("::{{closure}}").next().unwrap_or_default();
    let method = path.rsplit("::").next().unwrap_or_default();
    method.split('<').next().unwrap_or_default()
}
