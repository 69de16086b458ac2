/** A valid name of a profile, a peer or a caller. */
export const PEER_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
/** Names with another meaning as a routing target. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['auto']);

const PATTERN = /^[A-Za-z0-9*][A-Za-z0-9_.*-]{0,63}$/;

export function isPeerName(name: string): boolean {
  return PEER_NAME.test(name) && !RESERVED_NAMES.has(name);
}

/** Describes the problem of an invalid pattern of `speaks_for`; undefined if the pattern is valid. */
export function namePatternProblem(pattern: string): string | undefined {
  if (PATTERN.test(pattern)) return undefined;
  return 'must be a name, in which "*" may stand for any part of it, e.g. "worker-*"';
}

/** Matches a name with a pattern. An invalid name matches no pattern. */
export function matchesName(pattern: string, name: string): boolean {
  if (!isPeerName(name)) return false;
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  const last = rest.pop() ?? '';
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  const end = name.length - last.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from <= end;
}
