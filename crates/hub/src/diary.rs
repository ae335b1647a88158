//! What sessions left, as lines of the instance's own diary.

use std::collections::BTreeMap;

use jiff::civil::Date;
use memory::Scope;

use crate::daily;
use crate::documents::Document;
use crate::error::HubError;
use crate::hub::{Caller, Hub};
use crate::names::{DocumentName, MemoryName};
use crate::port::{DiaryEvent, DiaryLine};

/// Events that are taken at once.
const EVENTS_AT_ONCE: u32 = 500;

impl Hub {
    /// Adds a line for every event that no diary tells yet; says how many. Each event has its line once, also after a crash,
    /// and also when a person has taken the line out.
    pub async fn write_diary(&self) -> Result<usize, HubError> {
        let mut written = 0;
        loop {
            let events = self.inner().parts.store.events_without_diary(EVENTS_AT_ONCE).await?;
            let count = events.len();
            let mut days: BTreeMap<(Scope, Date), Vec<DiaryEvent>> = BTreeMap::new();
            for event in events {
                let day = event.at.to_zoned(self.zone(&event.scope).await?).date();
                days.entry((event.scope.clone(), day)).or_default().push(event);
            }
            for ((scope, day), events) in days {
                written += self.write_day(&scope, day, &events).await?;
            }
            if count < EVENTS_AT_ONCE as usize {
                return Ok(written);
            }
        }
    }

    async fn write_day(&self, scope: &Scope, day: Date, events: &[DiaryEvent]) -> Result<usize, HubError> {
        let instance = self.settings().instance.clone();
        let caller = Caller { scope: scope.clone(), instance: instance.clone(), is_person: false };
        let name = DocumentName::Memory(MemoryName::Daily(day, instance.clone()));
        let _turn = self.turn().await;
        let mut act = self.begin(&caller).await?;
        let before = self.document(scope, &name).await?;
        let mut content = match before.as_ref().and_then(Document::content) {
            Some(content) => content.to_owned(),
            None => format!("# Daily Memory - {day}\n"),
        };
        for event in events {
            let line = daily::line(&event.description, &event.session.to_string(), &instance);
            content = daily::merge(&content, &line);
            act.commit.lines.push(DiaryLine {
                document: name.clone(),
                node: event.node,
                session: event.session,
                line,
            });
        }
        let heads = before.map(|document| document.heads).unwrap_or_default();
        let mut version = act.successor(&heads, Some(content));
        version.edited_by = "diary".to_owned();
        act.write(&name, vec![version]);
        // Something was forgotten or written in between: these events are asked for again.
        Ok(if act.save().await? { events.len() } else { 0 })
    }
}
