import { expect, test } from "vitest";
import { mergeLines, diffLines } from "../src/memory/line_diff";

const own = (lines: { text: string; own: boolean }[]) => lines.filter((line) => line.own).map((line) => line.text);

test("lines of only one side are marked, also repeated ones", () => {
  const [left, right] = diffLines("# 我\n爱喝茶\n怕狗\n", "# 我\n爱喝咖啡\n怕狗\n怕狗\n");
  expect(own(left)).toEqual(["爱喝茶"]);
  expect(own(right)).toEqual(["爱喝咖啡", "怕狗"]);
  expect(diffLines("same\ntext", "same\ntext").flatMap(own)).toEqual([]);
});

test("a merge contains every line of both sides once and in order", () => {
  expect(mergeLines("a\nb\nc", "a\nx\nc\ny")).toBe("a\nb\nx\nc\ny");
  expect(mergeLines("", "only here")).toBe("only here");
  expect(mergeLines("only here", "only here")).toBe("only here");
});

test("texts too long to compare are shown without marks and complete", () => {
  const long = (word: string) => Array.from({ length: 2_500 }, (_, n) => `${word} ${n}`).join("\n");
  const [left, right] = diffLines(long("a"), long("b"));
  expect([...left, ...right].some((line) => line.own)).toBe(false);
  expect(mergeLines(long("a"), long("b"))).toContain("b 2499");
});
