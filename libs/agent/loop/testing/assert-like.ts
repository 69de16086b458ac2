import assert from 'node:assert/strict';

/** Compares like `deepEqual`, where a regular expression is equal to a text that it matches. */
export function assertLike(actual: unknown, expected: unknown): void {
  assert.deepEqual(actual, filledIn(expected, actual));
}

function filledIn(pattern: unknown, actual: unknown): unknown {
  if (pattern instanceof RegExp) return typeof actual === 'string' && pattern.test(actual) ? actual : pattern;
  if (Array.isArray(pattern))
    return pattern.map((one, at) => filledIn(one, Array.isArray(actual) ? actual[at] : undefined));
  if (typeof pattern !== 'object' || pattern === null) return pattern;
  const values = new Map(Object.entries(actual ?? {}));
  return Object.fromEntries(
    Object.entries(pattern).map(([key, one]) => [key, filledIn(one, values.get(key))]),
  );
}
