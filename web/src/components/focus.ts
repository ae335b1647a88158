// Keeps the keyboard focus when the focused element is disabled or removed, so that keyboard users do not start over at
// the top of the page.

/** Time after which an element that is still disabled does not get the focus back. */
const RESTORE_WITHIN_MS = 500;

/** Starts watching; the returned function stops it. */
export function keepFocus(): () => void {
  let held: Element | null = null;
  /** Its ancestors, the nearest first. */
  let around: Element[] = [];

  const isLost = () => document.activeElement === null || document.activeElement === document.body;
  const isDisabled = (element: Element) => element.matches(":disabled");

  function onFocusGained(event: FocusEvent) {
    if (!(event.target instanceof Element)) return;
    held = event.target;
    around = [];
    for (let next = held.parentElement; next; next = next.parentElement) around.push(next);
  }

  /** The focus is not restored if the reader moved it. */
  function onFocusLeft() {
    setTimeout(() => {
      if (isLost() && held?.isConnected && !isDisabled(held)) held = null;
    });
  }

  function restoreFocus() {
    if (held === null || !isLost()) return;
    if (held.isConnected) {
      if (!isDisabled(held) && held instanceof HTMLElement) held.focus({ preventScroll: true });
      else setTimeout(() => focusInstead(), RESTORE_WITHIN_MS);
    } else {
      nextFocusable()?.focus({ preventScroll: true });
    }
  }

  /** The element stays disabled: after a form was submitted, its first field gets the focus. */
  function focusInstead() {
    if (held === null || !isLost() || !held.isConnected || !isDisabled(held)) return;
    const field = held.closest("form")?.querySelector<HTMLElement>("input:enabled, select:enabled, textarea:enabled");
    (field ?? nextFocusable())?.focus({ preventScroll: true });
  }

  /** The nearest focusable element that still exists: an open dialog, a list, the screen. */
  function nextFocusable(): HTMLElement | null {
    const near = around.find((element) => element.isConnected && element.matches("dialog[open], [tabindex]"));
    const screen = "dialog:modal, main[tabindex], main [role=region][tabindex]";
    return (near as HTMLElement | undefined) ?? document.querySelector<HTMLElement>(screen);
  }

  const observer = new MutationObserver(restoreFocus);
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
  document.addEventListener("focusin", onFocusGained);
  document.addEventListener("focusout", onFocusLeft);
  return () => {
    observer.disconnect();
    document.removeEventListener("focusin", onFocusGained);
    document.removeEventListener("focusout", onFocusLeft);
  };
}
