import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { FleetError } from './errors.ts';
import type { JsonObject } from './json.ts';

/**
 * What makes two dispatches the same work: SHA-256 over the RFC 8785 canonical form of the payload, without budget,
 * deadline, path and routing, which differ between attempts (design 2, Idempotency).
 */
export function dispatchFingerprint(dispatch: JsonObject): string {
  const { deadline: _deadline, routing: _routing, task, ...rest } = dispatch;
  const { token_budget: _budget, path: _path, ...contract } = (task ?? {}) as JsonObject;
  return fingerprint({ ...rest, task: contract });
}

/** SHA-256, in hex, of the RFC 8785 canonical form of a JSON value; INVALID_PARAMS for one that has no such form. */
export function fingerprint(value: JsonObject): string {
  return hash('sha256', canonical(value));
}

function canonical(value: JsonObject): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = canonicalize(value);
  } catch (thrown) {
    cause = thrown;
  }
  if (text !== undefined) return text;
  throw new FleetError(
    'INVALID_PARAMS',
    'the message holds what JSON cannot carry between systems: half a surrogate pair, or a number beyond a double',
    { cause },
  );
}
