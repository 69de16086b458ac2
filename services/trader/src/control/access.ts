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
