//! Writes the events of sessions as lines of the instance's own diary.

use std::collections::BTreeMap;

use jiff::civil::Date;
use memory::Scope;

use crate::daily;
use crate::documents::Document;
use crate::error::HubError;
use crate::names::{DiaryName, DocumentName};
use crate::ports::{DiaryEvent, DiaryLine, OutdatedLine};
use crate::service::{Caller, Hub};

/// Events per transaction, so that a long backlog blocks the writer only briefly each time.
const EVENTS_PER_WRITE: u32 = 500;

impl Hub {
    /// Adds a line for every event that is in no diary yet, and returns the number of lines. Each event gets its line
    /// once, also after a crash, and also if a person has removed the line.
    pub async fn write_diary(&self) -> Result<usize, HubError> {
        let mut written = 0;
        loop {
            let events = self.shared_parts().parts.store.events_without_diary(EVENTS_PER_WRITE).await?;
            let count = events.len();
            let mut days: BTreeMap<(Scope, Date), Vec<DiaryEvent>> = BTreeMap::new();
            for event in events {
                let day = event.at.to_zoned(self.persona_zone(&event.scope).await?).date();
                days.entry((event.scope.clone(), day)).or_default().push(event);
            }
            for ((scope, day), events) in days {
                written += self.write_day(&scope, day, &events).await?;
            }
            if count < EVENTS_PER_WRITE as usize {
                return Ok(written);
            }
        }
    }

    /// Updates diary lines whose events a person has corrected, and returns their number. The former text stays as a
    /// version. A line that a person has changed or removed stays as it is.
    pub async fn correct_diary(&self) -> Result<usize, HubError> {
        let mut corrected = 0;
        loop {
            let outdated = self.shared_parts().parts.store.outdated_lines(EVENTS_PER_WRITE).await?;
            let count = outdated.len();
            let mut days: BTreeMap<(Scope, DocumentName), Vec<OutdatedLine>> = BTreeMap::new();
            for line in outdated {
                days.entry((line.scope.clone(), line.line.document.clone())).or_default().push(line);
            }
            for ((scope, name), lines) in days {
                corrected += self.correct_day(&scope, &name, &lines).await?;
            }
            if count < EVENTS_PER_WRITE as usize {
                return Ok(corrected);
            }
        }
    }

    async fn correct_day(
        &self,
        scope: &Scope,
        name: &DocumentName,
        lines: &[OutdatedLine],
    ) -> Result<usize, HubError> {
        let own = self.instance_id();
        let caller = Caller {
            scope: scope.clone(),
            instance: own.clone(),
            is_person: false,
            is_bound: false,
            is_of_one_user: false,
        };
        let _turn = self.lock_writes().await;
        let (mut act, before) = self.begin_with_document(&caller, name).await?;
        let Some(before) = before else { return Ok(0) };
        let mut content = before.content().map(str::to_owned);
        for OutdatedLine { line: known, description, .. } in lines {
            let instance =
                crate::memories::diary_name(name).and_then(crate::DiaryName::instance).unwrap_or(&own);
            let line = daily::diary_line(description, &known.session.to_string(), instance);
            let replaced =
                content.as_deref().and_then(|text| daily::with_line_replaced(text, &known.line, &line));
            content = replaced.or(content);
            act.commit.lines.push(DiaryLine { line, ..known.clone() });
        }
        if content.as_deref() != before.content() {
            let (mut version, beside) = act.edit(before.heads, content);
            version.edited_by = "diary".to_owned();
            act.write_edit(name, version, beside);
        }
        Ok(if act.commit().await? { lines.len() } else { 0 })
    }

    async fn write_day(&self, scope: &Scope, day: Date, events: &[DiaryEvent]) -> Result<usize, HubError> {
        let instance = self.instance_id();
        let caller = Caller {
            scope: scope.clone(),
            instance: instance.clone(),
            is_person: false,
            is_bound: false,
            is_of_one_user: false,
        };
        let name = DocumentName::Diary(DiaryName::Daily(day, instance.clone()));
        let _turn = self.lock_writes().await;
        let (mut act, before) = self.begin_with_document(&caller, &name).await?;
        let mut content = match before.as_ref().and_then(Document::content) {
            Some(content) => content.to_owned(),
            None => format!("# Daily Memory - {day}\n"),
        };
        for event in events {
            let line = daily::diary_line(&event.description, &event.session.to_string(), &instance);
            content = daily::merge_diaries(&content, &line);
            act.commit.lines.push(DiaryLine {
                document: name.clone(),
                node: event.node,
                session: event.session,
                line,
            });
        }
        let heads = before.map(|document| document.heads).unwrap_or_default();
        let (mut version, beside) = act.edit(heads, Some(content));
        version.edited_by = "diary".to_owned();
        act.write_edit(&name, version, beside);
        // Something was forgotten or written meanwhile: these events are read again.
        Ok(if act.commit().await? { events.len() } else { 0 })
    }
}
