//! Roll-ups: days are summarised into weeks, weeks into months, months into years. A period is summarised once it is
//! over, and again when its sources change.

mod due;
mod consolidate;

pub use consolidate::RollupOutcome;

use std::collections::BTreeSet;

use memory::Scope;
use memory::text::estimate_tokens;

use crate::documents::{Document, Version};
use crate::error::HubError;
use crate::identity;
use crate::names::{DiaryName, DocumentName, Granularity};
use crate::ports::{SummaryError, SummaryRequest};
use crate::service::{Caller, Hub};
use crate::transaction::HubTransaction;
use crate::versions::ROLL_UP_EDITOR;
use crate::versions::merge_version;

/// Result of summarising a period.
pub(crate) type RollupResult = Result<(), String>;

impl Hub {
    /// Writes all due roll-ups of every scope. Returns how many were written and how many failed. Failed ones are
    /// tried again after 1 s, 2 s, 4 s, … at most an hour.
    pub async fn roll_up(&self) -> Result<(usize, usize), HubError> {
        if self.followed_hub().is_some() {
            return Ok((0, 0));
        }
        let (mut written, mut failed) = (0, 0);
        let mut due = BTreeSet::new();
        for scope in self.shared_parts().parts.store.hub_scopes().await? {
            for granularity in [Granularity::Weekly, Granularity::Monthly, Granularity::Yearly] {
                for name in self.due_periods(&scope, granularity).await? {
                    due.insert((scope.clone(), name.clone()));
                    if self.shared_parts().failures.is_delayed(&(scope.clone(), name.clone()), self.now()) {
                        continue;
                    }
                    match self.write_rollup(&scope, &name).await? {
                        Ok(()) => written += 1,
                        Err(error) => {
                            failed += 1;
                            tracing::warn!(period = %name.date(), "a roll-up failed; retrying: {error}");
                        }
                    }
                }
            }
        }
        // Somebody may have requested a period that is not over yet.
        self.shared_parts().failures.delay_blocked_work(self.now(), |period| due.contains(period));
        Ok((written, failed))
    }

    /// Requests the summary of a period and writes it. The roll-up of a period without sources is withdrawn.
    pub(crate) async fn write_rollup(
        &self,
        scope: &Scope,
        name: &DiaryName,
    ) -> Result<RollupResult, HubError> {
        if let Some(hub) = self.followed_hub() {
            return Err(HubError::Refused(format!(
                "weekly, monthly and yearly summaries are written by the hub, {hub}, and synced to this \
                    home. Nothing was written"
            )));
        }
        let sources = self.rollup_sources(scope, name).await?;
        let document_name = DocumentName::Diary(name.clone());
        let caller = Caller {
            scope: scope.clone(),
            instance: self.instance_id(),
            is_person: false,
            is_bound: false,
            is_of_one_user: false,
        };
        let content = if sources.is_empty() {
            None
        } else {
            match self.request_summary(scope, name, &sources).await? {
                Ok(bullets) => Some(page_text(name, &bullets)),
                Err(SummaryError(error)) => {
                    self.shared_parts().failures.record_failure((scope.clone(), name.clone()), self.now());
                    return Ok(Err(error));
                }
            }
        };
        let _turn = self.lock_writes().await;
        let mut act = self.begin(&caller).await?;
        if source_revisions(&self.rollup_sources(scope, name).await?) != source_revisions(&sources) {
            self.shared_parts().failures.record_failure((scope.clone(), name.clone()), self.now());
            return Ok(Err("its sources changed while it was being written".to_owned()));
        }
        let before = self.document(scope, &document_name).await?;
        if content.is_none() && before.as_ref().is_none_or(|document| document.content().is_none()) {
            self.shared_parts().failures.forget(&(scope.clone(), name.clone()));
            return Ok(Ok(()));
        }
        let heads = before.map(|document| document.heads).unwrap_or_default();
        if heads.iter().any(is_written_by_hand) {
            write_beside(&mut act, &document_name, heads, content).await?;
        } else {
            let mut version = act.successor(&heads, content);
            version.edited_by = ROLL_UP_EDITOR.to_owned();
            act.write(&document_name, vec![version]);
        }
        match act.commit().await? {
            true => {
                self.shared_parts().failures.forget(&(scope.clone(), name.clone()));
                Ok(Ok(()))
            }
            false => {
                self.shared_parts().failures.record_failure((scope.clone(), name.clone()), self.now());
                Ok(Err("another version was written meanwhile".to_owned()))
            }
        }
    }

    async fn request_summary(
        &self,
        scope: &Scope,
        name: &DiaryName,
        sources: &[Document],
    ) -> Result<Result<Vec<String>, SummaryError>, HubError> {
        let Some(summariser) = &self.shared_parts().parts.summariser else {
            return Ok(Err(SummaryError("no language model is configured to write it".to_owned())));
        };
        let identity = self.identity_documents(scope).await?;
        // Lorebooks contain fiction.
        let identity = identity.iter().filter(|document| !document.name.is_lore());
        let identity = identity.filter_map(identity::label_and_text).collect();
        let persona = self.shared_parts().parts.personas.persona(&scope.persona).await?;
        let request = SummaryRequest {
            granularity: name.granularity(),
            period: name.date().to_string(),
            persona: persona.map(|persona| persona.display_name).unwrap_or_default(),
            identity,
            sources: sources.iter().filter_map(source_text).collect(),
        };
        let budget = summariser.source_tokens_max();
        let mut sources = request.sources.clone();
        loop {
            let parts = split_sources(sources, budget);
            if parts.len() <= 1 {
                let sources = parts.into_iter().next().unwrap_or_default();
                return Ok(summariser.summarise(SummaryRequest { sources, ..request }).await);
            }
            let mut shorter = Vec::new();
            let before: u32 = parts.iter().flatten().map(|(_, text)| estimate_tokens(text)).sum();
            for part in parts {
                let label = part.first().map(|(date, _)| date.clone()).unwrap_or_default();
                match summariser.summarise(SummaryRequest { sources: part, ..request.clone() }).await {
                    Ok(bullets) => shorter.push((label, list_bullets(&bullets))),
                    Err(error) => return Ok(Err(error)),
                }
            }
            let after: u32 = shorter.iter().map(|(_, text)| estimate_tokens(text)).sum();
            if after >= before {
                return Ok(Err(SummaryError(
                    "its sources don't fit into a prompt, even in parts".to_owned(),
                )));
            }
            sources = shorter;
        }
    }
}

/// True if a person or a client wrote this text. An automatic roll-up never replaces it.
fn is_written_by_hand(version: &Version) -> bool {
    version.content.is_some() && version.edited_by != ROLL_UP_EDITOR
}

/// Stores an automatic roll-up beside a text written by hand, as a conflict that a person decides. It replaces the
/// automatic one stored there before. Without `content`, only the text written by hand stays.
async fn write_beside(
    act: &mut HubTransaction<'_>,
    name: &DocumentName,
    heads: Vec<Version>,
    content: Option<String>,
) -> Result<(), HubError> {
    let (by_hand, automatic): (Vec<Version>, Vec<Version>) = heads.into_iter().partition(is_written_by_hand);
    let is_known = by_hand.iter().chain(&automatic).any(|head| head.content == content);
    if is_known {
        act.write(name, [by_hand, automatic].concat());
        return Ok(());
    }
    let open = act.hub.shared_parts().parts.store.conflicts(&act.caller.scope, true).await?;
    let outdated = open.iter().filter(|open| open.name == *name && open.kept.edited_by == ROLL_UP_EDITOR);
    act.commit.settled.extend(outdated.map(|open| (open.id, "dismissed".to_owned())));
    if content.is_none() {
        act.write(name, by_hand);
        return Ok(());
    }
    let own = act.hub.instance_id();
    let mut vector = act.unseen_change(&own, "rollup");
    let mut version = act.successor(&automatic, content);
    automatic.iter().for_each(|before| vector.join(&before.vector));
    version.vector = vector;
    version.edited_by = ROLL_UP_EDITOR.to_owned();
    let (heads, _) = merge_version(by_hand, version, &act.hub.settings().priority);
    act.open_conflicts(name, &heads);
    act.write(name, heads);
    Ok(())
}

fn source_revisions(sources: &[Document]) -> BTreeSet<(DocumentName, i64)> {
    // A source that became outdated and was written again meanwhile has another text, and another revision.
    sources.iter().map(|source| (source.name.clone(), source.revision)).collect()
}

/// The date and the text of a source, without its title, comments and `[chat:…]` tags.
fn source_text(document: &Document) -> Option<(String, String)> {
    let DocumentName::Diary(name) = &document.name else { return None };
    let lines =
        document.content()?.lines().filter(|line| !line.starts_with("# ") && !line.starts_with("<!--"));
    let text: Vec<String> = lines.map(without_chats).collect();
    Some((name.date().to_string(), text.join("\n").trim().to_owned()))
}

fn without_chats(line: &str) -> String {
    let mut left = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("[chat:") {
        left.push_str(before);
        rest = after.split_once(']').map_or("", |(_, after)| after.trim_start());
    }
    left.push_str(rest);
    left.trim_end().to_owned()
}

/// Groups sources so that each group fits into one request. A source that does not fit is split at its lines.
fn split_sources(sources: Vec<(String, String)>, budget: u32) -> Vec<Vec<(String, String)>> {
    let mut parts: Vec<Vec<(String, String)>> = Vec::new();
    let mut used = 0;
    for (date, text) in sources {
        for piece in split_source(&text, budget) {
            let tokens = estimate_tokens(&piece);
            match parts.last_mut() {
                Some(part) if used + tokens <= budget => {
                    part.push((date.clone(), piece));
                    used += tokens;
                }
                _ => {
                    parts.push(vec![(date.clone(), piece)]);
                    used = tokens;
                }
            }
        }
    }
    parts
}

fn split_source(text: &str, budget: u32) -> Vec<String> {
    if estimate_tokens(text) <= budget {
        return vec![text.to_owned()];
    }
    let mut pieces = vec![String::new()];
    for line in text.lines() {
        let Some(last) = pieces.last_mut() else { break };
        if !last.is_empty() && estimate_tokens(last) + estimate_tokens(line) > budget {
            pieces.push(format!("{line}\n"));
        } else {
            last.push_str(line);
            last.push('\n');
        }
    }
    pieces
}

fn list_bullets(bullets: &[String]) -> String {
    bullets.iter().map(|bullet| format!("- {bullet}\n")).collect()
}

fn page_text(name: &DiaryName, bullets: &[String]) -> String {
    let title = match name.granularity() {
        Granularity::Weekly => "Weekly",
        Granularity::Monthly => "Monthly",
        _ => "Yearly",
    };
    format!("# {title} Memory - {}\n\n{}", name.date(), list_bullets(bullets))
}
