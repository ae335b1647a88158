//! Printing to whoever reads. One that went away, as `head` does, is no failure: the rest goes nowhere, and the command
//! ends as it would have ended. The standard library's macros of these names end the program with a panic instead.

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
    // Nobody is left who could be told.
    let _ = std::io::stdout().lock().write_fmt(words);
}

/// Prints a text to standard error.
pub(crate) fn warn(words: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(words);
}
