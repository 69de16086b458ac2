import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { FleetError } from '../errors.ts';
import type { JsonObject } from './json.ts';

/**
 * The fingerprint of a TASK_DISPATCH without budget, deadline, path and routing, which differ between attempts at the
 * same work (docs/handshake.md#idempotency). It covers the data and files that came with it, as A2A JSON.
 */
export function dispatchFingerprint(dispatch: JsonObject, attached: readonly JsonObject[] = []): string {
  const { deadline: _deadline, routing: _routing, task, ...rest } = dispatch;
  const { token_budget: _budget, path: _path, ...contract } = (task ?? {}) as JsonObject;
  const work: JsonObject = { ...rest, task: contract };
  return fingerprint(attached.length === 0 ? work : { dispatch: work, parts: [...attached] });
}

/** SHA-256, in hex, of a JSON value's canonical form (RFC 8785). Throws INVALID_PARAMS for a value without one. */
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
    'the message cannot be canonicalized: it contains a lone surrogate, or a number that exceeds a double',
    { cause },
  );
}
