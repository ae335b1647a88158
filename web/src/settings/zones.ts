/** The zones that this browser knows; offered, not required. */
export const ZONES: readonly string[] = Intl.supportedValuesOf?.("timeZone") ?? [];
