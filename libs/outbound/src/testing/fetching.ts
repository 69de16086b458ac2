import assert from 'node:assert/strict';
import { FleetError, systemClock } from '@hermes-fleet/protocol';
import type { Resolve } from '../destination.ts';
import type { GuardedFetchOptions } from '../guarded-fetch.ts';

export const base = (): GuardedFetchOptions => ({
  clock: systemClock,
  signal: new AbortController().signal,
  maxBytes: 1_000_000,
  timeoutMs: 20_000,
});

/** Every name leads to this address. */
export const to =
  (address: string): Resolve =>
  async () => [{ address, family: address.includes(':') ? 6 : 4 }];

/** The FleetError that a fetch ends with. */
export const failure = async (work: Promise<unknown>): Promise<FleetError> => {
  const error = await work.then(
    () => assert.fail('it was fetched'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof FleetError, String(error));
  return error;
};
