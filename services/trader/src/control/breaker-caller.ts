import type { Caller } from '@hermes-fleet/protocol';
import { DECIDE } from './access.ts';

/** The name of the caller of circuit breakers. No caller of fleet.yaml may have it. */
export const BREAKER = 'breaker';

export const BREAKER_CALLER: Caller = { name: BREAKER, scopes: new Set([DECIDE]) };
