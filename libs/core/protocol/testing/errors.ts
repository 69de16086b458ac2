import assert from 'node:assert/strict';
import { type ErrorCode, FleetError } from '../src/errors.ts';

/** For `assert.throws` and `assert.rejects`: a FleetError with this code, and a message that matches. */
export const hasCode =
  (code: ErrorCode, message = /(?:)/) =>
  (error: unknown): boolean =>
    error instanceof FleetError && error.code === code && message.test(error.message);

/** The FleetError that `work` rejects with; fails the test when it resolves or rejects with anything else. */
export async function fleetErrorOf(work: Promise<unknown>): Promise<FleetError> {
  const error = await work.then(
    () => assert.fail('resolved instead of rejecting'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof FleetError, String(error));
  return error;
}
