/** What a value outside the bounds of its label becomes. */
export const OTHER = 'other';

const NAME = /^[A-Za-z0-9/*][\w.:/*-]{0,63}$/;

/** Keeps a label to the names given, and to `other` for the rest: peers and callers (design 5, Metrics). */
export function allowList(names: readonly string[]): (value: string) => string {
  const known = new Set(names);
  return (value) => (known.has(value) ? value : OTHER);
}

/**
 * Keeps a label with an open vocabulary (reasons, servers, routes) to its first `max` distinct values that look like
 * names; free text and what comes later is `other`, so that a mistake elsewhere cannot grow a metric without end.
 */
export function bounded(max: number, known: readonly string[] = []): (value: string) => string {
  const seen = new Set(known);
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= max || !NAME.test(value)) return OTHER;
    seen.add(value);
    return value;
  };
}
