// Types of responses, taken from the OpenAPI document, and of the server events.

import type { ResponseBody } from "./api_types";

/** Opaque. */
export type Id = string;

export type HistoryItem = HistoryPage["messages"][number];
/** Newest first. */
export type HistoryPage = ResponseBody<"/api/chat/history">;
export type SendResponse = ResponseBody<"/api/chat/send", "post">;
export type EpisodicState = NonNullable<PersonaResponse["episodic_state"]>;
export type PersonaResponse = ResponseBody<"/api/admin/persona">;
export type StateResponse = ResponseBody<"/api/state">;
/** `data` depends on `kind`; kinds of later versions are unknown, so its fields are read one by one. */
export type TimelineItem = Omit<TimelineResponse["items"][number], "data"> & { data: Record<string, unknown> };
/** Newest first. */
export type TimelinePage = Omit<TimelineResponse, "items"> & { items: TimelineItem[] };
type TimelineResponse = ResponseBody<"/api/admin/memory/timeline">;
/** A memory or message that recall considered; parts of the score are in [0, 1]. */
export type Candidate = ResponseBody<"/api/admin/memory/recall", "post">["candidates"][number];
export type ReplyReceiptBody = ResponseBody<"/api/chat/turns/{id}/receipt">;

export const CORE_BLOCKS = ["persona", "user", "style"] as const;
export type CoreBlock = (typeof CORE_BLOCKS)[number];

/** Whose event it is; the owner's token receives those of all users. */
interface Addressed {
  persona_id?: string;
  user_id?: string;
  source_channel_id?: string;
}

export interface EventData {
  "chat.message.user_appended": Addressed & {
    message_id?: Id | null;
    turn_id?: string | null;
    session_id?: Id | null;
    content: string;
    received_at?: string | null;
    external_ref?: string | null;
  };
  "chat.message.typing_started": Addressed & { message_id?: Id | null; turn_id: string };
  "chat.message.token": Addressed & { delta: string; turn_id: string };
  "chat.message.done": Addressed & {
    /** Identifies the reply while it streams; the history knows it by `stored_message_id`. */
    message_id: Id;
    stored_message_id?: Id | null;
    session_id?: Id | null;
    content: string;
    created_at?: string | null;
    in_reply_to_turn_id?: string | null;
    turn_id?: string | null;
    incomplete?: boolean;
  };
  "chat.message.failed": Addressed & {
    turn_id: string;
    reason: string;
    retryable: boolean;
    user_message_ids?: Id[];
  };
  "chat.message.edited": Addressed & { message_id: Id; turn_id?: string | null; content: string };
  "chat.message.deleted": Addressed & { message_id: Id; turn_id?: string | null };
  "chat.mood.update": Addressed & {
    mood_summary: string;
    mood?: string;
    energy?: number | null;
    updated_at?: string | null;
  };
  "chat.session.boundary": Addressed & {
    closed_session_id: Id | null;
    new_session_id: Id | null;
    at: string;
    /** Only after consolidation. */
    events_count?: number;
    thoughts_count?: number;
    trivial?: boolean;
  };
  "memory.event.created": Addressed & {
    event_id: Id;
    type?: string;
    description: string;
    emotional_impact: number;
    session_id?: Id | null;
    created_at?: string | null;
  };
  "memory.thought.created": Addressed & {
    thought_id: Id;
    type?: string;
    subject?: string;
    description: string;
    emotional_impact?: number | null;
    created_at?: string | null;
  };
  "memory.entity.confirmed": Addressed & {
    entity_id: Id;
    canonical_name: string;
    kind: string;
    merge_status: string;
    created_at?: string | null;
  };
  "memory.entity.description_updated": Addressed & {
    entity_id: Id;
    canonical_name: string;
    kind: string;
    description: string;
    updated_at?: string | null;
  };
  "memory.node.updated": Addressed & {
    node_id: Id;
    type: string;
    description: string;
    pinned: boolean;
    superseded_by?: Id | null;
    change: string;
  };
  /** Ids of what was deleted; with `all`, everything was. */
  "memory.forgotten": Addressed & {
    message_ids?: Id[];
    event_ids?: Id[];
    thought_ids?: Id[];
    intention_ids?: Id[];
    expectation_ids?: Id[];
    node_ids?: Id[];
    entity_ids?: Id[];
    all?: boolean;
  };
  "work.failed": Addressed & { kind: string; session_id?: Id; reason?: string | null };
  /** Two concurrent versions of a document conflict. */
  "sync.conflict": Addressed & { conflict_id: Id; kind: string; filename: string; created_at?: string | null };
  "chat.settings.updated": Addressed;
  "chat.connection.ready": Addressed;
  "chat.connection.heartbeat": Addressed;
  "chat.connection.lagged": Addressed;
}

export type EventName = keyof EventData;

export type ServerEvent = { [Name in EventName]: { name: Name; data: EventData[Name] } }[EventName];

export const EVENT_NAMES: readonly EventName[] = [
  "chat.message.user_appended",
  "chat.message.typing_started",
  "chat.message.token",
  "chat.message.done",
  "chat.message.failed",
  "chat.message.edited",
  "chat.message.deleted",
  "chat.mood.update",
  "chat.session.boundary",
  "memory.event.created",
  "memory.thought.created",
  "memory.entity.confirmed",
  "memory.entity.description_updated",
  "memory.node.updated",
  "memory.forgotten",
  "work.failed",
  "sync.conflict",
  "chat.settings.updated",
  "chat.connection.ready",
  "chat.connection.heartbeat",
  "chat.connection.lagged",
];
