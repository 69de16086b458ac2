import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE as ROUTES } from '@hermes-fleet/protocol/api';
import { fleetApi, type Target } from '../client/api.ts';
import { CONSOLE, keyPaths } from '../keys/layout.ts';
import { readSecret } from '../keys/secret-file.ts';
import type { FleetPlan } from '../local/plan.ts';

/** The console of a planned fleet, to call with CONSOLE_LOGIN of its keys. Throws PEER_UNREACHABLE without them. */
export function consoleOf(plan: FleetPlan): Target {
  const token = readSecret(keyPaths(plan.keysDir).consoleLogin);
  if (token !== undefined) return { name: CONSOLE, url: plan.console.url, token };
  throw new FleetError('PEER_UNREACHABLE', `the console has no keys in ${plan.keysDir}`);
}

/**
 * Has the console make a one-time code (docs/console.md#signing-in). `address` is the console's address for the browser, that
 * of `console` by default. Throws as the client.
 */
export async function newLink(console: Target, address: string = console.url) {
  const { path, expires_at } = await fleetApi().call(console, ROUTES.codes);
  return { url: new URL(path, address).href, expires_at };
}

/** The highest head of each audit that the console ever saw. Throws as the client. */
export const seenHeads = (console: Target) => fleetApi().call(console, ROUTES.auditHeads);
