// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { withSending, withUnsent } from "../src/live/messages";
import { storeUnsent, withStoredUnsent } from "../src/live/unsent";
import { historyItem } from "./fixtures";

const AT = "2026-05-02T10:00:00Z";
const failure = { reason: "offline", retryable: true };
const unsent = () => withUnsent(withSending([], "ref", "are you there?", AT), "ref", failure);

beforeEach(() => localStorage.clear());

test("an unsent message survives a reload and can be sent again", () => {
  storeUnsent(null, unsent());
  expect(withStoredUnsent([], [], null)).toMatchObject([
    { externalRef: "ref", text: "are you there?", at: AT, delivery: "unsent", failure: { retryable: true } },
  ]);
});

test("each persona has its own unsent messages", () => {
  storeUnsent("mira", unsent());
  expect(withStoredUnsent([], [], null)).toEqual([]);
  expect(withStoredUnsent([], [], "mira")).toHaveLength(1);
});

test("a message that arrived after all is not shown twice", () => {
  storeUnsent(null, withSending([], "ref", "are you there?", AT));
  const arrived = historyItem({ content: "are you there?", created_at: "2026-05-02T10:00:02Z" });
  expect(withStoredUnsent([], [arrived], null)).toEqual([]);
  const earlier = historyItem({ content: "are you there?", created_at: "2026-05-01T10:00:00Z" });
  expect(withStoredUnsent([], [earlier], null)).toHaveLength(1);
});

test("a sent message is removed from storage, and damaged storage is ignored", () => {
  storeUnsent(null, unsent());
  storeUnsent(null, []);
  expect(localStorage.length).toBe(0);
  localStorage.setItem("echovessel.unsent.", "[{]");
  expect(withStoredUnsent([], [], null)).toEqual([]);
});
