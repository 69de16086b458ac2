/** Replaces a value outside the bounds of its label. */
export const OTHER = 'other';

const NAME = /^[A-Za-z0-9/*][\w.:/*-]{0,63}$/;

/** Limits a label to the given names, for peers and callers; other values become `other`. */
export function allowList(names: readonly string[]): (value: string) => string {
  const known = new Set(names);
  return (value) => (known.has(value) ? value : OTHER);
}

/**
 * Limits a label with an open vocabulary (reasons, servers, routes) to its first `max` distinct values that look like
 * names. Free text and later values become `other`: a mistake elsewhere cannot create an unbounded number of series.
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
