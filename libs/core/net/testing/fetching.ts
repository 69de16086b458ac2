import assert from 'node:assert/strict';
import { systemClock } from '@hermes-fleet/protocol/ports';
import type { Resolve } from '../src/destination.ts';
import type { GuardedFetchOptions } from '../src/guarded-fetch.ts';

export const base = (): GuardedFetchOptions => ({
  clock: systemClock,
  signal: new AbortController().signal,
  maxBytes: 1_000_000,
  timeoutMs: 20_000,
});

/** Resolves every name to this address. */
export const to =
  (address: string): Resolve =>
  async () => [{ address, family: address.includes(':') ? 6 : 4 }];

/** The error of work that fails. */
export async function thrownBy(work: Promise<unknown>): Promise<Error> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return thrown instanceof Error ? thrown : assert.fail(`nothing was thrown: ${String(thrown)}`);
}

/** The code of an error's cause, which is the network's. */
export const codeOf = ({ cause }: Error): unknown => cause instanceof Error && 'code' in cause && cause.code;
