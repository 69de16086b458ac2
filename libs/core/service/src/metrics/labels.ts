/** Replaces a value outside the bounds of its label. */
export const OTHER = 'other';

const NAME = /^[A-Za-z0-9/*][\w.:/*+-]{0,63}$/;

/** The values of a label. */
export type LabelValues = ReturnType<typeof labelValues>;

/**
 * Limits a label to known values and the first `more` others that look like names. Free text and later values become `other`:
 * a mistake elsewhere cannot create an unbounded number of series.
 */
export function labelValues(
  known: readonly string[],
  { more = 0, knownOnly = false }: { readonly more?: number; readonly knownOnly?: boolean } = {},
) {
  const seen = new Set(known);
  const max = seen.size + more;
  return {
    /** Those that are known from the start on. */
    known: [...seen],
    /** The value to record; undefined if it is none of a label that keeps to its known ones. */
    bound(value: string): string | undefined {
      if (seen.has(value)) return value;
      if (seen.size >= max || !NAME.test(value)) return knownOnly ? undefined : OTHER;
      seen.add(value);
      return value;
    },
  };
}
