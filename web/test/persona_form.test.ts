// @vitest-environment happy-dom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import PersonaForm from "../src/settings/PersonaForm.svelte";
import FailedTurnList from "../src/settings/FailedTurnList.svelte";
import { live } from "../src/live/live.svelte";
import { persona } from "./fixtures";

let asked: string[];
let end: () => void;
const settled = () => new Promise((done) => setTimeout(done, 20));

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return new Response(JSON.stringify({ ...persona("default", "Echo"), items: [], facts: {} }));
  });
  live.chat = { ...live.chat, personaId: "default", personaName: "Echo" };
});

afterEach(() => {
  end();
  document.body.innerHTML = "";
  vi.unstubAllGlobals();
});

const news = async () => {
  for (let n = 0; n < 5; n++) {
    live.chat = { ...live.chat, messages: [...live.chat.messages] };
    flushSync();
    await settled();
  }
};

test("typed text in the persona's form survives updates", async () => {
  const form = mount(PersonaForm, { target: document.body });
  end = () => void unmount(form);
  flushSync();
  await settled();
  const block = document.querySelector("textarea")!;
  block.value = "a window to the sea";
  block.dispatchEvent(new Event("input", { bubbles: true }));
  await news();
  expect(block.value).toBe("a window to the sea");
  expect(asked.filter((path) => path.startsWith("/api/admin/persona"))).toHaveLength(1);
});

test("tokens of a reply do not reload the failed turns", async () => {
  const list = mount(FailedTurnList, { target: document.body });
  end = () => void unmount(list);
  flushSync();
  await settled();
  await news();
  expect(asked.filter((path) => path.startsWith("/api/admin/work/failed"))).toHaveLength(1);
});
