// Answers of the daemon with every field, of which a test names those it is about.

import type { Entity, MemoryNode } from "../src/memory/types";
import type { Candidate, HistoryItem, HistoryPage, PersonaResponse, StateResponse, TimelineItem, TimelinePage } from "../src/wire";

const AT = "2026-05-02T10:00:01Z";

export const historyItem = (more: Partial<HistoryItem> = {}): HistoryItem => ({
  id: "m1",
  turn_id: "t1",
  session_id: "s1",
  source_channel_id: "web",
  role: "user",
  content: "hello",
  created_at: AT,
  incomplete: false,
  persona_id: "default",
  user_id: "self",
  ...more,
});

export const historyPage = (messages: HistoryItem[], more: Partial<HistoryPage> = {}): HistoryPage => ({
  messages,
  has_more: false,
  oldest_turn_id: null,
  next_cursor: null,
  ...more,
});

/** Of a daemon that pages by time. */
export const timelinePage = (items: TimelineItem[]): TimelinePage => ({
  items,
  oldest_timestamp: items.at(-1)?.timestamp ?? null,
  limit: 50,
  next_cursor: null,
});

export const memoryNode = (id: string, more: Partial<MemoryNode> = {}): MemoryNode => ({
  id,
  node_type: "event",
  description: `event ${id}`,
  emotional_impact: 0,
  emotion_tags: [],
  relational_tags: [],
  source_session_id: null,
  source_turn_id: null,
  source_deleted: false,
  source: null,
  created_at: AT,
  said_at: AT,
  access_count: 0,
  mention_count: 1,
  subject: "user",
  filling_event_ids: [],
  event_time: null,
  evidence: [],
  imported_from: null,
  pinned: false,
  superseded_by: null,
  ...more,
});

export const entity = (id: string, name: string, aliases: string[] = []): Entity => ({
  id,
  canonical_name: name,
  kind: "person",
  description: null,
  merge_status: "confirmed",
  merge_target_id: null,
  created_at: AT,
  updated_at: AT,
  aliases,
  last_mentioned_at: null,
  no_longer_current: null,
  linked_events_count: 0,
  owner_override: false,
});

export const candidate = (more: Partial<Candidate> = {}): Candidate => ({
  id: "n",
  kind: "node",
  type: "event",
  text: "",
  created_at: AT,
  total: 3,
  recency: null,
  relevance: null,
  vector_relevance: null,
  word_relevance: null,
  readable: null,
  impact: null,
  emotional_impact: null,
  relational_bonus: null,
  entity_anchor: null,
  used: true,
  reason: "",
  ...more,
});

export const persona = (id: string, display_name: string): PersonaResponse => ({
  id,
  display_name,
  core_blocks: { persona: "", user: "", style: "" },
  no_longer_current: { persona: [], user: [], style: [] },
  episodic_state: { mood: "neutral", energy: 5, last_user_signal: null, updated_at: AT },
  facts: {
    birth_date: null,
    education_level: null,
    ethnicity: null,
    full_name: null,
    gender: null,
    health_status: null,
    life_stage: null,
    locale_region: null,
    location: null,
    nationality: null,
    native_language: null,
    occupation: null,
    occupation_field: null,
    relationship_status: null,
    timezone: null,
  },
  has_avatar: false,
  voice_enabled: false,
  voice_id: null,
});

export const state = (llm: Partial<StateResponse["llm"]>): StateResponse => ({
  persona: { id: "default", display_name: "Echo", has_avatar: false, has_voice_id: false, voice_enabled: false },
  llm: { provider: "openai", model: "m", offline: false, notice: null, ...llm },
  embedding: { provider: "local", model: "m", words_only: false },
  channels: [],
  memory_counts: { core_blocks: 0, events: 0, messages: 0, thoughts: 0 },
  onboarding_required: false,
  session_idle_seconds: 1_800,
});
