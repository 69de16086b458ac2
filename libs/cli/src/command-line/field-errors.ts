import type { FieldError } from '@hermes-fleet/protocol';
import { UsageError } from './option-values.ts';

/** Patterns of the validator's messages, each with the words for it; `$1` is what the pattern has in brackets. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^Invalid input: expected \w+, received undefined$/, 'is missing'],
  [/^Invalid input: expected (\w+), received \w+$/, 'must be of type $1'],
  [/^Too small: expected string to have >=1 characters$/, 'must not be empty'],
  [/^Too big: expected string to have <=(\d+) characters$/, 'must have at most $1 characters'],
  [/^Too small: expected \w+ to be >=(\S+)$/, 'must be at least $1'],
  [/^Too small: expected \w+ to be >(\S+)$/, 'must be greater than $1'],
  [/^Too big: expected \w+ to be <=(\S+)$/, 'must be at most $1'],
  [/^Invalid ISO datetime$/, 'must be a time with its zone, such as 2030-01-01T00:00:00Z'],
];

/** The reason why a field is invalid, in the words of the other messages of the command line. */
export function readableReason(reason: string): string {
  const [, list] = /^Invalid option: expected one of (.+)$/.exec(reason) ?? [];
  if (list !== undefined) return `must be one of ${list.replaceAll('"', '').split('|').join(', ')}`;
  const known = REASONS.find(([pattern]) => pattern.test(reason));
  return known === undefined ? reason : reason.replace(known[0], known[1]);
}

/** A UsageError with one line per option that makes a field invalid. `options` has the name of the option by that of its field. */
export function invalidOptions(
  fields: readonly FieldError[],
  options: Readonly<Record<string, string>>,
): UsageError {
  const lines = fields.map(({ path, reason }) => {
    const option = options[path.replace(/\[\d+\]$/, '')];
    return `${option === undefined ? `${path}:` : `--${option}`} ${readableReason(reason)}`;
  });
  return new UsageError([...new Set(lines)].join('\n  '));
}
