import type { Id } from "../wire";

export interface Setting {
  value: unknown;
  default: unknown;
  /** It takes effect without a restart. */
  live: boolean;
  /** Written, and waiting for a restart. */
  pending?: unknown;
}

export interface ConfigAnswer {
  settings: Record<string, Setting>;
  system?: Record<string, string | number | null>;
}

export interface ConfigChange {
  updated_fields: string[];
  reloaded?: string[];
  restart_required: string[] | boolean;
  overridden_by_environment?: string[];
}

export interface Token {
  name: string;
  prefix: string;
  scopes: string[];
  user_id: string | null;
  created_at: string;
  last_used_at: string | null;
}

export interface SessionRow {
  id: Id;
  channel_id: string;
  user_id: string;
  status: "open" | "closing" | "consolidating" | "closed" | "failed";
  message_count: number;
  total_tokens?: number;
  started_at: string;
  last_message_at?: string;
  closed_at?: string | null;
  trivial?: boolean;
  summary?: string | null;
  attempts?: number;
  last_error?: string | null;
}

export interface Status {
  version: string;
  url: string;
  started_at: string;
  uptime_seconds: number;
  sessions: { waiting: number; failed: number };
  llm?: { provider: string; model: string | null; offline: boolean; notice: string | null };
  embedding?: { provider: string | null; model: string | null; words_only: boolean };
  vectors?: { model: string; rows: number; with_vector: number; serving_meanwhile: string | null; failure: string | null } | null;
}

export interface CostSummary {
  range: string;
  total_usd: number;
  total_tokens: number;
  by_feature: Record<string, { calls: number; tokens_in: number; tokens_out: number; cost_usd: number }>;
  by_day: { date: string; usd: number; tokens: number; calls: number }[];
}

export interface Act {
  id: Id;
  at: string;
  token: string;
  act: string;
  object: string | null;
  status: number;
}
