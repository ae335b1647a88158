//! Connections for reads on the threads of their callers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::engine::sql::Connection;

pub(crate) struct CallersConnections {
    state: Mutex<State>,
    returned: Notify,
}

struct State {
    /// The last one that came back is borrowed next: it has the most in its cache.
    idle: Vec<Connection>,
    borrowed: usize,
    is_closed: bool,
}

impl CallersConnections {
    pub(crate) fn new(idle: Vec<Connection>) -> Self {
        let state = State { idle, borrowed: 0, is_closed: false };
        Self { state: Mutex::new(state), returned: Notify::new() }
    }

    /// An idle connection until the guard is dropped; none if all are in use or closed.
    pub(crate) fn borrow_idle(&self) -> Option<BorrowedConnection<'_>> {
        let mut state = self.lock();
        let connection = state.idle.pop()?;
        state.borrowed += 1;
        Some(BorrowedConnection { owner: self, connection: Some(connection) })
    }

    /// Closes the idle connections now and each borrowed one when it comes back.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        drop(idle);
    }

    /// After [`close`](Self::close): waits until all connections are closed.
    pub(crate) async fn wait_for_end(&self) {
        loop {
            let returned = self.returned.notified();
            if self.lock().borrowed == 0 {
                return;
            }
            returned.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that comes back when this is dropped.
pub(crate) struct BorrowedConnection<'a> {
    owner: &'a CallersConnections,
    connection: Option<Connection>,
}

impl BorrowedConnection<'_> {
    pub(crate) fn run(&self, work: impl FnOnce(&Connection)) {
        if let Some(connection) = &self.connection {
            work(connection);
        }
    }
}

impl Drop for BorrowedConnection<'_> {
    fn drop(&mut self) {
        // After a panic its transaction may be open.
        let connection = self.connection.take().filter(|_| !std::thread::panicking());
        let mut state = self.owner.lock();
        state.borrowed -= 1;
        let closing = if state.is_closed {
            connection
        } else {
            state.idle.extend(connection);
            None
        };
        drop(state);
        drop(closing);
        self.owner.returned.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn connections() -> CallersConnections {
        CallersConnections::new(vec![rusqlite::Connection::open_in_memory().unwrap().into()])
    }

    #[test]
    fn a_connection_is_borrowed_once_and_comes_back() {
        let connections = connections();
        let borrowed = connections.borrow_idle();
        assert!(borrowed.is_some() && connections.borrow_idle().is_none());
        drop(borrowed);
        assert!(connections.borrow_idle().is_some());
    }

    #[test]
    fn a_connection_whose_work_panics_is_closed() {
        let connections = connections();
        let borrowed = connections.borrow_idle().unwrap();
        let work = std::panic::AssertUnwindSafe(move || borrowed.run(|_| panic!("a defect")));
        assert!(std::panic::catch_unwind(work).is_err());
        assert!(connections.borrow_idle().is_none());
        connections.close();
        assert_eq!(connections.wait_for_end().now_or_never(), Some(()));
    }

    #[test]
    fn the_end_waits_for_a_borrowed_connection() {
        let connections = connections();
        let borrowed = connections.borrow_idle();
        connections.close();
        let mut end = Box::pin(connections.wait_for_end());
        assert_eq!(end.as_mut().now_or_never(), None);
        drop(borrowed);
        assert_eq!(end.now_or_never(), Some(()));
        assert!(connections.borrow_idle().is_none());
    }
}
