// A year of days with the emotional impact of their events.

import { localDay } from "../dates";
import type { MemoryNode } from "../memory/types";

/**
 * The strongest positive and negative impact. They are separate, because the mean of +8 and −8 would look like a
 * quiet day.
 */
export interface Impact {
  /** 0 to 10; 0 when nothing was positive. */
  high: number;
  /** −10 to 0; 0 when nothing was negative. */
  low: number;
}

export interface Day {
  /** `YYYY-MM-DD` in the reader's zone. */
  day: string;
  /** Null for a day without events. */
  impact: Impact | null;
  events: MemoryNode[];
}

export interface Week {
  start: string;
  /** Monday first; null beyond the year. */
  days: (Day | null)[];
  /** Null for a week without events. */
  impact: Impact | null;
}

const DAY_MS = 86_400_000;

const dayOf = (node: MemoryNode, timeZone?: string) => localDay(node.event_time?.start ?? node.said_at, timeZone);

/** The years with events, the newest first. */
export function yearsOf(nodes: readonly MemoryNode[], timeZone?: string): string[] {
  const years = nodes.filter((node) => node.node_type === "event").map((node) => dayOf(node, timeZone).slice(0, 4));
  return [...new Set(years)].sort().reverse();
}

/** The weeks of the year that ends with `today`, the oldest first. */
export function yearOf(nodes: readonly MemoryNode[], today: string, timeZone?: string): Week[] {
  const nodesByDay = new Map<string, MemoryNode[]>();
  for (const node of nodes) {
    if (node.node_type !== "event") continue;
    const day = dayOf(node, timeZone);
    nodesByDay.set(day, [...(nodesByDay.get(day) ?? []), node]);
  }
  const lastTime = Date.parse(`${today}T12:00:00Z`);
  const firstTime = lastTime - 364 * DAY_MS;
  const weekday = (new Date(firstTime).getUTCDay() + 6) % 7;
  const weeks: Week[] = [];
  for (let start = firstTime - weekday * DAY_MS; start <= lastTime; start += 7 * DAY_MS) {
    const days = Array.from({ length: 7 }, (_, index) => {
      const at = start + index * DAY_MS;
      if (at < firstTime || at > lastTime) return null;
      const day = new Date(at).toISOString().slice(0, 10);
      const events = nodesByDay.get(day) ?? [];
      return { day, events, impact: impactOf(events) };
    });
    const events = days.flatMap((day) => day?.events ?? []);
    weeks.push({ start: new Date(start).toISOString().slice(0, 10), days, impact: impactOf(events) });
  }
  return weeks;
}

function impactOf(events: readonly MemoryNode[]): Impact | null {
  if (events.length === 0) return null;
  const impacts = events.map((event) => event.emotional_impact);
  return { high: Math.max(0, ...impacts), low: Math.min(0, ...impacts) };
}
