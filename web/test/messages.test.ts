import { describe, expect, test } from "vitest";
import {
  withAccepted,
  withFailure,
  withHistory,
  withKnownFailures,
  withReply,
  withResending,
  withSending,
  withToken,
  withTypingStarted,
  withUnsent,
  withUserAppended,
  type Message,
} from "../src/live/messages";
import type { EventData, HistoryItem } from "../src/wire";
import { historyItem } from "./fixtures";

const NOW = "2026-05-02T10:00:00Z";

// Also what only other servers send: ids that are no texts, fields that are missing.
const appended = (more: object = {}) =>
  ({ content: "hello", turn_id: "t1", received_at: "2026-05-02T10:00:01Z", ...more }) as EventData["chat.message.user_appended"];
const done = (more: object = {}) =>
  ({ message_id: "p1", content: "Hi there", in_reply_to_turn_id: "t1", turn_id: "t1", incomplete: false, ...more }) as EventData["chat.message.done"];
const item = (more: Partial<HistoryItem> = {}) => historyItem(more);
const brief = (messages: Message[]) => messages.map((m) => `${m.role}:${m.text}:${m.delivery}`);

describe("the user's messages", () => {
  test("are shown at once and become stored, in either order of response and event", () => {
    const sending = withSending([], "ref", "hello", NOW);
    expect(brief(sending)).toEqual(["user:hello:sending"]);
    const news = (m: Message[]) => withUserAppended(m, appended({ external_ref: "ref", message_id: "m1" }), NOW);
    const answer = (m: Message[]) => withAccepted(m, "ref", { ok: true, accepted: ["m1"], turn_id: "t1" });
    for (const kept of [answer(news(sending)), news(answer(sending))]) {
      expect(kept).toHaveLength(1);
      expect(kept[0]).toMatchObject({ id: "m1", turnId: "t1", delivery: "kept", key: "ref:ref" });
    }
  });

  test("are not duplicated when the history arrives before the response", () => {
    const sending = withSending([], "ref", "hello", NOW);
    const both = withHistory(sending, [item()]);
    const kept = withAccepted(both, "ref", { ok: true, accepted: ["m1"], turn_id: "t1" });
    expect(kept.map((m) => m.id)).toEqual(["m1"]);
  });

  test("with the same text in one turn stay two", () => {
    let messages = withSending(withSending([], "a", "hello", NOW), "b", "hello", NOW);
    messages = withUserAppended(messages, appended({ external_ref: "a" }), NOW);
    messages = withUserAppended(messages, appended({ external_ref: "b" }), NOW);
    expect(brief(messages)).toEqual(["user:hello:kept", "user:hello:kept"]);
  });

  test("that were not sent show why and can be sent again", () => {
    const unsent = withUnsent(withSending([], "ref", "hello", NOW), "ref", { reason: "too fast", retryable: true });
    expect(unsent[0]).toMatchObject({ delivery: "unsent", failure: { reason: "too fast" } });
    expect(withResending(unsent, "ref", NOW)[0]).toMatchObject({ delivery: "sending", failure: null });
  });

  test("that were announced are stored even if the request failed", () => {
    const announced = withUserAppended(withSending([], "ref", "hello", NOW), appended({ external_ref: "ref" }), NOW);
    expect(withUnsent(announced, "ref", { reason: "lost", retryable: true })[0]).toMatchObject({ delivery: "kept", failure: null });
  });

  test("from another channel appear once, also when announced twice", () => {
    const once = withUserAppended([], appended({ source_channel_id: "discord", message_id: "m9" }), NOW);
    expect(withUserAppended(once, appended({ source_channel_id: "discord", message_id: "m9" }), NOW)).toHaveLength(1);
    expect(once[0]).toMatchObject({ channelId: "discord", at: "2026-05-02T10:00:01Z" });
  });
});

describe("a reply", () => {
  test("grows by tokens and is replaced by its final text", () => {
    let messages = withTypingStarted([], "t1", NOW);
    expect(brief(messages)).toEqual(["persona::streaming"]);
    messages = withToken(withToken(messages, "t1", "Hi ", NOW), "t1", "ther", NOW);
    expect(brief(messages)).toEqual(["persona:Hi ther:streaming"]);
    messages = withReply(messages, done(), NOW);
    expect(brief(messages)).toEqual(["persona:Hi there:kept"]);
    expect(messages[0]).toMatchObject({ id: "p1", key: "reply:t1", incomplete: false });
  });

  test("that is complete takes no late tokens", () => {
    const messages = withReply([], done(), NOW);
    expect(brief(withToken(messages, "t1", "Hi", NOW))).toEqual(["persona:Hi there:kept"]);
  });

  test("that was cut off is marked", () => {
    expect(withReply([], done({ incomplete: true }), NOW)[0]?.incomplete).toBe(true);
  });

  test("without a turn is separate", () => {
    const messages = withReply(withReply([], done(), NOW), done({ message_id: "p2", in_reply_to_turn_id: null, turn_id: null }), NOW);
    expect(messages.map((m) => m.id)).toEqual(["p1", "p2"]);
  });

  test("is never older than the message before it, although clocks differ", () => {
    const ahead = withUserAppended([], appended({ received_at: "2026-05-02T10:05:00Z" }), NOW);
    expect(withReply(ahead, done(), NOW).at(-1)?.at).toBe("2026-05-02T10:05:00Z");
  });
});

describe("a turn that failed", () => {
  const failed = { turn_id: "t1", reason: "no answer", retryable: true, user_message_ids: ["m1"] };

  test("leaves no partial reply and marks its message", () => {
    const messages = withToken(withHistory([], [item()]), "t1", "Hi", NOW);
    const after = withFailure(messages, failed);
    expect(brief(after)).toEqual(["user:hello:kept"]);
    expect(after[0]?.failure).toEqual({ reason: "no answer", retryable: true });
  });

  test("is cleared when the reply arrives", () => {
    const messages = withReply(withFailure(withHistory([], [item()]), failed), done(), NOW);
    expect(messages[0]?.failure).toBeNull();
  });
});

describe("history", () => {
  test("comes newest first and is read oldest first", () => {
    const page = [
      item({ id: "p1", role: "persona", content: "Hi there", created_at: "2026-05-02T10:00:05Z" }),
      item(),
    ];
    expect(withHistory([], page).map((m) => m.id)).toEqual(["m1", "p1"]);
  });

  test("takes over a streaming reply and ends its streaming", () => {
    const streaming = withToken(withHistory([], [item()]), "t1", "Hi", NOW);
    const page = [item({ id: "p1", role: "persona", content: "Hi there", created_at: "2026-05-02T10:00:05Z" }), item()];
    const after = withHistory(streaming, page);
    expect(brief(after)).toEqual(["user:hello:kept", "persona:Hi there:kept"]);
    expect(after[1]?.key).toBe("reply:t1");
  });

  test("recognises a reply by its turn when the stream used another id", () => {
    const page = [item({ id: "m7", role: "persona", content: "Hi there" })];
    const stored = withHistory(withReply([], done({ message_id: "t1", stored_message_id: "m7" }), NOW), page);
    expect(stored.map((m) => m.id)).toEqual(["m7"]);
    const hashed = withHistory(withReply([], done({ message_id: 771204 }), NOW), page);
    expect(hashed.map((m) => m.id)).toEqual(["m7"]);
  });

  test("the same text twice in a turn is two messages", () => {
    const page = [item({ id: "m2" }), item({ id: "m1" })];
    expect(withHistory(withHistory([], page), page)).toHaveLength(2);
  });

  test("twice the same page changes nothing", () => {
    const once = withHistory([], [item(), item({ id: "m0", created_at: "2026-05-02T09:00:00Z" })]);
    expect(withHistory(once, [item()])).toEqual(once);
  });

  test("a greeting that was heard before the history comes stands once", () => {
    const heard = withReply([], done({ message_id: "g1", stored_message_id: "g1", turn_id: null, content: "Tea?" }), NOW);
    const greeting = item({ id: "g1", role: "persona", turn_id: null, content: "Tea?", created_at: "2026-05-01T08:00:00Z" });
    const imported = item({ id: "i1", turn_id: null, content: "before", created_at: "2026-03-01T09:00:00Z" });
    expect(withHistory(heard, [greeting, imported]).map((m) => m.id)).toEqual(["i1", "g1"]);
  });

  test("keeps pending messages at the end", () => {
    const sending = withSending([], "ref", "next", "2026-05-02T09:00:00Z");
    expect(withHistory(sending, [item()]).map((m) => m.text)).toEqual(["hello", "next"]);
  });
});

test("a listed failure is shown after a reload, unless a reply exists or is being written", () => {
  const failed = new Map([["t1", "no model"]]);
  const said = withHistory([], [item({ id: "a", content: "one" }), item({ id: "b", content: "two", created_at: "2026-05-02T10:00:02Z" })]);
  expect(withKnownFailures(said, failed).map((m) => m.failure?.reason ?? null)).toEqual([null, "no model"]);
  expect(withKnownFailures(withTypingStarted(said, "t1", NOW), failed).some((m) => m.failure)).toBe(false);
  expect(withKnownFailures(withHistory(said, [item({ id: "c", role: "persona" })]), failed).some((m) => m.failure)).toBe(false);
  expect(withKnownFailures(said, new Map([["t2", "no model"]])).some((m) => m.failure)).toBe(false);
});
