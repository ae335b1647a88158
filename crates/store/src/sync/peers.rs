//! Peers and how far each has come.

use crate::engine::sql::{Connection, Result, Row, params};
use ::sync::{PeerRecord, PeerReport};

use super::pages;
use crate::rows::{self, microseconds, to_json, unreadable};

pub(super) fn all(connection: &Connection) -> Result<Vec<PeerReport>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, url, token_env, actor, has, seen_at, received, sent, error FROM sync_peers ORDER BY name",
    )?;
    let peers: Vec<PeerRecord> = statement.query_map([], peer)?.collect::<Result<_>>()?;
    peers.into_iter().map(|peer| report(connection, peer)).collect()
}

fn peer(row: &Row<'_>) -> Result<PeerRecord> {
    let actor: Option<String> = row.get(3)?;
    let actor = actor.map(|actor| actor.parse()).transpose();
    Ok(PeerRecord {
        name: row.get(0)?,
        url: row.get(1)?,
        token_env: row.get(2)?,
        actor: actor.map_err(|error: ::sync::InvalidActor| unreadable(3, error))?,
        has: rows::json(row, 4)?,
        seen_at: rows::optional_time(row, 5)?,
        received: row.get(6)?,
        sent: row.get(7)?,
        error: row.get(8)?,
    })
}

fn report(connection: &Connection, peer: PeerRecord) -> Result<PeerReport> {
    let (mut to_send, mut waiting_erasures) = (0, 0);
    for (actor, index) in pages::known(connection)?.iter() {
        let after = peer.has.of(actor);
        to_send += index.saturating_sub(after);
        waiting_erasures += connection
            .prepare_cached(
                "SELECT count(*) FROM sync_actors a JOIN sync_log l ON l.actor = a.number
                 WHERE a.actor = ?1 AND l.idx > ?2 AND l.kind = 'erasure'",
            )?
            .query_row(params![actor.to_string(), after], |row| row.get::<u64>(0))?;
    }
    Ok(PeerReport { peer, to_send, waiting_erasures })
}

pub(super) fn put(
    connection: &Connection,
    name: &str,
    url: Option<&str>,
    token_env: Option<&str>,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sync_peers (name, url, token_env) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET url = coalesce(excluded.url, sync_peers.url),
                 token_env = coalesce(excluded.token_env, sync_peers.token_env)",
        )?
        .execute(params![name, url, token_env])?;
    Ok(())
}

pub(super) fn remove(connection: &Connection, name: &str) -> Result<bool> {
    // An erasure no longer waits for a peer that is not one any more.
    connection
        .prepare_cached(
            "DELETE FROM erasure_instances WHERE instance_id = 'peer:' || ?1 AND reached_at IS NULL",
        )?
        .execute([name])?;
    let gone = connection.prepare_cached("DELETE FROM sync_peers WHERE name = ?1")?.execute([name])?;
    Ok(gone > 0)
}

/// Notes an exchange, and which erasures have reached the peer with it.
pub(super) fn note(connection: &Connection, peer: &PeerRecord) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE sync_peers SET actor = coalesce(?2, actor), has = ?3, seen_at = coalesce(?4, seen_at),
                 received = received + ?5, sent = sent + ?6, error = ?7
             WHERE name = ?1",
        )?
        .execute(params![
            peer.name,
            peer.actor.as_ref().map(ToString::to_string),
            to_json(&peer.has)?,
            peer.seen_at.map(microseconds),
            peer.received,
            peer.sent,
            peer.error,
        ])?;
    let Some(seen) = peer.seen_at.filter(|_| peer.error.is_none()) else { return Ok(()) };
    let is_waiting: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sync_noted WHERE kind = 'erasure')")?
        .query_row([], |row| row.get(0))?;
    if !is_waiting && report(connection, peer.clone())?.waiting_erasures == 0 {
        connection
            .prepare_cached(
                "UPDATE erasure_instances SET reached_at = ?2
                 WHERE instance_id = 'peer:' || ?1 AND reached_at IS NULL",
            )?
            .execute(params![peer.name, microseconds(seen)])?;
    }
    Ok(())
}
