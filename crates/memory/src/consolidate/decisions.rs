//! Decides if a reflection or a slow cycle runs.

/// The decision about a reflection, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReflectionDecision {
    /// The limit is reached: enough reflections in the last 24 hours.
    HardGate,
    /// A new event has a very high impact.
    Shock,
    /// The last reflection was long ago, or there was none.
    Timer,
    /// There is no reason for a reflection.
    NotDue,
}

impl ReflectionDecision {
    /// True if a model has to be asked.
    pub fn asks_model(self) -> bool {
        matches!(self, Self::Shock | Self::Timer)
    }
}

/// The decision about a slow cycle; if it does not run, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowCycleDecision {
    Runs,
    /// The slow cycle is switched off.
    Disabled,
    /// The last cycle ended too recently, and no shock or correction waives the cool-down.
    CoolingDown,
    /// The day's maximum number of cycles is reached.
    CyclesSpent,
    /// The day's maximum of input tokens is reached.
    InputSpent,
    /// The day's maximum of output tokens is reached.
    OutputSpent,
    /// Every recent event was part of an earlier cycle.
    NothingNew,
}
