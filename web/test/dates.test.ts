import { expect, test } from "vitest";
import { withHistory } from "../src/live/messages";
import { conversationRows } from "../src/chat/conversation_rows";
import { dateTimeLabel, dayLabel, localDay, timeLabel } from "../src/dates";
import type { HistoryItem } from "../src/wire";
import { historyItem } from "./fixtures";

const SHANGHAI = "Asia/Shanghai";
const WORDS = { today: "Today", yesterday: "Yesterday" };

const said = (id: string, created_at: string, session_id: string, source_channel_id = "web") =>
  historyItem({ id, turn_id: id, session_id, source_channel_id, content: id, created_at });
const shape = (items: HistoryItem[], closings = new Map()) =>
  conversationRows(withHistory([], items), closings, SHANGHAI).map((row) =>
    row.kind === "day" ? row.day : row.kind === "message" ? row.message.text : row.key,
  );

test("a day is the reader's day, not UTC's", () => {
  expect(localDay("2026-05-01T15:59:59Z", SHANGHAI)).toBe("2026-05-01");
  expect(localDay("2026-05-01T16:00:00Z", SHANGHAI)).toBe("2026-05-02");
  expect(shape([said("a", "2026-05-01T15:00:00Z", "s"), said("b", "2026-05-01T17:00:00Z", "s")])).toEqual([
    "2026-05-01",
    "a",
    "2026-05-02",
    "b",
  ]);
});

test("a divider is shown where a session ended", () => {
  const items = [said("a", "2026-05-01T01:00:00Z", "s1"), said("b", "2026-05-01T03:00:00Z", "s2")];
  expect(shape(items)).toEqual(["2026-05-01", "a", "divider:s1", "b"]);
  expect(shape(items, new Map([["s2", { at: "2026-05-01T03:30:00Z", events: 1, thoughts: 0 }]]))).toEqual(["2026-05-01", "a", "divider:s1", "b", "divider:s2"]);
});

test("a divider has the time at which the session ended, or that of its last message", () => {
  const items = [said("a", "2026-05-01T01:00:00Z", "s1"), said("b", "2026-05-01T03:00:00Z", "s2")];
  const closed = new Map([["s2", { at: "2026-05-01T03:30:00Z", events: 1, thoughts: 0 }]]);
  const dividers = conversationRows(withHistory([], items), closed, SHANGHAI).filter((row) => row.kind === "divider");
  expect(dividers.map((row) => row.at)).toEqual(["2026-05-01T01:00:00Z", "2026-05-01T03:30:00Z"]);
});

test("interleaved channels do not end a session", () => {
  const items = [
    said("a", "2026-05-01T01:00:00Z", "web1"),
    said("b", "2026-05-01T01:01:00Z", "discord1", "discord"),
    said("c", "2026-05-01T01:02:00Z", "web1"),
    said("d", "2026-05-01T01:03:00Z", "discord1", "discord"),
  ];
  expect(shape(items)).toEqual(["2026-05-01", "a", "b", "c", "d"]);
});

test("recent days are named, others are dated", () => {
  const label = (day: string, locale = "en-GB") => dayLabel(day, "2026-05-10", locale, WORDS);
  expect(label("2026-05-10")).toBe("Today");
  expect(label("2026-05-09")).toBe("Yesterday");
  expect(label("2026-05-05")).toBe("Tuesday 5 May");
  expect(label("2026-04-01")).toBe("1 April");
  expect(label("2025-12-31")).toBe("31 December 2025");
  expect(label("2026-05-05", "zh-CN")).toBe("5月5日星期二");
});

test("a time has the same clock format alone and after a date, by the reader's locale", () => {
  const at = new Date(2026, 4, 2, 20, 19).toISOString();
  for (const locale of ["en-US", "en-GB", "zh-CN", "de"]) {
    expect(dateTimeLabel(at, locale), locale).toContain(timeLabel(at, locale));
  }
  expect(timeLabel(at, "en-US")).toMatch(/^8:19\s?PM$/u);
  expect(timeLabel(at, "zh-CN")).toBe("20:19");
});
