// Loads a list page by page.

import { untrack } from "svelte";
import { isNotAvailable } from "../api";
import { errorMessage } from "../errors";
import type { Id } from "../wire";

export type Loading = "loading" | "ready" | "missing" | "error";

interface Page<Item> {
  items: Item[];
  next: Id | null | undefined;
}

export class ListLoader<Item> {
  items: Item[] = $state.raw([]);
  state: Loading = $state("loading");
  errorText = $state("");
  more = $state(false);
  #next: Id | null = null;
  /** Number of pages the reader has loaded. */
  #wanted = 1;
  #filter: unknown;
  #asked = 0;
  #underway: "reload" | "more" | null = null;
  #fetch: (cursor: Id | null) => Promise<Page<Item>>;

  constructor(fetch: (cursor: Id | null) => Promise<Page<Item>>) {
    this.#fetch = fetch;
  }

  /** Keeps the shown items until the same number of pages is loaded again; a changed `filter` starts at the first page. */
  async reload(filter: unknown = this.#filter): Promise<void> {
    if (filter !== this.#filter) this.#wanted = 1;
    this.#filter = filter;
    await this.#load("reload", [], null, this.#wanted);
  }

  async loadMore(): Promise<void> {
    if (this.#next === null || this.#underway === "more") return;
    this.#wanted += 1;
    if (this.#underway === "reload") await this.reload();
    else await this.#load("more", this.items, this.#next, 1);
  }

  /** Replaces the shown items before the next load. */
  replace(items: Item[]): void {
    this.items = items;
  }

  async #load(underway: "reload" | "more", before: Item[], from: Id | null, pages: number): Promise<void> {
    const asked = ++this.#asked;
    this.#underway = underway;
    // An effect that calls this must not depend on the items, or it would run in a loop.
    if (untrack(() => this.items.length) === 0) this.state = "loading";
    try {
      const items = [...before];
      let next = from;
      for (let page = 0; page < pages && (page === 0 || next !== null); page++) {
        const found = await this.#fetch(next);
        if (asked !== this.#asked) return;
        items.push(...found.items);
        next = found.next ?? null;
      }
      this.items = items;
      this.#next = next;
      this.more = next !== null;
      this.state = "ready";
    } catch (error) {
      if (asked !== this.#asked) return;
      if (underway === "more") this.#wanted -= 1;
      this.state = isNotAvailable(error) ? "missing" : "error";
      this.errorText = errorMessage(error);
    } finally {
      if (asked === this.#asked) this.#underway = null;
    }
  }
}
