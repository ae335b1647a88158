import { describe, expect, test } from "vitest";
import { Extents } from "../src/chat/extents";

const keys = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `row ${n + from}`);

describe("the heights of rows", () => {
  test("are guessed until they are measured", () => {
    const extents = new Extents(50);
    extents.arrange(keys(4));
    expect(extents.total).toBe(200);
    expect(extents.measure(1, 120)).toBe(true);
    expect(extents.measure(1, 120)).toBe(false);
    expect([0, 1, 2, 3, 4].map((row) => extents.top(row))).toEqual([0, 50, 170, 220, 270]);
  });

  test("belong to the row, wherever it goes", () => {
    const extents = new Extents(50);
    extents.arrange(keys(3, 100));
    extents.measure(0, 80);
    extents.arrange([...keys(2), ...keys(3, 100)]);
    expect(extents.indexOf("row 100")).toBe(2);
    expect(extents.top(3) - extents.top(2)).toBe(80);
    extents.arrange(keys(2));
    expect(extents.total).toBe(100);
  });

  test("say which row covers an offset, also beyond both ends", () => {
    const extents = new Extents(10);
    extents.arrange(keys(5));
    extents.measure(2, 100);
    expect([-5, 0, 9, 10, 20, 119, 120, 9_999].map((offset) => extents.at(offset))).toEqual([0, 0, 0, 1, 2, 2, 3, 4]);
    extents.arrange([]);
    expect(extents.window(0, 500, 3)).toEqual({ from: 0, to: 0 });
  });

  test("of 50,000 rows only those near the window are shown, and what was measured is bounded", () => {
    const extents = new Extents(80);
    extents.arrange(keys(50_000));
    const { from, to } = extents.window(2_000_000, 2_000_800, 8);
    expect(to - from).toBeLessThan(30);
    for (let row = from; row < to; row++) extents.measure(row, 33);
    expect(extents.total).toBe(50_000 * 80 - (to - from) * 47);
    extents.arrange(keys(10));
    expect(extents.total).toBe(800);
  });
});
