//! Prints for a reader that may close the pipe, as `head` does. That is not a failure: further output is discarded,
//! and the command ends normally. The standard library's macros of these names panic instead.

use std::fmt::Arguments;
use std::io::Write as _;

macro_rules! print {
    ($($words:tt)*) => { $crate::output::print_text(format_args!($($words)*)) };
}

macro_rules! println {
    () => { $crate::output::print_text(format_args!("\n")) };
    ($($words:tt)*) => { $crate::output::print_text(format_args!("{}\n", format_args!($($words)*))) };
}

macro_rules! eprintln {
    ($($words:tt)*) => { $crate::output::warn(format_args!("{}\n", format_args!($($words)*))) };
}

/// Prints a text to standard output.
pub(crate) fn print_text(words: Arguments<'_>) {
    // There is nobody left to report it to.
    let _ = std::io::stdout().lock().write_fmt(words);
}

/// Prints a text to standard error.
pub(crate) fn warn(words: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(words);
}
