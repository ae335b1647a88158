import { describe, expect, test } from "vitest";
import { RowHeights } from "../src/chat/row_heights";

const keys = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `row ${n + from}`);

describe("the heights of rows", () => {
  test("are estimated until they are measured", () => {
    const heights = new RowHeights(50);
    heights.arrange(keys(4));
    expect(heights.total).toBe(200);
    expect(heights.measure(1, 120)).toBe(true);
    expect(heights.measure(1, 120)).toBe(false);
    expect([0, 1, 2, 3, 4].map((row) => heights.top(row))).toEqual([0, 50, 170, 220, 270]);
  });

  test("belong to the row when it moves", () => {
    const heights = new RowHeights(50);
    heights.arrange(keys(3, 100));
    heights.measure(0, 80);
    heights.arrange([...keys(2), ...keys(3, 100)]);
    expect(heights.indexOf("row 100")).toBe(2);
    expect(heights.top(3) - heights.top(2)).toBe(80);
    heights.arrange(keys(2));
    expect(heights.total).toBe(100);
  });

  test("give the row at an offset, also beyond both ends", () => {
    const heights = new RowHeights(10);
    heights.arrange(keys(5));
    heights.measure(2, 100);
    expect([-5, 0, 9, 10, 20, 119, 120, 9_999].map((offset) => heights.at(offset))).toEqual([0, 0, 0, 1, 2, 2, 3, 4]);
    heights.arrange([]);
    expect(heights.window(0, 500, 3)).toEqual({ from: 0, to: 0 });
  });

  test("of 50,000 rows only those near the window are shown, and measurements are bounded", () => {
    const heights = new RowHeights(80);
    heights.arrange(keys(50_000));
    const { from, to } = heights.window(2_000_000, 2_000_800, 8);
    expect(to - from).toBeLessThan(30);
    for (let row = from; row < to; row++) heights.measure(row, 33);
    expect(heights.total).toBe(50_000 * 80 - (to - from) * 47);
    heights.arrange(keys(10));
    expect(heights.total).toBe(800);
  });
});
