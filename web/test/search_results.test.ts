// @vitest-environment happy-dom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test, vi } from "vitest";
import SearchResults from "../src/memory/SearchResults.svelte";
import { candidate, memoryNode } from "./fixtures";

let end: () => void;

const NOTHING = { items: [], matched_snippets: [], messages: [], messages_total: 0, next_messages_cursor: null, next_cursor: null };

afterEach(() => {
  end();
  document.body.innerHTML = "";
  vi.unstubAllGlobals();
});

/** What the page lists for a query that the search and the recall answer like this. */
async function listed(search: object, recall: object): Promise<string[]> {
  vi.stubGlobal("fetch", async (path: string) => new Response(JSON.stringify(path.includes("/search") ? { ...NOTHING, ...search } : recall)));
  const results = mount(SearchResults, { target: document.body, props: { query: "zzzqq", open: () => undefined } });
  end = () => void unmount(results);
  flushSync();
  await new Promise((done) => setTimeout(done, 20));
  flushSync();
  return [...document.querySelectorAll('[data-testid="found"] [data-memory]')].map((row) => row.getAttribute("data-memory") ?? "");
}

const near = { items: [memoryNode("near")], matched_snippets: [{ node_id: "near", snippet: "event near" }] };

test("a query that nothing fits finds nothing, however near the nearest memories are", async () => {
  const recall = { nothing_found: true, candidates: [candidate({ id: "far", used: true })] };
  expect(await listed(near, recall)).toEqual([]);
  expect(document.body.textContent).toContain("Nothing found.");
});

test("memories with the words themselves are found although recall would not use them", async () => {
  const exact = { items: [memoryNode("exact")], matched_snippets: [{ node_id: "exact", snippet: "the <b>zzzqq</b>" }] };
  expect(await listed(exact, { nothing_found: true, candidates: [] })).toEqual(["exact"]);
});

test("memories that recall left out are not listed", async () => {
  const recall = {
    nothing_found: false,
    candidates: [candidate({ id: "used", used: true }), candidate({ id: "left out", used: false, reason: "relevance 0.1 is below 0.4" })],
  };
  expect(await listed(near, recall)).toEqual(["near", "used"]);
});

test("messages that hold the words are listed once, with the words marked, and more on request", async () => {
  const message = (id: string, snippet: string) => ({
    type: "message",
    message_id: id,
    session_id: "s1",
    role: "user",
    created_at: "2026-05-02T10:00:01Z",
    score: 0.9,
    snippet,
  });
  const search = { messages: [message("m1", "a &lt;cat&gt; <b>zzzqq</b>")], messages_total: 2, next_messages_cursor: "c1" };
  const recall = { nothing_found: false, candidates: [candidate({ id: "m1", kind: "message", used: true })] };
  await listed(search, recall);
  const shown = () => [...document.querySelectorAll("[data-message]")].map((row) => row.getAttribute("data-message"));
  expect(shown()).toEqual(["m1"]);
  expect(document.querySelector("[data-message] mark")?.textContent).toBe("zzzqq");
  expect(document.querySelector("[data-message]")?.textContent).toContain("a <cat> ");
  expect(document.querySelector('[role="status"]')?.textContent).toBe("2 found");
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return new Response(JSON.stringify({ ...NOTHING, messages: [message("m2", "<b>zzzqq</b>")] }));
  });
  [...document.querySelectorAll("button")].find((button) => button.textContent === "More messages")?.click();
  await new Promise((done) => setTimeout(done, 20));
  flushSync();
  expect(shown()).toEqual(["m1", "m2"]);
  expect(asked[0]).toContain("type=messages");
  expect(asked[0]).toContain("cursor=c1");
});
