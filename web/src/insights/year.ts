// A year of days, and what weighed on them.

import { localDay } from "../dates";
import type { MemoryNode } from "../memory/types";

export interface Day {
  /** `YYYY-MM-DD` in the reader's zone. */
  day: string;
  /** Signed mean of what happened on it; null for a day of which nothing is remembered. */
  impact: number | null;
  events: MemoryNode[];
}

export interface Week {
  start: string;
  /** Monday first; null beyond the year. */
  days: (Day | null)[];
  /** Signed mean over the week. */
  impact: number | null;
}

const DAY_MS = 86_400_000;

/** The weeks of the year that ends with `today`, the oldest first. */
export function yearOf(nodes: readonly MemoryNode[], today: string, timeZone?: string): Week[] {
  const byDay = new Map<string, MemoryNode[]>();
  for (const node of nodes) {
    if (node.created_at === null || node.node_type !== "event") continue;
    const day = localDay(node.event_time?.start ?? node.created_at, timeZone);
    byDay.set(day, [...(byDay.get(day) ?? []), node]);
  }
  const last = Date.parse(`${today}T12:00:00Z`);
  const first = last - 364 * DAY_MS;
  const weekday = (new Date(first).getUTCDay() + 6) % 7;
  const weeks: Week[] = [];
  for (let start = first - weekday * DAY_MS; start <= last; start += 7 * DAY_MS) {
    const days = Array.from({ length: 7 }, (_, index) => {
      const at = start + index * DAY_MS;
      if (at < first || at > last) return null;
      const day = new Date(at).toISOString().slice(0, 10);
      const events = byDay.get(day) ?? [];
      return { day, events, impact: mean(events.map((event) => event.emotional_impact)) };
    });
    const impacts = days.flatMap((day) => day?.events.map((event) => event.emotional_impact) ?? []);
    weeks.push({ start: new Date(start).toISOString().slice(0, 10), days, impact: mean(impacts) });
  }
  return weeks;
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
