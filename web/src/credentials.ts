// The page's key of the login. A cookie is sent to every port of a host; this key is known only to the page's own
// origin.

import { readItem, writeItem } from "./storage";

const HEADER = "X-EchoVessel-Login";
const ITEM = "login";
/** Prefix of the key, which /login appends to the address. */
const TOKEN_PREFIX = "#login=";

/** Where storage is blocked, a login lasts as long as the page. */
let pageKey = readItem(ITEM);

/** Stores the key from the address, and removes it from there. */
export function takeLoginFromAddress(): void {
  if (!location.hash.startsWith(TOKEN_PREFIX)) return;
  pageKey = location.hash.slice(TOKEN_PREFIX.length);
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
