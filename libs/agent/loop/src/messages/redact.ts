import { cutTo } from '@hermes-fleet/protocol';

const MAX_CHARS = 200;
const REDACTED = '[redacted]';

const NAME =
  '[\\w-]*(?:authorization|token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|cookie|credentials?)';
const PATTERNS: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]{1,40}-----[\s\S]*/g, REDACTED],
  [/\b(Bearer|Basic|Token)\s+[\w.~+/=:-]{4,}/gi, `$1 ${REDACTED}`],
  [/(\w:\/\/)[^\s:/@"']*:[^\s/@"']+@/g, `$1${REDACTED}@`],
  [new RegExp(`(${NAME}["']?\\s{0,3}[:=]\\s{0,3})(?:"[^"]*"|'[^']*'|[^\\s"',;&|]+)`, 'gi'), `$1${REDACTED}`],
  [new RegExp(`(--?${NAME}\\s{1,3})(?:"[^"]*"|'[^']*'|[^\\s"',;&|]+)`, 'gi'), `$1${REDACTED}`],
  [/(\s-u\s{0,3})[^\s:]{1,100}:\S+/g, `$1${REDACTED}`],
  [
    /\b(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|github_pat|xox[abprs]|npm|hf|AKIA|ASIA|AIza|ya29)[-_]?[A-Za-z0-9_-]{12,}/g,
    REDACTED,
  ],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, REDACTED],
];

/** Turns a tool call's detail into a log line of bounded length, without anything that looks like a secret. */
export const loggable = (detail: string): string => redacted(detail, MAX_CHARS);

/** Puts a text into one line of at most `maxChars`, without anything that looks like a secret. */
export function redacted(text: string, maxChars: number): string {
  // Redact before cutting: a cut secret would no longer match its pattern.
  const plain = PATTERNS.reduce(
    (line, [pattern, by]) => line.replace(pattern, by),
    text.slice(0, 10 * maxChars).replace(/\s+/g, ' '),
  );
  return cutTo(plain, maxChars);
}
