import { hash } from 'node:crypto';
import { FleetError } from '../errors.ts';
import { canonicalJson, type Omitted } from './canonical-json.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** What differs between attempts at the same work. */
const ATTEMPT: Omitted = new Map<string, 'all' | Omitted>([
  ['deadline', 'all'],
  ['routing', 'all'],
  [
    'task',
    new Map([
      ['token_budget', 'all'],
      ['path', 'all'],
    ]),
  ],
]);

/**
 * The fingerprint of a TASK_DISPATCH without budget, deadline, path and routing, which differ between attempts at the
 * same work (docs/handshake.md#idempotency). Throws as `fingerprint` does.
 */
export function dispatchFingerprint(dispatch: JsonObject): string {
  // A dispatch of a foreign major version may have any task, or none.
  const { task } = dispatch;
  return digest(isJsonObject(task) ? dispatch : { ...dispatch, task: Object.assign({}, task) }, ATTEMPT);
}

/** SHA-256, in hex, of a JSON value's canonical form (RFC 8785). Throws INVALID_PARAMS for a value without one. */
export function fingerprint(value: JsonObject): string {
  return digest(value);
}

function digest(value: JsonObject, omitted?: Omitted): string {
  let canonical: string;
  try {
    canonical = canonicalJson(value, omitted);
  } catch (cause) {
    throw new FleetError(
      'INVALID_PARAMS',
      'the message cannot be canonicalized: it contains a lone surrogate, or a number that exceeds a double, or is nested too deep',
      { cause },
    );
  }
  return hash('sha256', canonical);
}
