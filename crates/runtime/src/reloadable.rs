//! A value that changes while everybody reads it.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Changes that one run of the program takes; each is kept to its end.
pub const CHANGES_MAX: usize = 10_000;

/// Reads as its newest version. Earlier ones stay until all go, so that whoever is looking at one looks on undisturbed:
/// settings change a few times in the life of a program, and are read in every turn without a lock.
#[derive(Debug)]
pub struct Reloadable<T> {
    first: Box<Version<T>>,
    count: AtomicUsize,
    /// Held while a version is added, so that of two changes neither is lost.
    changing: Mutex<()>,
}

#[derive(Debug)]
struct Version<T> {
    value: T,
    next: OnceLock<Box<Version<T>>>,
}

/// Too much was changed in one run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the settings were changed {CHANGES_MAX} times since the start; restart EchoVessel to change more")]
pub struct TooManyReloads;

impl<T> Reloadable<T> {
    /// The first version.
    pub fn new(value: T) -> Self {
        Self {
            first: Box::new(Version { value, next: OnceLock::new() }),
            count: AtomicUsize::new(0),
            changing: Mutex::default(),
        }
    }

    /// Makes this the newest version.
    pub fn change(&self, value: T) -> Result<(), TooManyReloads> {
        // Nothing that holds the lock can leave the list half-changed.
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.count.fetch_add(1, Ordering::Relaxed) >= CHANGES_MAX {
            return Err(TooManyReloads);
        }
        // Nobody else adds meanwhile, so the place is free.
        let _ = self.newest().next.set(Box::new(Version { value, next: OnceLock::new() }));
        Ok(())
    }

    fn newest(&self) -> &Version<T> {
        let mut version = &*self.first;
        while let Some(next) = version.next.get() {
            version = next;
        }
        version
    }
}

impl<T> Deref for Reloadable<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.newest().value
    }
}

impl<T> Drop for Reloadable<T> {
    /// One after the other: a list that drops itself would take a stack frame for each version.
    fn drop(&mut self) {
        let mut next = self.first.next.take();
        while let Some(mut version) = next {
            next = version.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_read_and_earlier_ones_stay() {
        let versions = Reloadable::new("first".to_owned());
        let before = &*versions;
        versions.change("second".to_owned()).unwrap();
        assert_eq!((before.as_str(), versions.as_str()), ("first", "second"));
    }

    #[test]
    fn of_changes_at_the_same_time_none_is_lost() {
        let versions = Reloadable::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let versions = &versions;
                scope.spawn(move || (0..100).for_each(|_| versions.change(thread).unwrap()));
            }
        });
        let mut length = 0;
        let mut version = &*versions.first;
        while let Some(next) = version.next.get() {
            (version, length) = (next, length + 1);
        }
        assert_eq!(length, 800);
    }

    #[test]
    fn there_is_an_end_to_it() {
        let versions = Reloadable::new(0);
        (0..CHANGES_MAX).for_each(|change| versions.change(change).unwrap());
        assert_eq!(versions.change(1), Err(TooManyReloads));
        assert_eq!(*versions, CHANGES_MAX - 1);
    }
}
