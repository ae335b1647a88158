// The persona's mood over a year: one point for each shift, by day and energy.

import { get } from "../api";
import type { ResponseBody } from "../api_types";
import type { Id } from "../wire";

export type MoodShift = ResponseBody<"/api/admin/memory/mood/history">["items"][number];

/** Maximum shifts to load. */
export const SHIFTS_MAX = 1_000;
const PAGE_SIZE = 100;
const DAY_MS = 86_400_000;
/** Days from the first to the last. */
export const DAYS = 365;

export interface MoodPoint {
  shift: MoodShift;
  /** 0 at the beginning of the year, 1 now. */
  time: number;
  /** Energy from 0 (exhausted) to 1 (very energetic). */
  height: number;
}

/** The shifts of the year before now, newest first. */
export async function loadMoodShifts(): Promise<MoodShift[]> {
  let shifts: MoodShift[] = [];
  let cursor: Id | null = null;
  do {
    const page: ResponseBody<"/api/admin/memory/mood/history"> = await get("/api/admin/memory/mood/history", {
      days: DAYS,
      limit: PAGE_SIZE,
      cursor,
    });
    shifts = [...shifts, ...page.items];
    cursor = page.next_cursor;
  } while (cursor !== null && shifts.length < SHIFTS_MAX);
  return shifts.slice(0, SHIFTS_MAX);
}

/** Oldest first; shifts outside the year that ends now are left out. */
export function moodPoints(shifts: readonly MoodShift[], now: number): MoodPoint[] {
  const firstTime = now - DAYS * DAY_MS;
  return shifts
    .map((shift) => ({ shift, time: (Date.parse(shift.at) - firstTime) / (DAYS * DAY_MS), height: shift.energy / 10 }))
    .filter(({ time }) => time >= 0 && time <= 1)
    .sort((a, b) => a.time - b.time);
}
