//! Invariants. Each one is checked by reading the database directly, without the faults.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use memory::corrections::Author;
use memory::identifiers::{MessageId, NodeId, SessionId};
use memory::messages::{Message, Role};
use memory::nodes::{Node, NodeKind, Subject};
use memory::ports::{
    Corpus, CorrectionStore as _, EvidencedNode, ForgetStore as _, MessageStore as _, NodeStore as _,
    PersonaStore as _, SessionFilter, SessionStore as _, SlowCycleStore as _, StatusStore as _,
    VectorIndexStore as _,
};
use memory::sessions::{Session, SessionStatus};
use store::{RecordedCommits, without_faults};

use super::house::{House, LOOK};
use super::year::{Said, Year};
use crate::world::HOUR;

pub(super) const ALL_KINDS: [NodeKind; 4] =
    [NodeKind::Event, NodeKind::Thought, NodeKind::Intention, NodeKind::Expectation];
/// More than a year has of any kind.
const ALL: u32 = 1_000_000;
const REFLECTIONS_A_DAY: usize = 3;
/// The lifetime of the mood, and some time for a late check.
const MOOD_IS_OVER: Duration = Duration::from_secs(16 * 3_600);

type Law = Result<(), String>;

/// The cheap invariants.
pub(super) async fn quickly(year: &mut Year) -> Law {
    if let Some(seen) = year.house.model.seen().first() {
        return Err(seen.clone());
    }
    let commits = year.house.commits().await;
    reflections_are_rare(&commits)?;
    sessions_are_extracted_once(year, &commits)?;
    core_blocks_are_as_written(year).await
}

/// All invariants, for these scopes.
pub(super) async fn all(year: &mut Year, scopes: &BTreeSet<Scope>, old_nodes_too: bool) -> Law {
    quickly(year).await?;
    year.house.vectors_are_made().await;
    if year.house.store.faults().is_dead() {
        return Ok(());
    }
    if old_nodes_too {
        year.known.founded.clear();
    }
    let mut message_counts = HashMap::new();
    for scope in scopes {
        let stored = Stored::read(&year.house, scope).await;
        for message in stored.messages.values() {
            *message_counts.entry(message.session_id).or_default() += 1;
        }
        words_are_kept(year, scope, &stored.messages).await?;
        memories_are_founded(year, scope, &stored).await?;
        mood_wears_off(year, scope).await?;
        index_is_the_database(year, scope, &stored).await?;
    }
    sessions_get_on(year, scopes, &message_counts).await
}

/// SQLite's own check, and rows, words and vectors without an owner.
pub(super) async fn database_is_whole(year: &Year) -> Law {
    let check = year.house.store.check().await.unwrap();
    if !check.is_intact() {
        return Err(format!("the database is not whole: {check:?}"));
    }
    Ok(())
}

/// A memory's rows in the database.
struct Stored {
    messages: BTreeMap<MessageId, Message>,
    nodes: Vec<Node>,
}

impl Stored {
    async fn read(house: &House, scope: &Scope) -> Self {
        let messages = without_faults(house.store.messages_before(scope, None, ALL)).await.unwrap();
        let messages = messages.into_iter().map(|message| (message.id, message)).collect();
        let nodes = without_faults(house.store.nodes_before(scope, &ALL_KINDS, None, ALL)).await.unwrap();
        Self { messages, nodes }
    }
}

async fn sessions(house: &House) -> Vec<Session> {
    let filter = SessionFilter { limit: ALL, ..SessionFilter::default() };
    without_faults(house.store.sessions(filter)).await.unwrap()
}

/// The last two sessions of a scope.
pub(super) async fn newest_sessions(house: &House, scope: &Scope) -> Vec<SessionId> {
    let filter = SessionFilter { scope: Some(scope.clone()), limit: 2, ..SessionFilter::default() };
    let sessions = without_faults(house.store.sessions(filter)).await.unwrap();
    sessions.into_iter().map(|session| session.id).collect()
}

pub(super) async fn scope_of_node(house: &House, id: NodeId) -> Option<Scope> {
    without_faults(house.store.scope_of_node(id)).await.unwrap()
}

pub(super) async fn is_settled(house: &House, id: NodeId) -> bool {
    without_faults(house.store.expectation_end(id)).await.unwrap().is_some()
}

/// A person retries what had failed.
pub(super) async fn retry_failures(year: &mut Year) {
    for session in sessions(&year.house).await {
        if session.status == SessionStatus::Failed {
            year.house.runtime.sessions().retry(session.id).await.unwrap();
        }
    }
}

/// L1: byte for byte what people wrote.
async fn core_blocks_are_as_written(year: &Year) -> Law {
    for scope in &year.scopes {
        let blocks = without_faults(year.house.store.core_blocks(scope)).await.unwrap();
        let written = year.known.blocks.get(scope).cloned().unwrap_or_default();
        if blocks != written {
            return Err(format!("a core block of {scope:?} is {blocks:?}, and people wrote {written:?}"));
        }
    }
    Ok(())
}

/// L2: every acknowledged message is stored verbatim, once; and nothing else.
async fn words_are_kept(year: &mut Year, scope: &Scope, stored: &BTreeMap<MessageId, Message>) -> Law {
    let counted = without_faults(year.house.store.scope_counts(scope)).await.unwrap()[1];
    if counted != stored.len() as u64 {
        return Err(format!("{counted} messages are counted and {} are there", stored.len()));
    }
    let known = &mut year.known;
    if known.shaken.remove(scope) {
        known.said.retain(|_, said| said.scope != *scope);
        known.unsure.retain(|(of, _)| of != scope);
        known.said.extend(stored.iter().map(|(id, message)| (*id, said(message))));
        return Ok(());
    }
    let gone = |(id, said): &(MessageId, Said)| {
        let replaced =
            said.role == Role::Persona && said.turn.is_some_and(|turn| known.regenerated.contains(&turn));
        !stored.contains_key(id) && !replaced
    };
    let of_scope: Vec<(MessageId, Said)> = known
        .said
        .iter()
        .filter(|(_, said)| said.scope == *scope)
        .map(|(id, said)| (*id, said.clone()))
        .collect();
    if let Some((_, said)) = of_scope.iter().find(|known| gone(known)) {
        return Err(format!("an acknowledged message is gone: {:?}", said.content));
    }
    for (id, message) in stored {
        match known.said.get(id) {
            Some(said) if said.content == message.content && said.role == message.role => {}
            Some(said) => {
                return Err(format!("{:?} was said, and {:?} is kept", said.content, message.content));
            }
            None if message.role == Role::Persona => _ = known.said.insert(*id, said(message)),
            None => {
                let unheard = |(of, text): &(Scope, String)| of == scope && *text == message.content;
                let Some(place) = known.unsure.iter().position(unheard) else {
                    return Err(format!("nobody said this, or said it once: {:?}", message.content));
                };
                known.unsure.swap_remove(place);
                known.said.insert(*id, said(message));
            }
        }
    }
    known.said.retain(|id, said| said.scope != *scope || stored.contains_key(id));
    Ok(())
}

fn said(message: &Message) -> Said {
    Said {
        scope: message.scope.clone(),
        role: message.role,
        turn: message.turn_id,
        content: message.content.clone(),
    }
}

/// L3 and L4: no event without evidence, no thought without an event. Nodes that have not changed are skipped.
async fn memories_are_founded(year: &mut Year, scope: &Scope, stored: &Stored) -> Law {
    for node in &stored.nodes {
        if year.known.founded.get(&node.id) != Some(node) {
            memory_is_founded(year, scope, node.id, &stored.messages).await?;
            year.known.founded.insert(node.id, node.clone());
        }
    }
    Ok(())
}

async fn memory_is_founded(
    year: &Year,
    scope: &Scope,
    id: NodeId,
    stored: &BTreeMap<MessageId, Message>,
) -> Law {
    let Some(EvidencedNode { node, evidence, filling }) =
        without_faults(year.house.store.node(id)).await.unwrap()
    else {
        return Err(format!("node {id} is listed and not there"));
    };
    if node.description.trim().is_empty() {
        return Err(format!("a {:?} says nothing", node.kind));
    }
    for quote in &evidence {
        let Some(message) = stored.get(&quote.message_id) else {
            return Err(format!("{:?} quotes a message that is not there", node.description));
        };
        let (start, end) = (quote.start as usize, quote.end as usize);
        let stands: String = message.content.chars().skip(start).take(end.saturating_sub(start)).collect();
        if stands != quote.quote || stands.is_empty() {
            return Err(format!(
                "{:?} quotes {:?}, and there stands {stands:?}",
                node.description, quote.quote
            ));
        }
    }
    for child in &filling {
        if scope_of_node(&year.house, *child).await.as_ref() != Some(scope) {
            return Err(format!("{:?} rests on an event of another memory", node.description));
        }
    }
    let by = |role| evidence.iter().any(|quote| stored[&quote.message_id].role == role);
    let quoted = match node.subject {
        Subject::User => by(Role::User),
        Subject::Persona => by(Role::Persona),
        Subject::Shared => !evidence.is_empty(),
    };
    let thought = matches!(node.kind, NodeKind::Thought | NodeKind::Expectation)
        || (node.kind == NodeKind::Intention && node.source_session_id.is_none());
    let founded = if thought { !filling.is_empty() || marked(&year.house, &node).await } else { quoted };
    if !founded && !vouched_for(&year.house, &node).await {
        return Err(format!("a {:?} rests on nothing: {:?}, {evidence:?}", node.kind, node.description));
    }
    Ok(())
}

/// Whether evidence of a thought was erased, and the thought is marked so.
async fn marked(house: &House, node: &Node) -> bool {
    let dependents = without_faults(house.store.dependents(node.id)).await.unwrap();
    dependents.is_some_and(|found| !found.orphaned.is_empty())
}

/// Whether a person wrote or approved it.
async fn vouched_for(house: &House, node: &Node) -> bool {
    let history = without_faults(house.store.node_history(node.id, 100)).await.unwrap().unwrap_or_default();
    history
        .iter()
        .any(|version| version.node_id == node.id && version.by == Author::Person && !version.undone)
}

/// L6.
async fn mood_wears_off(year: &mut Year, scope: &Scope) -> Law {
    let Some(mood) = without_faults(year.house.store.mood(scope)).await.unwrap() else { return Ok(()) };
    let elapsed = year.house.elapsed;
    // A clock that went back shows some times twice.
    let ahead = Duration::try_from(mood.updated_at.duration_since(year.house.now())).unwrap_or_default();
    let over = elapsed + ahead + MOOD_IS_OVER;
    let over = *year.known.moods.entry((scope.clone(), mood.updated_at)).or_insert(over);
    if elapsed > over && !mood.fade_at(year.house.now()).is_neutral() {
        return Err(format!("a mood of {} still colours {}", mood.updated_at, year.house.now()));
    }
    Ok(())
}

/// The vectors in memory are those in the database, of every row that can be searched.
async fn index_is_the_database(year: &Year, scope: &Scope, of_scope: &Stored) -> Law {
    let (house, fingerprint) = (&year.house, year.house.fingerprint());
    for corpus in [Corpus::Messages, Corpus::Nodes] {
        let stored =
            without_faults(house.store.vectors_after(scope, corpus, fingerprint, 0, ALL)).await.unwrap();
        let readable: BTreeSet<i64> =
            stored.iter().filter(|vector| vector.readability >= 0.6).map(|vector| vector.seq).collect();
        let live: BTreeSet<i64> = match corpus {
            Corpus::Messages => of_scope.messages.values().map(|message| message.seq).collect(),
            Corpus::Nodes => of_scope.nodes.iter().map(|node| node.seq).collect(),
        };
        let with_vector: BTreeSet<i64> = stored.iter().map(|vector| vector.seq).collect();
        if with_vector != live {
            let odd: Vec<&i64> = with_vector.symmetric_difference(&live).collect();
            return Err(format!("rows and vectors of {corpus:?} differ in {odd:?}"));
        }
        let loaded =
            without_faults(house.index.load(&*house.store, scope, corpus, fingerprint)).await.unwrap();
        let Some(first) = stored.first() else { continue };
        let held: BTreeSet<i64> = loaded.nearest(&first.vector, ALL as usize).into_iter().collect();
        if held != readable {
            let odd: Vec<&i64> = held.symmetric_difference(&readable).collect();
            return Err(format!("the vectors of {corpus:?} in memory differ from the database in {odd:?}"));
        }
        for vector in stored.iter().filter(|vector| vector.readability >= 0.6) {
            let cosines = loaded.cosine_ranges(&vector.vector, &[vector.seq]);
            if !cosines.iter().flatten().any(|cosine| *cosine.end() > 0.97) {
                return Err(format!("the vector of row {} in memory is another one", vector.seq));
            }
        }
    }
    Ok(())
}

/// Never more than three runs with a thought in any 24 hours.
fn reflections_are_rare(commits: &RecordedCommits) -> Law {
    let mut runs_by_scope: BTreeMap<i64, Vec<Timestamp>> = BTreeMap::new();
    for (scope, at) in &commits.reflections {
        runs_by_scope.entry(*scope).or_default().push(*at);
    }
    for (scope, mut runs) in runs_by_scope {
        runs.sort_unstable();
        let day = SignedDuration::from_hours(24);
        let close = runs
            .windows(REFLECTIONS_A_DAY + 1)
            .find(|runs| runs[REFLECTIONS_A_DAY].duration_since(runs[0]) < day);
        if let Some(runs) = close {
            return Err(format!("scope {scope} reflected at {runs:?}"));
        }
    }
    Ok(())
}

/// A session is extracted once, and once more for each change of its messages.
fn sessions_are_extracted_once(year: &Year, commits: &RecordedCommits) -> Law {
    let mut counts: HashMap<SessionId, usize> = HashMap::new();
    for session in &commits.extractions {
        *counts.entry(*session).or_default() += 1;
    }
    for (session, count) in counts {
        let allowed = 1 + year.known.again.get(&session).copied().unwrap_or_default();
        if count > allowed {
            return Err(format!("session {session} was extracted {count} times, {allowed} were due"));
        }
    }
    Ok(())
}

/// Every session is open, waiting or failed for a known reason, or closed and extracted. The message counts of
/// sessions in `scopes` are right.
async fn sessions_get_on(
    year: &Year,
    scopes: &BTreeSet<Scope>,
    message_counts: &HashMap<SessionId, u32>,
) -> Law {
    let now = year.house.now();
    for session in sessions(&year.house).await {
        let quiet = now.duration_since(session.last_message_at);
        // Due work is noticed at the next iteration of the loops.
        let due = session.retry_at.is_none_or(|at| at + LOOK <= now);
        let fault = match session.status {
            SessionStatus::Open if quiet > SignedDuration::try_from(8 * HOUR).unwrap() => "was left open",
            SessionStatus::Closing | SessionStatus::Consolidating if due => "waits for nothing",
            SessionStatus::Failed if session.last_error.is_none() => "has failed without a cause",
            SessionStatus::Closed if !session.extracted => "was closed before it was extracted",
            _ if scopes.contains(&session.scope)
                && session.message_count != message_counts.get(&session.id).copied().unwrap_or_default() =>
            {
                "counts its messages wrongly"
            }
            _ => continue,
        };
        return Err(format!("session {} of {:?} {fault}: {session:?}", session.id, session.scope));
    }
    Ok(())
}

/// At the end every session is closed.
pub(super) async fn no_session_is_lost(year: &Year) -> Law {
    for session in sessions(&year.house).await {
        if session.status != SessionStatus::Closed {
            return Err(format!("at the end a session is not closed: {session:?}"));
        }
    }
    Ok(())
}
