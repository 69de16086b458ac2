import { validated } from '../wire/codec.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json.ts';
import { salvage } from '../wire/salvage.ts';
import { decodeResult, type TaskResult, TaskResultWire } from './result.ts';

const SUBSTITUTES: Readonly<Record<string, JsonValue>> = {
  next_steps: [],
  blocked_reason: null,
  artifacts: { files_changed: [] },
  'artifacts.files_changed': [],
  'usage.model': 'unknown',
  'usage.source': 'reported',
  'error.code': 'peer_failed',
  'error.retryable': false,
};
const NO_REASON = 'the peer gave no valid reason';

export interface ResultReading {
  readonly result: TaskResult;
  /** The paths of the invalid fields, which are left out or have a substitute; empty for a valid result. */
  readonly dropped: readonly string[];
}

/**
 * Reads the TASK_RESULT of a peer (docs/handshake.md#task_result). Its invalid fields are left out, because refusing it
 * would lose finished work. Throws INVALID_PARAMS, which names every invalid field, if `type`, `protocol_version`,
 * `task_id`, `status` or `tokens_spent` is one of them.
 */
export function readResult(wire: unknown): ResultReading {
  const checked = validated(TaskResultWire, wire);
  if (!isJsonObject(wire) || !isJsonObject(checked) || TaskResultWire.safeParse(checked).success)
    return { result: decodeResult(wire), dropped: [] };
  const found = salvage(TaskResultWire, { checked, sent: wire, path: [] }, (path) => SUBSTITUTES[path]);
  if (!found || !isJsonObject(found.value)) return { result: decodeResult(wire), dropped: [] };
  const { value, changed } = withMatchingReason(found.value);
  const dropped = changed ? [...new Set([...found.dropped, 'blocked_reason'])] : found.dropped;
  return { result: decodeResult(value), dropped };
}

/** A blocked result has a reason, and no other one has. */
function withMatchingReason(result: JsonObject): { value: JsonObject; changed: boolean } {
  const isBlocked = result.status === 'blocked';
  const changed = isBlocked === (result.blocked_reason === null);
  return { value: changed ? { ...result, blocked_reason: isBlocked ? NO_REASON : null } : result, changed };
}
