// Types of responses, taken from the OpenAPI document, and of the server events.

import type { ResponseBody } from "./api_types";
import type { components } from "./openapi";

/** Opaque. */
export type Id = string;

export type HistoryItem = HistoryPage["messages"][number];
/** Newest first. */
export type HistoryPage = ResponseBody<"/api/chat/history">;
export type SendResponse = ResponseBody<"/api/chat/send", "post">;
export type EpisodicState = NonNullable<PersonaResponse["episodic_state"]>;
export type PersonaResponse = ResponseBody<"/api/admin/persona">;
export type StateResponse = ResponseBody<"/api/state">;
/** `data` depends on `kind`; later versions may add kinds, so its fields are read one by one. */
export type TimelineItem = Omit<TimelineResponse["items"][number], "data"> & { data: Record<string, unknown> };
/** Newest first. */
export type TimelinePage = Omit<TimelineResponse, "items"> & { items: TimelineItem[] };
type TimelineResponse = ResponseBody<"/api/admin/memory/timeline">;
/** A memory or message that recall considered; parts of its score are in [0, 1]. */
export type Candidate = ResponseBody<"/api/admin/memory/recall", "post">["candidates"][number];
export type ReplyReceiptBody = ResponseBody<"/api/chat/turns/{id}/receipt">;

export const CORE_BLOCKS = ["persona", "user", "style"] as const;
export type CoreBlock = (typeof CORE_BLOCKS)[number];

/** The data of each event by its name. */
export type EventData = components["schemas"]["EventStream"];

export type ImportProgress = EventData["import.progress"];

export type EventName = keyof EventData;

export type ServerEvent = { [Name in EventName]: { name: Name; data: EventData[Name] } }[EventName];

export const EVENT_NAMES: readonly EventName[] = [
  "chat.message.user_appended",
  "chat.message.typing_started",
  "chat.message.token",
  "chat.message.done",
  "chat.message.voice_sentence",
  "chat.message.voice_ready",
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
  "import.progress",
  "sync.conflict",
  "access.created",
  "chat.settings.updated",
  "chat.connection.ready",
  "chat.connection.heartbeat",
  "chat.connection.lagged",
];
