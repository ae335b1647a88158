// @vitest-environment happy-dom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test } from "vitest";
import Bubble from "../src/chat/Bubble.svelte";
import { withUserAppended, type Message } from "../src/live/messages";
import type { EventData } from "../src/wire";

let end: () => void;

afterEach(() => {
  end();
  document.body.innerHTML = "";
});

function shown(message: Message): Element | null {
  const bubble = mount(Bubble, {
    target: document.body,
    props: { message, last: false, askWhy: () => undefined, remove: () => undefined },
  });
  end = () => void unmount(bubble);
  flushSync();
  return document.querySelector('[data-testid="channel"]');
}

function messageOn(channel: string): Message {
  const at = "2026-05-02T10:00:01Z";
  const data = { message_id: "m1", turn_id: "t1", content: "hello", source_channel_id: channel, received_at: at };
  const [message] = withUserAppended([], data as EventData["chat.message.user_appended"], at);
  if (message === undefined) throw new Error("the event makes no message");
  return message;
}

test.each([
  ["discord", "Discord"],
  ["telegram", "Telegram"],
  ["openai", "OpenAI API"],
  ["terminal", "Terminal"],
])("a message on %s shows its channel", (channel, name) => {
  const pill = shown(messageOn(channel));
  expect(pill?.textContent).toBe(name);
  expect(pill?.getAttribute("title")).toContain(name);
});

test("a message of this page shows no channel", () => {
  expect(shown(messageOn("web"))).toBeNull();
});
