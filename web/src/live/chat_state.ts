// The state of the chat, and how server events change it.

import type { Cursor } from "../api";
import {
  timeOf,
  without,
  withEdited,
  withFailure,
  withHistory,
  withReply,
  withToken,
  withTypingStarted,
  withUserAppended,
  type Message,
} from "./messages";
import { memoryFromEvent, withNewMemory, withNewestPage, withOlderPage, withCorrection, type Memory } from "./timeline";
import type { EpisodicState, EventData, HistoryPage, PersonaResponse, ServerEvent, StateResponse, TimelinePage } from "../wire";

/** The user of this page; the owner's stream also carries other users' messages. */
export const USER_ID = "self";

/** Maximum messages in memory while the end is visible; older ones are fetched again when the reader scrolls. */
export const MESSAGES_MAX = 2_000;
/** Maximum memories in memory while new ones are added. */
export const MEMORIES_MAX = 1_000;
/** Maximum ended sessions in memory: far more than the messages in memory belong to. */
const CLOSINGS_MAX = 4_000;

export interface Closing {
  /** When the session ended. */
  at: string;
  events: number;
  thoughts: number;
}

export interface ChatState {
  personaId: string | null;
  personaName: string;
  /** True if the persona has a picture. */
  hasAvatar: boolean;
  mood: Pick<EpisodicState, "mood" | "updated_at"> & { energy: number | null } | null;
  /** Null while a language model is connected. */
  offline: { notice: string | null } | null;
  /** The persona has not been described yet. */
  blank: boolean;
  messages: Message[];
  /** Cursor of earlier messages; null if there are none, undefined before the first page. */
  earlierMessages: Cursor | null | undefined;
  memories: Memory[];
  earlierMemories: Cursor | null;
  /** Sessions known to be closed, by id. */
  closings: ReadonlyMap<string, Closing>;
  /** Seconds of silence after which a conversation is consolidated; null while unknown. */
  idleSeconds: number | null;
}

export const EMPTY_CHAT_STATE: ChatState = {
  personaId: null,
  personaName: "Echo",
  hasAvatar: false,
  mood: null,
  offline: null,
  blank: false,
  messages: [],
  earlierMessages: undefined,
  memories: [],
  earlierMemories: null,
  closings: new Map(),
  idleSeconds: null,
};

export function withEvent(chat: ChatState, event: ServerEvent, now: string): ChatState {
  if (!isForThisChat(chat, event)) return chat;
  const memory = memoryFromEvent(event, now);
  const next = memory ? { ...chat, memories: withNewMemory(chat.memories, memory).slice(0, maxMemories(chat)) } : chat;
  switch (event.name) {
    case "chat.message.user_appended":
      return { ...next, messages: withUserAppended(next.messages, event.data, now) };
    case "chat.message.typing_started":
      return { ...next, messages: withTypingStarted(next.messages, event.data.turn_id, now) };
    case "chat.message.token":
      return { ...next, messages: withToken(next.messages, event.data.turn_id, event.data.delta, now) };
    case "chat.message.done":
      return { ...next, messages: withReply(next.messages, event.data, now) };
    case "chat.message.failed":
      return { ...next, messages: withFailure(next.messages, event.data) };
    case "chat.message.edited":
      return { ...next, messages: withEdited(next.messages, String(event.data.message_id), event.data.content) };
    case "chat.message.deleted":
      return { ...next, messages: without(next.messages, new Set([String(event.data.message_id)])) };
    case "memory.node.updated": {
      const { node_id, description } = event.data;
      return { ...next, memories: withCorrection(next.memories, String(node_id), description) };
    }
    case "memory.forgotten":
      return withForgotten(next, event.data);
    case "chat.mood.update": {
      const { mood, mood_summary, energy, updated_at } = event.data;
      return { ...next, mood: { mood: mood ?? mood_summary, energy: energy ?? null, updated_at: updated_at ?? now } };
    }
    case "chat.session.boundary": {
      const { closed_session_id, at, events_count, thoughts_count } = event.data;
      if (closed_session_id === null) return next;
      const known = next.closings.get(String(closed_session_id));
      // Published twice; the first event has the time of the end.
      const closing = {
        at: known?.at ?? at ?? now,
        events: events_count ?? known?.events ?? 0,
        thoughts: thoughts_count ?? known?.thoughts ?? 0,
      };
      return { ...next, closings: limitClosings(new Map(next.closings).set(String(closed_session_id), closing)) };
    }
    default:
      return next;
  }
}

/** Removes what was deleted. */
function withForgotten(chat: ChatState, data: EventData["memory.forgotten"]): ChatState {
  if (data.all) return { ...chat, messages: [], memories: [], earlierMessages: undefined, earlierMemories: null };
  const nodes = [data.event_ids, data.thought_ids, data.intention_ids, data.expectation_ids, data.node_ids];
  const forgottenKeys = new Set([
    ...nodes.flatMap((ids) => ids ?? []).map((id) => `node:${id}`),
    ...(data.entity_ids ?? []).map((id) => `entity:${id}`),
  ]);
  return {
    ...chat,
    messages: without(chat.messages, new Set((data.message_ids ?? []).map(String))),
    memories: chat.memories.filter((memory) => !forgottenKeys.has(memory.key)),
  };
}

/** Drops the oldest messages, so that a page that stays open does not grow. */
export function withoutOldest(chat: ChatState, keep = MESSAGES_MAX): ChatState {
  if (chat.messages.length <= keep * 1.5) return chat;
  const messages = chat.messages.slice(-keep);
  const first = messages.find((m) => m.id !== null)?.id;
  return first ? { ...chat, messages, earlierMessages: { name: "before", value: first } } : chat;
}

/** Memories that the reader has paged back to stay. */
function maxMemories(chat: ChatState): number {
  return Math.max(MEMORIES_MAX, chat.memories.length);
}

function limitClosings(closings: Map<string, Closing>): Map<string, Closing> {
  return closings.size <= CLOSINGS_MAX ? closings : new Map([...closings].slice(-CLOSINGS_MAX));
}

/**
 * Merges the newest page, or an older one if `older`. `asked` has the ids known at the time of the request: those
 * that the page should contain but does not were deleted.
 */
export function withHistoryPage(before: ChatState, page: HistoryPage, older: boolean, asked?: ReadonlySet<string>): ChatState {
  const chat = asked ? { ...before, messages: withoutDeleted(before.messages, page, asked) } : before;
  const earlier = page.has_more ? cursor(page.next_cursor, "before", page.oldest_turn_id) : null;
  if (older || chat.earlierMessages === undefined) {
    return { ...chat, messages: withHistory(chat.messages, page.messages), earlierMessages: earlier };
  }
  const knownIds = new Set(chat.messages.map((m) => m.id));
  if (page.has_more && !page.messages.some((item) => knownIds.has(String(item.id)))) {
    // The page does not reach the messages in memory: start again from it.
    const open = chat.messages.filter((m) => m.delivery !== "kept");
    return { ...chat, messages: withHistory(open, page.messages), earlierMessages: earlier };
  }
  // The reader's position stays: the cursor does not move.
  return { ...chat, messages: withHistory(chat.messages, page.messages) };
}

function withoutDeleted(messages: Message[], page: HistoryPage, asked: ReadonlySet<string>): Message[] {
  const oldest = page.messages.at(-1)?.created_at;
  const pageStart = page.has_more ? (oldest ? Date.parse(oldest) : Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY;
  const pageIds = new Set(page.messages.map((item) => String(item.id)));
  return messages.filter((m) => m.id === null || !asked.has(m.id) || pageIds.has(m.id) || timeOf(m) <= pageStart);
}

/** Merges the newest page, or an older one if `older`. `asked` has the keys known at the time of the request. */
export function withTimelinePage(chat: ChatState, page: TimelinePage, older: boolean, asked?: ReadonlySet<string>): ChatState {
  const memories = older ? withOlderPage(chat.memories, page.items) : withNewestPage(chat.memories, page.items, asked);
  const closings = new Map(chat.closings);
  for (const memory of memories) {
    if (memory.kind === "session_close" && memory.counts) {
      closings.set(memory.key.slice("session:".length), { at: memory.about ?? memory.at, ...memory.counts });
    }
  }
  const reachedStart = page.next_cursor === null || page.items.length < page.limit;
  const earlier = reachedStart ? null : cursor(page.next_cursor, "since", page.oldest_timestamp);
  return { ...chat, memories, closings, earlierMemories: earlier };
}

/** The server's cursor, or the parameter of the legacy API. */
function cursor(next: string | null | undefined, name: "before" | "since", value: string | null): Cursor | null {
  if (next) return { name: "cursor", value: next };
  return value === null ? null : { name, value };
}

export function withPersona(chat: ChatState, persona: PersonaResponse): ChatState {
  return {
    ...chat,
    personaId: persona.id,
    personaName: persona.display_name,
    hasAvatar: persona.has_avatar ?? false,
    mood: persona.episodic_state ?? null,
  };
}

export function withState(chat: ChatState, state: StateResponse): ChatState {
  return {
    ...chat,
    personaId: state.persona.id,
    personaName: state.persona.display_name,
    offline: state.llm?.offline ? { notice: state.llm.notice } : null,
    blank: state.onboarding_required ?? false,
    idleSeconds: state.session_idle_seconds ?? null,
  };
}

function isForThisChat(chat: ChatState, { data }: ServerEvent): boolean {
  if (!("user_id" in data)) return true;
  return data.user_id === USER_ID && (chat.personaId === null || data.persona_id === chat.personaId);
}
