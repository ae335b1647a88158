//! The storage on a real file.

mod story;
mod group_commit;
mod faults;
mod files;
mod home;
