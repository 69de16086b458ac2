/**
 * The reason why no URL can have this context ID as the last part of `fleet/contexts/<id>`; undefined if one can. URL
 * parsers remove the parts `.` and `..`, percent-encoded too (https://url.spec.whatwg.org/#double-dot-path-segment).
 */
export function pathProblem(contextId: string): string | undefined {
  if (contextId === '') return 'is empty';
  if (contextId === '.' || contextId === '..') return `is "${contextId}", which no URL can name`;
  if (!contextId.isWellFormed()) return 'is not valid Unicode';
  return undefined;
}
