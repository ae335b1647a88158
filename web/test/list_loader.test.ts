// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { ListLoader } from "../src/components/list_loader.svelte";

/** A list of the daemon whose answers wait until they are given. */
function daemon() {
  let first = 0;
  const waiting: (() => void)[] = [];
  const pages = new ListLoader<number>(async (cursor) => {
    const from = cursor === null ? first : Number(cursor);
    await new Promise<void>((answer) => waiting.push(answer));
    return { items: [from, from + 1], next: from + 2 < first + 10 ? String(from + 2) : null };
  });
  return {
    pages,
    /** The next list begins there. */
    begin: (at: number) => (first = at),
    answer: async (count = 1) => {
      for (let n = 0; n < count; n++) {
        waiting.shift()?.();
        await new Promise((done) => setTimeout(done));
      }
    },
    waiting,
  };
}

test("a reload keeps the number of pages", async () => {
  const { pages, answer, begin } = daemon();
  void pages.reload();
  await answer();
  void pages.loadMore();
  await answer();
  expect(pages.items).toEqual([0, 1, 2, 3]);
  begin(100);
  void pages.reload();
  await answer();
  expect(pages.items).toEqual([0, 1, 2, 3]);
  await answer();
  expect(pages.items).toEqual([100, 101, 102, 103]);
});

test("a reload and a request for more do not cancel each other", async () => {
  const { pages, answer, begin, waiting } = daemon();
  void pages.reload();
  await answer();
  void pages.loadMore();
  begin(100);
  void pages.reload();
  await answer(3);
  expect(pages.items).toEqual([100, 101, 102, 103]);
  begin(200);
  void pages.reload();
  void pages.loadMore();
  void pages.loadMore();
  while (waiting.length) await answer();
  expect(pages.items.slice(0, 6)).toEqual([200, 201, 202, 203, 204, 205]);
});

test("a repeated request is sent once; another filter starts at the first page", async () => {
  const { pages, answer, waiting } = daemon();
  void pages.reload("open");
  await answer();
  void pages.loadMore();
  void pages.loadMore();
  await answer();
  expect(waiting).toEqual([]);
  expect(pages.items).toEqual([0, 1, 2, 3]);
  void pages.reload("failed");
  await answer();
  expect(waiting).toEqual([]);
  expect(pages.items).toEqual([0, 1]);
});
