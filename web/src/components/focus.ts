// The focus is never lost: what had it may rest while it works, or be gone when it has worked, and whoever has no pointer
// must not begin at the top of the page again.

/** What still rests after this long is not only working for a moment. */
const REST_MS = 500;

/** Watches from now on; the answer ends it. */
export function keepFocus(): () => void {
  let held: Element | null = null;
  /** What stood around it, the nearest first. */
  let around: Element[] = [];

  const isLost = () => document.activeElement === null || document.activeElement === document.body;
  const rests = (element: Element) => element.matches(":disabled");

  function gained(event: FocusEvent) {
    if (!(event.target instanceof Element)) return;
    held = event.target;
    around = [];
    for (let next = held.parentElement; next; next = next.parentElement) around.push(next);
  }

  /** Who leaves by themselves is not brought back. */
  function left() {
    setTimeout(() => {
      if (isLost() && held?.isConnected && !rests(held)) held = null;
    });
  }

  function look() {
    if (held === null || !isLost()) return;
    if (held.isConnected) {
      if (!rests(held) && held instanceof HTMLElement) held.focus({ preventScroll: true });
      else setTimeout(() => goOn(), REST_MS);
    } else {
      successor()?.focus({ preventScroll: true });
    }
  }

  /** What rests on has nothing more to do: a form that was sent is begun anew at its first field. */
  function goOn() {
    if (held === null || !isLost() || !held.isConnected || !rests(held)) return;
    const field = held.closest("form")?.querySelector<HTMLElement>("input:enabled, select:enabled, textarea:enabled");
    (field ?? successor())?.focus({ preventScroll: true });
  }

  /** The nearest part that is still there and can have the focus: an open dialog, a list, the screen. */
  function successor(): HTMLElement | null {
    const near = around.find((element) => element.isConnected && element.matches("dialog[open], [tabindex]"));
    const screen = "dialog:modal, main[tabindex], main [role=region][tabindex]";
    return (near as HTMLElement | undefined) ?? document.querySelector<HTMLElement>(screen);
  }

  const observer = new MutationObserver(look);
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
  document.addEventListener("focusin", gained);
  document.addEventListener("focusout", left);
  return () => {
    observer.disconnect();
    document.removeEventListener("focusin", gained);
    document.removeEventListener("focusout", left);
  };
}
