//! A queue between callers and storage threads. It needs no bound: each caller waits for its answer, so it is never
//! longer than the number of callers, which is limited elsewhere.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use memory::ports::StoreError;
use parking_lot::Mutex;

/// Maximum time that a deferred item waits for another one. A turn's trace, its recall counts and the cost of its
/// model call arrive within a few milliseconds; each alone would be a transaction.
const DEFERRAL_MAX: Duration = Duration::from_millis(20);

pub(crate) struct Queue<T> {
    /// Locked only briefly: threads are woken after it is unlocked, so that they don't wait for it.
    state: Mutex<State<T>>,
}

struct State<T> {
    items: VecDeque<T>,
    /// Items that may wait, and the time at which they are taken even without others.
    deferred: Vec<T>,
    deferred_until: Option<Instant>,
    closed: bool,
    /// Threads that wait for an item. The last one to wait gets the next item: its connection has the most in its
    /// caches.
    waiting: Vec<Thread>,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        let (items, deferred) = (VecDeque::new(), Vec::new());
        let state = State { items, deferred, deferred_until: None, closed: false, waiting: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    /// Adds an item, and returns true if a thread was waiting for it; returns the item if the queue is closed.
    pub(crate) fn push(&self, item: T) -> Result<bool, T> {
        self.add(item, |state, item| state.items.push_back(item))
    }

    /// Adds an item that may wait for others; returns it if the queue is closed.
    pub(crate) fn push_deferred(&self, item: T) -> Result<(), T> {
        let defer = |state: &mut State<T>, item| {
            state.deferred.push(item);
            state.deferred_until.get_or_insert_with(|| Instant::now() + DEFERRAL_MAX);
        };
        self.add(item, defer).map(|_| ())
    }

    fn add(&self, item: T, add: impl FnOnce(&mut State<T>, T)) -> Result<bool, T> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(item);
        }
        add(&mut state, item);
        let next = state.waiting.pop();
        drop(state);
        if let Some(thread) = &next {
            thread.unpark();
        }
        Ok(next.is_some())
    }

    /// Waits for items and takes all deferred ones, which are older, then at most `limit` of the oldest others.
    /// `None` once the queue is closed and empty.
    pub(crate) fn take_oldest(&self, limit: usize) -> Option<Vec<T>> {
        let own = thread::current();
        let mut state = self.state.lock();
        // A thread may wake without a notification. A working thread must not be notified.
        state.waiting.retain(|thread| thread.id() != own.id());
        while state.items.is_empty() {
            let deferral = state.deferred_until.map(|until| until.saturating_duration_since(Instant::now()));
            if state.closed && deferral.is_none() {
                return None;
            }
            if deferral.is_some_and(|left| left.is_zero() || state.closed) {
                break;
            }
            state.waiting.push(own.clone());
            drop(state);
            match deferral {
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
            state = self.state.lock();
            state.waiting.retain(|thread| thread.id() != own.id());
        }
        state.deferred_until = None;
        let mut taken = std::mem::take(&mut state.deferred);
        let count = state.items.len().min(limit);
        taken.extend(state.items.drain(..count));
        Some(taken)
    }

    /// Accepts no more items; queued ones are still returned.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.waiting.drain(..).for_each(|thread| thread.unpark());
    }

    /// True if threads have taken all items but the deferred ones.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().items.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn waiting_count(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Closes the queue when the thread that has it ends, and drops the remaining items: if the thread has panicked,
    /// nobody must wait for an answer that never comes.
    pub(crate) fn close_on_drop(self: &Arc<Self>) -> impl Drop + use<T> {
        CloseOnDrop(Arc::clone(self))
    }
}

/// Holds the result of a job. The job itself has the same type for any result, so that queues and channels are
/// compiled once and not for each of hundreds of calls.
pub(crate) struct Slot<T>(Arc<Mutex<Option<T>>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Slot<T> {
    pub(crate) fn set_result(&self, result: T) {
        *self.0.lock() = Some(result);
    }

    /// The result of a successful job.
    pub(crate) fn take_result(&self) -> Result<T, StoreError> {
        let result = self.0.lock().take();
        result.ok_or_else(|| StoreError::Failed("the command did not run".to_owned()))
    }
}

struct CloseOnDrop<T>(Arc<Queue<T>>);

impl<T> Drop for CloseOnDrop<T> {
    fn drop(&mut self) {
        self.0.close();
        let mut state = self.0.state.lock();
        let left = (std::mem::take(&mut state.items), std::mem::take(&mut state.deferred));
        drop(state);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_handed_out_in_order_also_after_the_close() {
        let queue = Queue::new();
        (0..5).for_each(|item| assert_eq!(queue.push(item), Ok(false)));
        assert_eq!(queue.take_oldest(3), Some(vec![0, 1, 2]));
        queue.close();
        assert_eq!(queue.push(9), Err(9));
        assert_eq!(queue.take_oldest(3), Some(vec![3, 4]));
        assert_eq!(queue.take_oldest(3), None);
    }

    #[test]
    fn deferred_items_come_with_the_next_item_and_before_it() {
        let queue = Queue::new();
        queue.push_deferred(1).unwrap();
        queue.push(3).unwrap();
        queue.push_deferred(2).unwrap();
        assert_eq!(queue.take_oldest(9), Some(vec![1, 2, 3]));
    }

    #[test]
    fn deferred_items_come_alone_after_a_moment_and_at_once_when_the_queue_is_closed() {
        let queue = Queue::new();
        let began = Instant::now();
        queue.push_deferred(1).unwrap();
        assert_eq!(queue.take_oldest(9), Some(vec![1]));
        assert!(began.elapsed() >= DEFERRAL_MAX);
        queue.push_deferred(2).unwrap();
        queue.close();
        assert_eq!(queue.push_deferred(3), Err(3));
        assert_eq!(queue.take_oldest(9), Some(vec![2]));
        assert_eq!(queue.take_oldest(9), None);
    }

    #[test]
    fn every_item_finds_a_thread_that_waits() {
        let queue = Arc::new(Queue::new());
        let (done, taken) = std::sync::mpsc::channel();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (work, done) = (Arc::clone(&queue), done.clone());
                thread::spawn(move || {
                    while let Some(items) = work.take_oldest(1) {
                        items.into_iter().for_each(|item| done.send(item).unwrap());
                    }
                })
            })
            .collect();
        for round in 0..500 {
            // First one item, then more than there are threads: a lost notification would leave the test waiting.
            for count in [1, 5] {
                for item in 0..count {
                    queue.push(round * 10 + item).unwrap();
                }
                let mut items: Vec<i32> = (0..count).map(|_| taken.recv().unwrap()).collect();
                items.sort_unstable();
                assert_eq!(items, (0..count).map(|item| round * 10 + item).collect::<Vec<_>>());
            }
        }
        queue.close();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn a_thread_that_panics_leaves_nobody_waiting() {
        let queue = Arc::new(Queue::new());
        let (reply, answer) = std::sync::mpsc::channel::<()>();
        queue.push(reply).unwrap();
        let work = Arc::clone(&queue);
        let thread = std::thread::spawn(move || {
            let _guard = work.close_on_drop();
            panic!("a defect");
        });
        assert!(thread.join().is_err());
        assert!(answer.recv().is_err());
        assert!(queue.push(std::sync::mpsc::channel().0).is_err());
    }
}
