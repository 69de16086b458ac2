import { systemClock } from '@hermes-fleet/protocol';
import type { Resolve } from '../destination.ts';
import type { GuardedFetchOptions } from '../guarded-fetch.ts';

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
