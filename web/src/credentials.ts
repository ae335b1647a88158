// The page's half of the login. A cookie goes to every port of a host; this is known to the page's own origin only.

import { readItem, writeItem } from "./storage";

const HEADER = "X-EchoVessel-Login";
const ITEM = "login";
/** What /login puts behind `#`. */
const MARK = "#login=";

/** Where storage is blocked, a login lasts as long as the page. */
let pageKey = readItem(ITEM);

/** Stores the half that /login passed in the address, and removes it from there. */
export function takeLoginFromAddress(): void {
  if (!location.hash.startsWith(MARK)) return;
  pageKey = location.hash.slice(MARK.length);
  writeItem(ITEM, pageKey);
  history.replaceState(history.state, "", location.pathname + location.search);
}

/** Headers for every request to the API. */
export function credentials(): Record<string, string> {
  return pageKey === null ? {} : { [HEADER]: pageKey };
}

export function forgetLogin(): void {
  pageKey = null;
  writeItem(ITEM, null);
}
