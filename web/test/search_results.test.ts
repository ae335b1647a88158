// @vitest-environment happy-dom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test, vi } from "vitest";
import SearchResults from "../src/memory/SearchResults.svelte";
import { candidate, memoryNode } from "./fixtures";

let end: () => void;

afterEach(() => {
  end();
  document.body.innerHTML = "";
  vi.unstubAllGlobals();
});

/** What the page lists for a query that the search and the recall answer like this. */
async function listed(search: object, recall: object): Promise<string[]> {
  vi.stubGlobal("fetch", async (path: string) => new Response(JSON.stringify(path.includes("/search") ? search : recall)));
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
