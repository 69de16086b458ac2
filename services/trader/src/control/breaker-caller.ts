import type { Caller } from '@hermes-fleet/protocol/ports';
import { DECIDE, OVERRIDE } from './access.ts';

/** The name of the caller of circuit breakers. No caller of fleet.yaml may have it. */
export const BREAKER = 'breaker';

/** It overrides a degraded execution, which `policy.strict_degraded` would refuse it for: it restricts, and nothing else. */
export const BREAKER_CALLER: Caller = { name: BREAKER, scopes: new Set([DECIDE, OVERRIDE]) };
