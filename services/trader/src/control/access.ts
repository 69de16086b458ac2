import { FleetError } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';

/** The accounts that each caller may access (docs/trader.md#security). */
export interface Access {
  /** '*' for all accounts, an empty list for a caller that is not configured. */
  accountsOf(caller: string): readonly string[] | '*';
}

export const READ = 'trader:read';
export const DECIDE = 'trader:decide';
export const OVERRIDE = 'trader:override';

export function mayTouch(access: Access, caller: Caller, accountId: string): boolean {
  const accounts = access.accountsOf(caller.name);
  return accounts === '*' || accounts.includes(accountId);
}

/** Throws FORBIDDEN for a caller without the scope. */
export function needScope(caller: Caller, scope: string): void {
  if (!caller.scopes.has(scope)) throw new FleetError('FORBIDDEN', lacksScope(scope));
}

export const lacksScope = (scope: string): string =>
  `the token lacks the scope ${scope}; ask the operator of the trader for it`;

/** What a caller is told of a concern, or a strategy, that does not exist, or not for it. */
export const NO_CONCERN = 'names no such concern; list_strategies lists accounts and markets';
export const NO_STRATEGY = 'names no such strategy; list_strategies lists them';

/** The name of the caller of circuit breakers. No caller of fleet.yaml may have it. */
export const BREAKER = 'breaker';

/** It overrides a degraded execution, which `policy.strict_degraded` would refuse it for: it restricts, and nothing else. */
export const BREAKER_CALLER: Caller = { name: BREAKER, scopes: new Set([DECIDE, OVERRIDE]) };

/** Why no caller may have that name. */
export const RESERVED = 'is the name of circuit breakers; choose another one';
