import { expect, test } from "vitest";
import { nameMatcher, graphOf, layout } from "../src/insights/graph";
import { moodPoints, type MoodShift } from "../src/insights/mood_year";
import { yearOf, yearsOf } from "../src/insights/year";
import { parseSetting, formatSetting } from "../src/settings/setting_value";
import { entity, memoryNode as node } from "./fixtures";

test("names are linked to memories that mention them, thoughts to their events", () => {
  const { dots, lines } = graphOf({
    nodes: [
      node("e1", { description: "小黑跳到脸上" }),
      node("e2", { description: "Annabel came" }),
      node("t1", { node_type: "thought", filling_event_ids: ["e1", "gone"] }),
    ],
    entities: [entity("a", "小黑"), entity("b", "Anna", ["Annie"])],
    cut: false,
  });
  expect(dots.map((dot) => dot.id)).toEqual(["entity:a", "entity:b", "node:e1", "node:e2", "node:t1"]);
  expect(lines).toEqual([
    { source: "entity:a", target: "node:e1" },
    { source: "node:t1", target: "node:e1" },
  ]);
});

test("a Latin name must be a whole word, a Chinese one may be anywhere", () => {
  expect(nameMatcher(entity("b", "Anna", ["Annie"]))("then annie laughed")).toBe(true);
  expect(nameMatcher(entity("b", "Anna"))("annabel laughed")).toBe(false);
  expect(nameMatcher(entity("a", "猫"))("我的小猫咪")).toBe(true);
  expect(nameMatcher(entity("c", "C++ (club)"))("the c++ (club) met")).toBe(true);
});

test("2,000 dots are laid out", () => {
  const nodes = Array.from({ length: 2_000 }, (_, n) => node(`n${n}`, { filling_event_ids: n ? [`n${n - 1}`] : [] }));
  const graph = graphOf({ nodes, entities: [], cut: false });
  layout(graph).tick(3);
  expect(graph.lines).toHaveLength(1_999);
  expect(graph.dots.every((dot) => Number.isFinite(dot.x) && Number.isFinite(dot.y))).toBe(true);
});

test("the year ends today and keeps the strongest impact of each side", () => {
  const weeks = yearOf(
    [
      node("a", { emotional_impact: 8 }),
      node("b", { emotional_impact: -2 }),
      node("long ago", { emotional_impact: 5, said_at: "2020-01-01T00:00:00Z" }),
      node("no event", { node_type: "thought", emotional_impact: -9 }),
    ],
    "2026-05-03",
    "UTC",
  );
  const days = weeks.flatMap((week) => week.days).filter((day) => day !== null);
  expect(days).toHaveLength(365);
  expect([days[0]?.day, days.at(-1)?.day]).toEqual(["2025-05-04", "2026-05-03"]);
  expect(weeks[0]?.days[0]).toBeNull();
  expect(days.filter((day) => day.impact !== null).map((day) => [day.day, day.impact])).toEqual([["2026-05-02", { high: 8, low: -2 }]]);
  expect(weeks.at(-1)?.impact).toEqual({ high: 8, low: -2 });
});

test("any year in which something happened can be shown", () => {
  const nodes = [
    node("now"),
    node("imported", { said_at: "2024-03-01T13:03:05Z", emotional_impact: 4 }),
    node("told later", { event_time: { start: "2020-06-12T00:00:00Z", end: null } }),
    node("no event", { node_type: "thought", said_at: "2019-01-01T00:00:00Z" }),
  ];
  expect(yearsOf(nodes, "UTC")).toEqual(["2026", "2024", "2020"]);
  const days = yearOf(nodes, "2024-12-31", "UTC").flatMap((week) => week.days);
  expect(days.find((day) => day?.day === "2024-03-01")?.impact).toEqual({ high: 4, low: 0 });
});

test("a setting keeps its type between value and text", () => {
  expect(formatSetting(["monday", "tuesday"])).toBe("monday, tuesday");
  expect(parseSetting("a，b、c, ", [])).toEqual(["a", "b", "c"]);
  expect(parseSetting("0.5", 1)).toBe(0.5);
  expect(parseSetting("many", 1)).toBe("many");
  expect(parseSetting(" 30m ", "")).toBe("30m");
});

test("opposite impacts do not cancel out, and an impact of 0 is neutral", () => {
  const impactOn = (...impacts: number[]) => {
    const nodes = impacts.map((emotional_impact, n) => node(`n${n}`, { emotional_impact }));
    return yearOf(nodes, "2026-05-02", "UTC").at(-1)?.impact;
  };
  expect(impactOn(8, -8)).toEqual({ high: 8, low: -8 });
  expect(impactOn(0)).toEqual({ high: 0, low: 0 });
  expect(impactOn()).toBeNull();
});

test("the mood of the year is drawn oldest first, by time and energy", () => {
  const shift = (at: string, energy: number): MoodShift => ({
    at,
    mood: "calm",
    energy,
    last_user_signal: null,
    neutral: true,
    session_id: null,
  });
  const now = Date.parse("2026-05-02T10:00:00Z");
  const points = moodPoints([shift("2026-05-02T10:00:00Z", 10), shift("2025-05-03T10:00:00Z", 2), shift("2024-01-01T00:00:00Z", 5)], now);
  expect(points.map(({ time, height }) => [Number(time.toFixed(3)), height])).toEqual([
    [0.003, 0.2],
    [1, 1],
  ]);
});
