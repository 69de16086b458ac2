import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
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

/** SHA-256, in hex, of the RFC 8785 canonical form of a JSON value. */
export function fingerprint(value: JsonObject): string {
  const canonical = canonicalize(value);
  if (canonical === undefined) throw new TypeError('the value has no canonical JSON form');
  return createHash('sha256').update(canonical).digest('hex');
}
