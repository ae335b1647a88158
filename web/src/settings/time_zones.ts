/** The zones that this browser knows; offered, not required. */
export const TIME_ZONES: readonly string[] = Intl.supportedValuesOf?.("timeZone") ?? [];
