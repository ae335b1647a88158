// The fields of a memory in lists; its detail view loads the rest.

import type { Memory } from "../live/timeline";
import type { Id } from "../wire";
import type { MemoryNode } from "./types";

export interface MemorySummary {
  id: Id;
  type: string;
  text: string;
  at: string | null;
  impact: number | null;
  pinned: boolean | null;
}

export function summaryOfNode(node: MemoryNode): MemorySummary {
  return {
    id: node.id,
    type: node.node_type,
    text: node.description,
    at: node.event_time?.start ?? node.said_at,
    impact: node.emotional_impact,
    pinned: node.pinned ?? null,
  };
}

/** Null when it is not a node. */
export function summaryOfMemory(memory: Memory): MemorySummary | null {
  if (!memory.key.startsWith("node:")) return null;
  const { type, kind, text, impact } = memory;
  return { id: memory.key.slice("node:".length), type: type ?? kind, text, at: memory.about ?? memory.at, impact, pinned: null };
}
