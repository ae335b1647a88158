// @vitest-environment happy-dom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import DiaryList from "../src/documents/DiaryList.svelte";
import DocumentDetail from "../src/documents/DocumentDetail.svelte";
import { DIARY } from "../src/documents/diary";
import { live } from "../src/live/live.svelte";

/** What was asked of the daemon and has no answer yet, the oldest first. */
let waiting: { path: string; give: (answer: object) => void }[];
let end: () => void;

const settled = async () => {
  await new Promise((done) => setTimeout(done, 5));
  flushSync();
};

beforeEach(() => {
  waiting = [];
  vi.stubGlobal("fetch", (path: string) =>
    new Promise((done) => waiting.push({ path, give: (answer) => done(new Response(JSON.stringify(answer))) })),
  );
});

afterEach(() => {
  end();
  document.body.innerHTML = "";
  vi.unstubAllGlobals();
});

const text = (content: string, version: number) => ({
  kind: "custom",
  filename: "garden.md",
  prompt_label: null,
  version,
  version_vector: {},
  no_longer_current: [],
  source_instance: "home",
  edited_by: null,
  created_at: "2026-05-02T10:00:00Z",
  updated_at: "2026-05-02T10:00:00Z",
  stale: false,
  in_conflict: false,
  core_block: null,
  content,
});

test("a response to an older request does not change a document", async () => {
  const name = { kind: "custom", filename: "garden.md" };
  const props = { name, title: "garden", changed: () => undefined, onclose: () => undefined };
  const detail = mount(DocumentDetail, { target: document.body, props });
  end = () => void unmount(detail);
  flushSync();
  live.memoryVersion += 1;
  flushSync();
  const [first, second] = waiting;
  second!.give(text("Beans.", 2));
  await settled();
  first!.give(text("Tomatoes.", 1));
  await settled();
  expect(document.querySelector("dialog .text")?.textContent).toContain("Beans.");
});

test("a response to an older request does not change the pending periods", async () => {
  const tier = DIARY.find(({ kind }) => kind === "weekly")!;
  const diary = mount(DiaryList, { target: document.body, props: { tier } });
  end = () => void unmount(diary);
  flushSync();
  live.memoryVersion += 1;
  flushSync();
  const answer = async (path: string, given: object[]) => {
    const asked = waiting.filter((request) => request.path.startsWith(path));
    // The later one is answered first.
    for (const [index, request] of [...asked.entries()].reverse()) {
      request.give(given[index]!);
      await settled();
    }
  };
  const none = { documents: [], next_cursor: null };
  await answer("/api/hub/documents", [none, none]);
  const week = { kind: "weekly", filename: "2025-W45.md", due: true, stale: false };
  await answer("/api/hub/rollups", [{ periods: [week] }, { periods: [] }]);
  expect(document.querySelectorAll('[data-testid="diary"] li')).toHaveLength(0);
});
