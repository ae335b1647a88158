// @vitest-environment happy-dom
import { createRawSnippet, flushSync, mount, tick, unmount } from "svelte";
import { afterEach, beforeEach, expect, test } from "vitest";
import VirtualList from "../src/chat/VirtualList.svelte";

interface Row {
  key: string;
  kind: string;
}

const HEIGHT = 600;
const rows = (count: number, from = 0): Row[] =>
  Array.from({ length: count }, (_, n) => ({ key: `row ${n + from}`, kind: "message" }));

/** There is no layout here: the window has a height, the list is as long as its padding says. */
let resized: (() => void) | undefined;
beforeEach(() => {
  globalThis.ResizeObserver = class {
    constructor(callback: ResizeObserverCallback) {
      resized = () => callback([], this as unknown as ResizeObserver);
    }
    observe() {}
    unobserve() {}
    disconnect() {}
  } as unknown as typeof ResizeObserver;
  Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, get: () => HEIGHT });
  Object.defineProperty(HTMLElement.prototype, "scrollHeight", {
    configurable: true,
    get(this: HTMLElement) {
      const list = this.querySelector("ol");
      if (!list) return 0;
      return Number.parseFloat(list.style.paddingTop) + Number.parseFloat(list.style.paddingBottom) + list.children.length * 96;
    },
  });
});

let shown: { props: { rows: Row[]; following: boolean; scrollTarget: string | null }; end: () => void; early: number };

function show(first: Row[]) {
  let current = $state.raw(first);
  let following = $state(true);
  const state = {
    get rows() { return current; },
    set rows(now) { current = now; },
    get following() { return following; },
    set following(now) { following = now; },
    scrollTarget: null as string | null,
  };
  let early = 0;
  const props = withParts(state, () => (early += 1));
  const list = mount(VirtualList, { target: document.body, props: props as never });
  shown = { props, end: () => void unmount(list), get early() { return early; } };
  flushSync();
}

/** The rest of what the list is given. */
function withParts(state: typeof shown.props, nearStart: () => void) {
  return Object.assign(state, {
    row: createRawSnippet((item: () => Row) => ({ render: () => `<p>${item().key}</p>` })),
    head: createRawSnippet(() => ({ render: () => "<p>head</p>" })),
    label: "Conversation",
    nearStart,
    arrived: () => undefined,
  });
}

afterEach(() => {
  shown.end();
  document.body.innerHTML = "";
});

const scroller = () => document.querySelector<HTMLElement>(".scroller")!;
const texts = () => [...document.querySelectorAll("li")].map((row) => row.textContent?.trim());

test("of 50,000 rows only the last ones are rendered", async () => {
  show(rows(50_000));
  await tick();
  expect(texts().length).toBeLessThan(40);
  expect(texts().at(-1)).toBe("row 49999");
  expect(document.querySelector("li")?.getAttribute("aria-setsize")).toBe("50000");
});

test("scrolling renders other rows, and requests more near the start", async () => {
  show(rows(1_000));
  await tick();
  scroller().scrollTop = 48_000;
  scroller().dispatchEvent(new Event("scroll"));
  flushSync();
  expect(texts()).toContain("row 500");
  expect(texts()).not.toContain("row 999");
  expect(shown.early).toBe(0);
  scroller().scrollTop = 10;
  scroller().dispatchEvent(new Event("scroll"));
  flushSync();
  expect(texts()[0]).toBe("row 0");
  expect(shown.early).toBe(1);
  resized?.();
});

/** The window moves; the page is told of it with a later frame. */
const goTo = (place: number) => (scroller().scrollTop = place);
const told = () => {
  scroller().dispatchEvent(new Event("scroll"));
  flushSync();
};
const bring = (now: Row[]) => {
  shown.props.rows = now;
  flushSync();
};
const atEnd = () => scroller().scrollHeight - scroller().scrollTop - HEIGHT;

test("new rows before a scroll event do not move a reader who scrolls up", async () => {
  show(rows(1_000));
  await tick();
  goTo(48_000);
  told();
  goTo(20_000);
  bring(rows(1_001));
  expect(scroller().scrollTop).toBe(20_000);
  told();
  goTo(10_000);
  bring(rows(1_050, -49));
  expect(scroller().scrollTop).toBe(10_000 + 49 * 96);
});

test("new rows before a scroll event do not pull a reader back to the end", async () => {
  for (const more of [1, 40]) {
    show(rows(1_000));
    await tick();
    goTo(50_000);
    bring(rows(1_000 + more));
    expect(shown.props.following).toBe(false);
    expect(scroller().scrollTop).toBe(50_000);
    shown.end();
    document.body.innerHTML = "";
  }
  show(rows(10));
});

test("a reader at the end follows long new rows, also after an older scroll event", async () => {
  show(rows(1_000));
  await tick();
  goTo(scroller().scrollTop - 50);
  bring(rows(1_040));
  expect(shown.props.following).toBe(true);
  expect(atEnd()).toBeLessThanOrEqual(HEIGHT);
  const end = scroller().scrollTop;
  // A row grows before the page is told of its own scroll.
  document.querySelector("ol")!.style.paddingTop = `${Number.parseFloat(document.querySelector("ol")!.style.paddingTop) + 400}px`;
  told();
  expect(scroller().scrollTop).toBe(end);
  expect(shown.props.following).toBe(true);
});

test("'Jump to latest' leads to the end from any scroll position", async () => {
  show(rows(1_000));
  await tick();
  goTo(48_000);
  told();
  goTo(47_000);
  shown.props.following = true;
  bring(rows(1_001));
  expect(shown.props.following).toBe(true);
  expect(texts()).toContain("row 1000");
});
