//! Events about the results of consolidation and the slow cycle.

use memory::consolidate::ConsolidationEvent;

use crate::core::RuntimeCore;
use crate::events::bodies::{MoodUpdate, SessionBoundary};
use crate::events::memory_bodies::{
    EntityConfirmed, EntityDescribed, EventCreated, ThoughtCreated, WorkFailed,
};

impl RuntimeCore {
    /// Publishes an event of consolidation to the subscribers of its scope.
    pub(crate) fn publish_formed(&self, formed: ConsolidationEvent) {
        match formed {
            ConsolidationEvent::Event { scope, session_id, node, said_at, at } => {
                self.publish(&scope, EventCreated::new(session_id, *node, said_at, at));
            }
            ConsolidationEvent::Thought { scope, session_id, is_imported, node, at } => {
                let source = if is_imported { "import" } else { "reflection" };
                self.publish(&scope, ThoughtCreated::new(source, Some(session_id), *node, at));
            }
            ConsolidationEvent::SlowThought { scope, node, at } => {
                self.publish(&scope, ThoughtCreated::new("slow_tick", None, *node, at));
            }
            ConsolidationEvent::Described { scope, entity } => {
                self.publish(&scope, EntityDescribed::new(*entity));
            }
            ConsolidationEvent::Entity { scope, entity } => {
                self.publish(&scope, EntityConfirmed::new(*entity))
            }
            ConsolidationEvent::Mood { scope, mood } => self.publish(&scope, MoodUpdate::new(mood)),
            ConsolidationEvent::Closed { session, events, thoughts } => {
                self.publish(&session.scope, SessionBoundary::closed(&session, events, thoughts));
            }
            ConsolidationEvent::Failed { session } => {
                let scope = session.scope.clone();
                self.publish(&scope, WorkFailed::session(*session));
            }
        }
    }
}
