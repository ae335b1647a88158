//! Storage of decisions about proactive messages.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::identifiers::{DecisionId, MessageId, NodeId};
use memory::ledger::ReplyReceipt;
use memory::nodes::{Node, NodeKind};
use memory::ports::{CapturedMessage, NewMessage, ProactiveStore, StoreError};
use memory::proactive::{
    ListedDecision, ProactiveDecision, ProactiveQuery, ProactiveView, SentMessage, TriggerRef, TriggerUse,
};
use memory::sessions::SessionPolicy;
use memory::{Scope, UserId};

use crate::engine::failure::Failure;
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::home_store::HomeStore;
use crate::rows::{self, StoredEnum, microseconds, node_columns, place_of, to_json};
use crate::{ledger, messages, scopes};

/// Maximum promises and expectations to read at once. One is mentioned at a time, and the others wait for the next
/// check.
const DUE_MAX: u32 = 50;
/// Maximum shocks to read at once. Only those of the last day and a half are requested.
const SHOCKS_MAX: u32 = 10;
/// Maximum events to check for anniversaries. It bounds one check in a home of many years.
const WEIGHTY_NODES_MAX: u32 = 500;
/// Messages to search for recent channels. Channels used only before them are not written to.
const CHANNEL_MESSAGES_READ: u32 = 500;

/// Columns for [`read_decision`]: `d` is `proactive_decisions`, `s` is `scopes`.
macro_rules! decision_columns {
    () => {
        "d.id, s.persona_id, s.user_id, d.at, d.outcome, d.gate, d.trigger, d.trigger_key, d.detail, d.channel_id, \
         n.id, m.id"
    };
}

/// Tables that [`decision_columns`] names.
macro_rules! decision_tables {
    () => {
        " FROM proactive_decisions d JOIN scopes s ON s.number = d.scope
          LEFT JOIN concept_nodes n ON n.seq = d.node_seq AND n.deleted_at IS NULL
          LEFT JOIN recall_messages m ON m.seq = d.message_seq AND m.deleted_at IS NULL"
    };
}

#[async_trait]
impl ProactiveStore for HomeStore {
    async fn proactive_scopes(&self) -> Result<Vec<Scope>, StoreError> {
        self.read_statement(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT persona_id, user_id FROM scopes WHERE message_count > 0 ORDER BY number",
            )?;
            let scopes = statement.query_map([], |row| rows::scope(row, 0))?.collect::<Result<_>>()?;
            Ok(scopes)
        })
        .await
    }

    async fn proactive_view(
        &self,
        scope: &Scope,
        query: ProactiveQuery,
    ) -> Result<ProactiveView, StoreError> {
        let user = scope.user.clone();
        self.read_scope(scope, move |connection, scope| Ok(read_view(connection, scope, &user, &query)?))
            .await
    }

    async fn trigger_uses_by_key(
        &self,
        scope: &Scope,
        keys: &[String],
    ) -> Result<Vec<TriggerUse>, StoreError> {
        let keys = keys.to_vec();
        self.read_scope(scope, move |connection, scope| Ok(trigger_uses(connection, scope, &keys)?)).await
    }

    async fn last_decision(&self, scope: &Scope) -> Result<Option<ProactiveDecision>, StoreError> {
        self.read_scope(scope, move |connection, scope| {
            Ok(connection
                .prepare_cached(concat!(
                    "SELECT ",
                    decision_columns!(),
                    decision_tables!(),
                    " WHERE d.scope = ?1 AND d.outcome IS NOT NULL ORDER BY d.at DESC, d.id DESC LIMIT 1"
                ))?
                .query_row([scope], read_decision)
                .optional()?)
        })
        .await
    }

    async fn store_decision(&self, decision: ProactiveDecision) -> Result<(), StoreError> {
        self.write(move |unit| {
            let scope = scopes::number_or_new(unit.connection, &decision.scope)?;
            insert_decision(unit.connection, scope, &decision, None)?;
            Ok(())
        })
        .await
    }

    async fn send_proactive(
        &self,
        decision: ProactiveDecision,
        message: NewMessage,
        policy: SessionPolicy,
        receipt: ReplyReceipt,
    ) -> Result<CapturedMessage, StoreError> {
        self.write(move |unit| -> std::result::Result<_, Failure> {
            let scope = scopes::number_or_new(unit.connection, &decision.scope)?;
            let captured = messages::capture(unit, &message, &policy, None)?;
            ledger::keep_receipt(unit.connection, scope, &receipt)?;
            insert_decision(unit.connection, scope, &decision, Some(captured.message.seq))?;
            Ok(captured)
        })
        .await
    }

    async fn fail_unfinished_decisions(&self, detail: &str) -> Result<u32, StoreError> {
        let detail = detail.to_owned();
        self.write(move |unit| {
            let failed = unit
                .connection
                .prepare_cached(
                    "UPDATE proactive_decisions SET outcome = 'failed', detail = ?1 WHERE outcome IS NULL",
                )?
                .execute([&detail])?;
            Ok(u32::try_from(failed).unwrap_or(u32::MAX))
        })
        .await
    }

    async fn drop_decisions(&self, before: Timestamp) -> Result<u32, StoreError> {
        // Decisions that used up their trigger stay: without them it would be used again.
        self.write(move |unit| {
            let dropped = unit
                .connection
                .prepare_cached(
                    "DELETE FROM proactive_decisions WHERE at < ?1 AND outcome IS NOT NULL
                     AND (trigger_key IS NULL
                          OR (outcome IN ('dropped', 'deferred') AND gate IS DISTINCT FROM 'too_late'))",
                )?
                .execute([microseconds(before)])?;
            Ok(u32::try_from(dropped).unwrap_or(u32::MAX))
        })
        .await
    }

    async fn decisions(
        &self,
        user: Option<&UserId>,
        before: Option<(Timestamp, DecisionId)>,
        limit: u32,
    ) -> Result<Vec<ListedDecision>, StoreError> {
        let user = user.map(|user| user.as_str().to_owned());
        self.read(move |connection| Ok(list_decisions(connection, user.as_deref(), before, limit)?)).await
    }

    async fn decisions_behind(&self, messages: &[i64]) -> Result<BTreeMap<i64, DecisionId>, StoreError> {
        let messages = messages.to_vec();
        self.read(move |connection| Ok(decisions_behind(connection, &messages)?)).await
    }

    async fn mute(&self, user: &UserId, until: Option<Timestamp>) -> Result<bool, StoreError> {
        let user = user.clone();
        self.write(move |unit| Ok(set_mute(unit.connection, &user, until)?)).await
    }

    async fn muted_until(&self, user: &UserId) -> Result<Option<Timestamp>, StoreError> {
        let user = user.clone();
        self.read(move |connection| Ok(muted_until(connection, &user)?)).await
    }

    async fn recent_channels(&self, scope: &Scope) -> Result<Vec<String>, StoreError> {
        self.read_scope(scope, |connection, scope| {
            let mut statement = connection.prepare_cached(
                "SELECT channel_id FROM (SELECT seq, channel_id FROM recall_messages
                     WHERE scope = ?1 AND role = 'user' AND deleted_at IS NULL ORDER BY seq DESC LIMIT ?2) recent
                 GROUP BY channel_id ORDER BY max(seq) DESC",
            )?;
            let channels = statement.query_map(params![scope, CHANNEL_MESSAGES_READ], |row| row.get(0))?;
            Ok(channels.collect::<Result<_>>()?)
        })
        .await
    }
}

fn set_mute(connection: &Connection, user: &UserId, until: Option<Timestamp>) -> Result<bool> {
    let known: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM users WHERE id = ?1)")?
        .query_row([user.as_str()], |row| row.get(0))?;
    if !known {
        return Ok(false);
    }
    match until {
        Some(until) => connection
            .prepare_cached(
                "INSERT INTO proactive_mutes (user_id, muted_until) VALUES (?1, ?2)
                 ON CONFLICT (user_id) DO UPDATE SET muted_until = excluded.muted_until",
            )?
            .execute(params![user.as_str(), microseconds(until)])?,
        None => connection
            .prepare_cached("DELETE FROM proactive_mutes WHERE user_id = ?1")?
            .execute([user.as_str()])?,
    };
    Ok(true)
}

fn muted_until(connection: &Connection, user: &UserId) -> Result<Option<Timestamp>> {
    connection
        .prepare_cached("SELECT muted_until FROM proactive_mutes WHERE user_id = ?1")?
        .query_row([user.as_str()], |row| rows::time(row, 0))
        .optional()
}

fn read_view(
    connection: &Connection,
    scope: i64,
    user: &UserId,
    query: &ProactiveQuery,
) -> Result<ProactiveView> {
    let last_user_message = connection
        .prepare_cached(
            "SELECT seq, created_at FROM recall_messages
             WHERE scope = ?1 AND role = 'user' AND deleted_at IS NULL ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([scope], |row| Ok((row.get(0)?, rows::time(row, 1)?)))
        .optional()?;
    let last_message_at = connection
        .prepare_cached(
            "SELECT created_at FROM recall_messages WHERE scope = ?1 AND deleted_at IS NULL
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([scope], |row| rows::time(row, 0))
        .optional()?;
    let sent_lately = connection
        .prepare_cached(
            "SELECT count(*) FROM proactive_decisions WHERE scope = ?1 AND at > ?2 AND outcome = 'sent'",
        )?
        .query_row(params![scope, microseconds(query.sent_since)], |row| row.get(0))?;
    Ok(ProactiveView {
        last_user_message,
        last_message_at,
        sent: sent_messages(connection, scope, query.sent)?,
        sent_lately,
        muted_until: muted_until(connection, user)?,
        due: due_nodes(connection, scope, query)?,
        shocks: shock_nodes(connection, scope, query)?,
        weighty: weighty_nodes(connection, scope, query)?,
    })
}

fn sent_messages(connection: &Connection, scope: i64, limit: u32) -> Result<Vec<SentMessage>> {
    connection
        .prepare_cached(
            "SELECT d.at, (SELECT m.created_at FROM recall_messages m
                 WHERE m.scope = ?1 AND m.seq > d.sent_seq AND m.role = 'user' AND m.deleted_at IS NULL
                 ORDER BY m.seq LIMIT 1)
             FROM proactive_decisions d WHERE d.scope = ?1 AND d.outcome = 'sent' ORDER BY d.at DESC LIMIT ?2",
        )?
        .query_map(params![scope, limit], |row| {
            Ok(SentMessage { at: rows::time(row, 0)?, answered_at: rows::optional_time(row, 1)? })
        })?
        .collect()
}

/// Promises and expectations that are due. Those already mentioned or given up are left out, so that they do not
/// displace others, and so are fulfilled expectations.
fn due_nodes(connection: &Connection, scope: i64, query: &ProactiveQuery) -> Result<Vec<Node>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            node_columns!(),
            " FROM concept_nodes n
             WHERE n.scope = ?1 AND n.event_time_start IS NOT NULL AND n.event_time_start <= ?2
               AND coalesce(n.event_time_end, n.event_time_start) >= ?3
               AND n.type IN ('intention', 'expectation') AND n.deleted_at IS NULL AND n.superseded_by IS NULL
               AND NOT EXISTS (SELECT 1 FROM settled_expectations x
                               WHERE x.node_seq = n.seq AND x.outcome = 'fulfilled')
               AND NOT EXISTS (SELECT 1 FROM proactive_decisions d
                               WHERE d.node_seq = n.seq AND d.trigger IN ('promise_due', 'expectation_due')
                                 AND (d.outcome IN ('sent', 'nothing_to_say') OR d.gate = 'too_late'))
             ORDER BY n.event_time_start, n.seq LIMIT ?4"
        ))?
        .query_map(
            params![scope, microseconds(query.now), microseconds(query.due_since), DUE_MAX],
            rows::read_node,
        )?
        .collect()
}

fn shock_nodes(connection: &Connection, scope: i64, query: &ProactiveQuery) -> Result<Vec<Node>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            node_columns!(),
            " FROM concept_nodes n
             WHERE n.scope = ?1 AND n.created_at >= ?2 AND n.type = 'event' AND n.deleted_at IS NULL
               AND n.superseded_by IS NULL AND abs(n.emotional_impact) >= ?3
             ORDER BY abs(n.emotional_impact) DESC, n.seq DESC LIMIT ?4"
        ))?
        .query_map(
            params![scope, microseconds(query.shock_since), query.shock_impact, SHOCKS_MAX],
            rows::read_node,
        )?
        .collect()
}

fn weighty_nodes(connection: &Connection, scope: i64, query: &ProactiveQuery) -> Result<Vec<Node>> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            node_columns!(),
            " FROM concept_nodes n
             WHERE n.scope = ?1 AND n.type = 'event' AND n.deleted_at IS NULL AND n.superseded_by IS NULL
               AND (n.emotional_impact >= 7 OR n.emotional_impact <= -7)
               AND abs(n.emotional_impact) >= ?2 AND coalesce(n.event_time_start, n.created_at) < ?3
             ORDER BY abs(n.emotional_impact) DESC, n.seq DESC LIMIT ?4"
        ))?
        .query_map(
            params![
                scope,
                query.anniversary_impact,
                microseconds(query.anniversary_before),
                WEIGHTY_NODES_MAX
            ],
            rows::read_node,
        )?
        .filter(|node| node.as_ref().is_ok_and(|node| node.kind == NodeKind::Event))
        .collect()
}

fn trigger_uses(connection: &Connection, scope: i64, keys: &[String]) -> Result<Vec<TriggerUse>> {
    connection
        .prepare_cached(
            "SELECT d.trigger_key,
                 max(CASE WHEN d.outcome IN ('sent', 'nothing_to_say') OR d.gate = 'too_late' THEN 1 ELSE 0 END),
                 count(CASE d.outcome WHEN 'failed' THEN 1 END), max(CASE d.outcome WHEN 'failed' THEN d.at END)
             FROM proactive_decisions d
             WHERE d.scope = ?1 AND d.trigger_key IN (SELECT atom FROM json_each(?2)) AND d.outcome IS NOT NULL
             GROUP BY d.trigger_key",
        )?
        .query_map(params![scope, to_json(&keys)?], |row| {
            Ok(TriggerUse {
                key: row.get(0)?,
                is_used: row.get(1)?,
                failures: row.get(2)?,
                failed_at: rows::optional_time(row, 3)?,
            })
        })?
        .collect()
}

fn insert_decision(
    connection: &Connection,
    scope: i64,
    decision: &ProactiveDecision,
    sent_seq: Option<i64>,
) -> Result<()> {
    let trigger = decision.trigger.as_ref();
    connection
        .prepare_cached(
            "INSERT INTO proactive_decisions (id, scope, at, outcome, gate, trigger, trigger_key, node_seq,
                 message_seq, sent_seq, channel_id, detail)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                 (SELECT seq FROM concept_nodes WHERE id = ?8 AND scope = ?2), ?9, ?9, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET at = excluded.at, outcome = excluded.outcome, gate = excluded.gate,
                 message_seq = excluded.message_seq, sent_seq = excluded.sent_seq,
                 channel_id = excluded.channel_id, detail = excluded.detail",
        )?
        .execute(params![
            decision.id.0.into_bytes(),
            scope,
            microseconds(decision.at),
            decision.outcome.map(StoredEnum::as_str),
            decision.gate.map(StoredEnum::as_str),
            trigger.map(|trigger| trigger.trigger.as_str()),
            trigger.map(|trigger| trigger.key.as_str()),
            trigger.and_then(|trigger| trigger.node).map(|node| node.0.into_bytes()),
            sent_seq,
            decision.channel_id,
            decision.detail,
        ])?;
    Ok(())
}

fn list_decisions(
    connection: &Connection,
    user: Option<&str>,
    before: Option<(Timestamp, DecisionId)>,
    limit: u32,
) -> Result<Vec<ListedDecision>> {
    let (at, id) = place_of(before.map(|(at, id)| (at, id.0)));
    connection
        .prepare_cached(concat!(
            "SELECT ",
            decision_columns!(),
            ", n.description",
            decision_tables!(),
            " WHERE d.outcome IS NOT NULL AND (?1 IS NULL OR s.user_id = ?1) AND (d.at, d.id) < (?2, ?3)
             ORDER BY d.at DESC, d.id DESC LIMIT ?4"
        ))?
        .query_map(params![user, at, id, limit], |row| {
            Ok(ListedDecision { decision: read_decision(row)?, about: row.get(12)? })
        })?
        .collect()
}

fn decisions_behind(connection: &Connection, messages: &[i64]) -> Result<BTreeMap<i64, DecisionId>> {
    connection
        .prepare_cached(
            "SELECT d.message_seq, d.id FROM json_each(?1) j
             CROSS JOIN proactive_decisions d ON d.message_seq = j.value",
        )?
        .query_map(params![to_json(&messages)?], |row| {
            Ok((row.get(0)?, DecisionId(rows::read_uuid(row, 1)?)))
        })?
        .collect()
}

fn read_decision(row: &Row<'_>) -> Result<ProactiveDecision> {
    let key: Option<String> = row.get(7)?;
    let trigger = rows::optional_enum(row, 6)?;
    let node = rows::optional_uuid(row, 10)?.map(NodeId);
    Ok(ProactiveDecision {
        id: DecisionId(rows::read_uuid(row, 0)?),
        scope: rows::scope(row, 1)?,
        at: rows::time(row, 3)?,
        outcome: rows::optional_enum(row, 4)?,
        gate: rows::optional_enum(row, 5)?,
        trigger: trigger.zip(key).map(|(trigger, key)| TriggerRef { trigger, key, node }),
        detail: row.get(8)?,
        message_id: rows::optional_uuid(row, 11)?.map(MessageId),
        channel_id: row.get(9)?,
    })
}
