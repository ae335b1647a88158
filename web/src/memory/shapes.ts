// What the daemon says about memory.

import type { Candidate, Id } from "../wire";

export type NodeKind = "event" | "thought" | "intention" | "expectation";

export interface Evidence {
  message_id: Id;
  quote: string;
}

export interface MemoryNode {
  id: Id;
  node_type: NodeKind;
  description: string;
  /** −10 to 10. */
  emotional_impact: number;
  emotion_tags: string[];
  relational_tags: string[];
  source_session_id: Id | null;
  created_at: string | null;
  access_count: number;
  subject: string;
  filling_event_ids: Id[];
  source?: string | null;
  event_time?: { start: string; end: string | null } | null;
  mention_count?: number;
  superseded_by?: Id | null;
  pinned?: boolean;
  evidence?: Evidence[];
}

export interface NodePage {
  items: MemoryNode[];
  total?: number;
  next_cursor?: Id | null;
}

export interface SearchPage extends NodePage {
  matched_snippets: { node_id: Id; snippet: string }[];
}

export interface Entity {
  id: Id;
  canonical_name: string;
  kind: string;
  description: string | null;
  merge_status: string;
  merge_target_id: Id | null;
  created_at: string | null;
  updated_at: string | null;
  aliases: string[];
  linked_events_count?: number;
  last_mentioned_at?: string | null;
}

export interface EntityPage {
  entities: Entity[];
  next_cursor?: Id | null;
}

export interface Rejected {
  id: Id;
  session_id: Id;
  description: string;
  emotional_impact: number | null;
  evidence: { message_id: Id | null; quote: string }[];
  reason: string;
  created_at: string;
}

export interface NodeVersion {
  node_id: Id;
  text: string | null;
  change: string;
  by: string;
  at: string;
  replaced_at: string | null;
  superseded_by: Id | null;
  undone: boolean;
  evidence: Evidence[];
}

/** A memory named beside another. */
export interface TraceNode {
  id: Id;
  node_type?: NodeKind;
  description: string;
  created_at: string | null;
}

export interface DeletePreview {
  target_id: Id;
  dependent_thought_ids: Id[];
  dependent_thought_descriptions: string[];
  has_dependents: boolean;
  node_type?: NodeKind;
  description?: string;
  evidence?: Evidence[];
  rests_on?: TraceNode[];
  would_take?: Partial<Record<"orphan" | "cascade", Record<string, unknown>>>;
}

export interface ErasureReceipt {
  id: Id;
  dry_run?: boolean;
  created_at?: string;
  selected_by?: string[];
  erased: Record<string, Id[]>;
  counts: Record<string, unknown>;
  left?: { message_ids: Id[]; core_blocks: string[] };
  not_reached?: { what: string; name: string }[];
  overwritten_at?: string | null;
  confirm_until?: string | null;
}

export interface RecallAnswer {
  candidates: Candidate[];
  support?: number | null;
  nothing_found?: boolean;
  elapsed_ms?: Record<string, number>;
}
