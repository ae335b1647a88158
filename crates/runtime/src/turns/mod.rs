//! Turns: a message comes in, is stored, and is answered.

pub(crate) mod conversations;
pub(crate) mod inbox;
pub(crate) mod channels;
pub(crate) mod remember;
pub(crate) mod turn;
pub(crate) mod turn_error;
pub(crate) mod turn_event;
pub(crate) mod own_line;
pub(crate) mod receipt;
pub(crate) mod recall;
pub(crate) mod after_turn;
pub(crate) mod said_corrections;
pub(crate) mod utility;
pub(crate) mod turn_trace;
