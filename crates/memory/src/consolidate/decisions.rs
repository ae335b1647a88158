//! Decisions whether to think about what was remembered.

/// The decision about a reflection, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReflectionDecision {
    /// The gate holds: enough reflections in the last 24 hours.
    HardGate,
    /// A fresh event shook.
    Shock,
    /// The last reflection is long ago, or there was none.
    Timer,
    /// Nothing calls for a cycle.
    NotDue,
}

impl ReflectionDecision {
    /// True if a model is asked.
    pub fn asks_model(self) -> bool {
        matches!(self, Self::Shock | Self::Timer)
    }
}

/// The decision about a slow cycle, with the reason against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowCycleDecision {
    Runs,
    /// The slow cycle is switched off.
    Disabled,
    /// The last cycle ended too recently, and no shock or correction waives the pause.
    CoolingDown,
    /// The day's cycles are used up.
    CyclesSpent,
    /// The day's tokens to send are used up.
    InputSpent,
    /// The day's tokens to receive are used up.
    OutputSpent,
    /// Every recent event has been thought about.
    NothingNew,
}
