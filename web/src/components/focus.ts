// Keeps the keyboard focus when the focused element is disabled or removed, so that keyboard users do not start over at
// the top of the page.

/** Time after which an element that is still disabled does not get the focus back. */
const RESTORE_WITHIN_MS = 500;

/** Starts watching; the returned function stops it. */
export function keepFocus(): () => void {
  let focused: Element | null = null;
  /** Its ancestors, the nearest first. */
  let ancestors: Element[] = [];

  const isLost = () => document.activeElement === null || document.activeElement === document.body;
  const isDisabled = (element: Element) => element.matches(":disabled");

  function onFocusGained(event: FocusEvent) {
    if (!(event.target instanceof Element)) return;
    focused = event.target;
    ancestors = [];
    for (let next = focused.parentElement; next; next = next.parentElement) ancestors.push(next);
  }

  /** The focus is not restored if the reader moved it. */
  function onFocusLeft() {
    setTimeout(() => {
      if (isLost() && focused?.isConnected && !isDisabled(focused)) focused = null;
    });
  }

  function restoreFocus() {
    if (focused === null || !isLost()) return;
    if (focused.isConnected) {
      if (!isDisabled(focused) && focused instanceof HTMLElement) focused.focus({ preventScroll: true });
      else setTimeout(() => focusInstead(), RESTORE_WITHIN_MS);
    } else {
      nextFocusable()?.focus({ preventScroll: true });
    }
  }

  /** The element stays disabled: after a form was submitted, its first field gets the focus. */
  function focusInstead() {
    if (focused === null || !isLost() || !focused.isConnected || !isDisabled(focused)) return;
    const field = focused.closest("form")?.querySelector<HTMLElement>("input:enabled, select:enabled, textarea:enabled");
    (field ?? nextFocusable())?.focus({ preventScroll: true });
  }

  /** The nearest focusable element that still exists: an open dialog, a list, the screen. */
  function nextFocusable(): HTMLElement | null {
    const near = ancestors.find((element) => element.isConnected && element.matches("dialog[open], [tabindex]"));
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
