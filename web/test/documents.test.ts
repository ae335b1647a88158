import { expect, test } from "vitest";
import { shortenDiff, diffText } from "../src/documents/text_diff";
import { DIARY, isDiary, withoutOriginMarks } from "../src/documents/diary";
import { mondayOf, periodLabel, slugOf } from "../src/documents/periods";

const plain = (text: string | null) => text?.replaceAll(/\s+/gu, " ");
const day = (date: Date) => date.toISOString().slice(0, 10);

test("a period has a title in the reader's language", () => {
  expect(plain(periodLabel("2025-W45.md", "en", "en-GB"))).toMatch(/^Week 45 of 2025 \(3 ?– ?9 Nov\)$/);
  expect(periodLabel("2025-W45.md", "zh", "zh-CN")).toMatch(/^2025年第45周（11月3日至11月9日）$/u);
  expect(periodLabel("2025-11.md", "en", "en-GB")).toBe("November 2025");
  expect(periodLabel("2025.md", "zh", "zh-CN")).toBe("2025年");
  expect(periodLabel("2025-11-04_home.md", "en", "en-GB")).toMatch(/^Tuesday,? 4 November 2025$/);
  expect(periodLabel("my_wants.md", "en", "en-GB")).toBeNull();
  expect(slugOf("2025-11-04_first-snow.md")).toBe("first-snow");
});

test("a week begins on the Monday of the ISO calendar, also at the edges of years", () => {
  expect(day(mondayOf(2026, 1))).toBe("2025-12-29");
  expect(day(mondayOf(2026, 53))).toBe("2026-12-28");
  expect(day(mondayOf(2021, 1))).toBe("2021-01-04");
  expect(day(mondayOf(2025, 45))).toBe("2025-11-03");
});

test("each granularity has its own address", () => {
  expect(new Set(DIARY.map(({ tab }) => tab)).size).toBe(5);
  expect(DIARY.map(({ kind }) => kind)).toEqual(["daily", "weekly", "monthly", "yearly", "significant"]);
});

const before = "Tea in the morning. A window to the sea.";
const changes = (one: string, other: string) => diffText(one, other).filter(({ change }) => change !== "same");

test("texts are compared by words, also in Chinese", () => {
  expect(changes(before, "Coffee in the morning. A window to the sea.")).toEqual([
    { text: "Tea", change: "removed" },
    { text: "Coffee", change: "added" },
  ]);
  expect(changes("我每天早上喝茶。", "我每天早上喝咖啡。")).toEqual([
    { text: "茶", change: "removed" },
    { text: "咖啡", change: "added" },
  ]);
  expect(changes(before, before)).toEqual([]);
});

test("a comparison contains both texts", () => {
  const after = "A window to the sea!\n\n- tea";
  const pieces = diffText(before, after);
  const without = (change: string) => pieces.filter((piece) => piece.change !== change).map(({ text }) => text).join("");
  expect(without("added")).toBe(before);
  expect(without("removed")).toBe(after);
});

test("a long text is compared in time, and its unchanged parts are shortened", () => {
  const lines = Array.from({ length: 20_000 }, (_, n) => `- line ${n}`);
  const long = lines.join("\n");
  const pieces = shortenDiff(diffText(long, long.replace("line 10000\n", "another line\n")));
  expect(pieces.filter(({ change }) => change !== "same").map(({ text }) => text)).toEqual(["- line 10000\n", "- another line\n"]);
  expect(pieces.map(({ text }) => text).join("").length).toBeLessThan(1_000);
});

test("a diary is read without the marks of where its entries come from", () => {
  const text = "- 在海边走了很久。 [chat:0192] [via:home]\n- [x] done, see [chat](a)\n";
  expect(withoutOriginMarks(text)).toBe("- 在海边走了很久。\n- [x] done, see [chat](a)\n");
  expect([isDiary("daily"), isDiary("custom")]).toEqual([true, false]);
});
