import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TypingReporter } from "../src/chat/typing";

const reported: boolean[] = [];
const typing = () => new TypingReporter((isTyping) => reported.push(isTyping));

beforeEach(() => {
  reported.length = 0;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

test("a message that nothing follows is answered after a short pause", () => {
  typing().sent();
  vi.advanceTimersByTime(700);
  expect(reported).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(reported).toEqual([false]);
});

test("what is written on is reported once a second, and the pause begins with the next message", () => {
  const reporter = typing();
  reporter.sent();
  for (let keys = 0; keys < 24; keys++) {
    vi.advanceTimersByTime(100);
    reporter.typed("and", true);
  }
  expect(reported).toEqual([true, true, true]);
  vi.advanceTimersByTime(5_000);
  expect(reported).toEqual([true, true, true]);
  reporter.sent();
  vi.advanceTimersByTime(900);
  expect(reported).toEqual([true, true, true, false]);
});

test("a draft that is deleted ends the wait, and without a message that waits nothing is reported", () => {
  const reporter = typing();
  reporter.typed("hello", false);
  vi.advanceTimersByTime(5_000);
  expect(reported).toEqual([]);
  reporter.sent();
  reporter.typed("wait", true);
  reporter.typed(" ", true);
  vi.advanceTimersByTime(900);
  expect(reported).toEqual([true, false]);
});
