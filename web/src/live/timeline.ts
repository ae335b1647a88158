// The memory timeline, newest first. Pure functions, like messages.ts.

import type { ServerEvent, TimelineItem } from "../wire";

export type MemoryKind = "event" | "thought" | "entity" | "session_close" | "mood";

export interface Memory {
  key: string;
  kind: MemoryKind;
  /** RFC 3339, UTC. */
  at: string;
  /** The description, name or mood. */
  text: string;
  /** `intention`, `expectation`, … for nodes; `pet`, `person`, … for entities. */
  type: string | null;
  /** Signed, -10 to 10. */
  impact: number | null;
  energy: number | null;
  note: string | null;
  counts: { events: number; thoughts: number } | null;
  /** Time of the event or of its evidence; null if it equals `at`. For an import it is years earlier. */
  about: string | null;
  /** True if it was added while the page was open. */
  fresh: boolean;
}

/** Prefix of the channels of imported conversations. */
export const IMPORT_CHANNEL_PREFIX = "import-";

type Memories = readonly Memory[];

/**
 * Merges the newest page, which replaces everything as new as its oldest item, except memories added since the
 * request. `asked` has the keys known at the time of the request; by default, nothing was added since.
 */
export function withNewestPage(
  memories: Memories,
  items: readonly TimelineItem[],
  asked: ReadonlySet<string> = new Set(memories.map((m) => m.key)),
): Memory[] {
  const page = items.map(fromItem).filter((m) => m !== null);
  const oldest = page.at(-1);
  const isOlder = (m: Memory) => oldest !== undefined && Date.parse(m.at) < Date.parse(oldest.at);
  const older = memories.filter((m) => isOlder(m) || !asked.has(m.key));
  const fresh = new Set(memories.filter((m) => m.fresh).map((m) => m.key));
  return sortedUnique([...page.map((m) => ({ ...m, fresh: fresh.has(m.key) })), ...older]);
}

export function withOlderPage(memories: Memories, items: readonly TimelineItem[]): Memory[] {
  return sortedUnique([...memories, ...items.map(fromItem).filter((m) => m !== null)]);
}

/** Adds a new memory; a known one moves to the top. */
export function withNewMemory(memories: Memories, memory: Memory): Memory[] {
  const previous = memories.find((m) => m.key === memory.key);
  const merged = previous?.note && !memory.note ? { ...memory, note: previous.note } : memory;
  const otherMemories = previous ? memories.filter((m) => m !== previous) : memories;
  const [newest] = otherMemories;
  const list = [{ ...merged, fresh: true }, ...otherMemories];
  // A new memory is nearly always the newest; then the list is already sorted.
  return !newest || Date.parse(merged.at) >= Date.parse(newest.at) ? list : sortedUnique(list);
}

/** Applies a correction, or its undo. */
export function withCorrection(memories: Memories, nodeId: string, text: string): Memory[] {
  return memories.map((m) => (m.key === `node:${nodeId}` ? { ...m, text } : m));
}

/** The memory that a server event announces; null for other events. */
export function memoryFromEvent(event: ServerEvent, now: string): Memory | null {
  switch (event.name) {
    case "memory.event.created": {
      const { event_id, description, emotional_impact, said_at, created_at, type } = event.data;
      return memory("event", `node:${event_id}`, created_at ?? now, description, {
        type: type ?? null,
        impact: emotional_impact,
        about: said_at ?? null,
      });
    }
    case "memory.thought.created": {
      const { thought_id, description, emotional_impact, created_at, type } = event.data;
      return memory("thought", `node:${thought_id}`, created_at ?? now, description, {
        type: type ?? null,
        impact: emotional_impact ?? null,
      });
    }
    case "memory.entity.confirmed": {
      const { entity_id, canonical_name, kind, created_at } = event.data;
      return memory("entity", `entity:${entity_id}`, created_at ?? now, canonical_name, { type: kind });
    }
    case "memory.entity.description_updated": {
      const { entity_id, canonical_name, kind, description, updated_at } = event.data;
      return memory("entity", `entity:${entity_id}`, updated_at ?? now, canonical_name, {
        type: kind,
        note: description,
      });
    }
    case "chat.mood.update": {
      const { mood, mood_summary, energy, updated_at } = event.data;
      return memory("mood", `mood:${updated_at ?? now}`, updated_at ?? now, mood ?? mood_summary, { energy: energy ?? null });
    }
    case "chat.session.boundary": {
      const { closed_session_id, at, events_count, thoughts_count } = event.data;
      // Published twice: when the session ends, and after consolidation.
      if (closed_session_id === null || events_count == null) return null;
      return memory("session_close", `session:${closed_session_id}`, at ?? now, "", {
        counts: { events: events_count, thoughts: thoughts_count ?? 0 },
      });
    }
    default:
      return null;
  }
}

/** Null for unknown kinds. */
function fromItem({ kind, timestamp, data }: TimelineItem): Memory | null {
  const text = (name: string) => (typeof data[name] === "string" ? (data[name] as string) : "");
  const number = (name: string) => (typeof data[name] === "number" ? (data[name] as number) : null);
  switch (kind) {
    case "event":
    case "thought":
      return memory(kind, `node:${data.node_id}`, timestamp, text("description"), {
        type: text("type") || null,
        impact: number("emotional_impact"),
        about: startOf(data.event_time) ?? (text("said_at") || null),
      });
    case "entity":
    case "entity_description":
      return memory("entity", `entity:${data.entity_id}`, timestamp, text("canonical_name"), {
        type: text("kind") || null,
        note: text("description") || null,
      });
    case "mood":
      return memory("mood", `mood:${timestamp}`, timestamp, text("mood"), { energy: number("energy") });
    case "session_close":
      return memory("session_close", `session:${data.session_id}`, timestamp, "", {
        counts: { events: number("events_count") ?? 0, thoughts: number("thoughts_count") ?? 0 },
        about: text("channel_id").startsWith(IMPORT_CHANNEL_PREFIX) ? text("ended_at") || null : null,
      });
    default:
      return null;
  }
}

const startOf = (time: unknown) => (time as { start?: string } | null | undefined)?.start ?? null;

function sortedUnique(memories: Memory[]): Memory[] {
  const seen = new Set<string>();
  const withoutDuplicates = memories.filter((m) => !seen.has(m.key) && seen.add(m.key));
  return withoutDuplicates.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

function memory(kind: MemoryKind, key: string, at: string, text: string, more: Partial<Memory>): Memory {
  return { key, kind, at, text, type: null, impact: null, energy: null, note: null, counts: null, about: null, fresh: false, ...more };
}
