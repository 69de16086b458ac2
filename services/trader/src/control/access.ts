import { type Caller, FleetError } from '@hermes-fleet/protocol';

/** Which accounts a caller is bound to (design 4, Security). */
export interface Access {
  /** '*' for all of them, an empty list for a caller that nobody configured. */
  accountsOf(caller: string): readonly string[] | '*';
}

export const READ = 'trader:read';
export const DECIDE = 'trader:decide';
export const OVERRIDE = 'trader:override';

/** Whether the account is one of the caller's. */
export function mayTouch(access: Access, caller: Caller, accountId: string): boolean {
  const accounts = access.accountsOf(caller.name);
  return accounts === '*' || accounts.includes(accountId);
}

/** Throws FORBIDDEN for a caller without the scope. */
export function needScope(caller: Caller, scope: string): void {
  if (!caller.scopes.has(scope)) throw new FleetError('FORBIDDEN', lacksScope(scope));
}

export const lacksScope = (scope: string): string =>
  `the token lacks the scope ${scope}; ask whoever runs the trader for it`;
