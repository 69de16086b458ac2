/** The levels of arrays and objects that the JSON of a request may have (docs/handshake.md#fields-and-limits). */
export const MAX_NESTING = 100;

/**
 * True if arrays and objects in `value` stand more than `levels` deep in each other: `[]` is one level. Goes no deeper than
 * that, so a body of a million brackets does not exhaust the stack, which almost everything else that reads JSON would.
 */
export function isNestedDeeper(value: unknown, levels = MAX_NESTING): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels <= 0) return true;
  const items = Array.isArray(value) ? value : Object.values(value);
  for (const item of items) if (isNestedDeeper(item, levels - 1)) return true;
  return false;
}
