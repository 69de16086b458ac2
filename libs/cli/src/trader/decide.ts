import type { Read } from '@hermes-fleet/net/api';
import { FleetError, parseJson } from '@hermes-fleet/protocol';
import { TRADER_RPC } from '@hermes-fleet/protocol/api';
import { fleetApi, type Target } from '../client/api.ts';
import { shown } from '../command-line/output.ts';

const DECIDE_MS = 120_000;

/** The answer of the trader to a decision. */
export type Decided = Read<typeof TRADER_RPC.decide>;

/**
 * Sends the text of a decision unchanged and resolves with the trader's answer, rejections included. Throws
 * INVALID_PARAMS before sending when the text is not JSON, and as the client.
 */
export async function decide(trader: Target, payload: string): Promise<Decided> {
  if (parseJson(payload) === undefined)
    throw new FleetError('INVALID_PARAMS', 'the decision is not JSON: nothing was sent');
  return await fleetApi().rpc(trader, TRADER_RPC.decide, payload, { timeoutMs: DECIDE_MS });
}

/** Lines for the trader's answer to a decision. */
export function renderDecision(response: Decided): string[] {
  const { status, action, concern_id, dry_run, decision_id, risk_mode, warnings, errors } = response;
  const { would_status: would, canceled_orders: canceled, inherited_position: inherited } = response.result;
  return [
    `${status}: ${shown(action)} at ${shown(concern_id)}${dry_run ? ', a dry run' : ''} (${shown(decision_id)})`,
    `  active     ${shown(response.from_strategy_id)} -> ${shown(response.to_strategy_id)}`,
    `  risk mode  ${shown(risk_mode)}`,
    ...(would === undefined ? [] : [`  would be   ${would}`]),
    ...(canceled === undefined ? [] : [`  canceled   ${canceled} orders`]),
    ...(inherited === undefined ? [] : [`  inherited  a position of ${inherited}`]),
    ...warnings.map(({ code, message }) => `  warning ${code}: ${message}`),
    ...errors.map(({ code, message, field }) => `  error ${code}${field ? ` (${field})` : ''}: ${message}`),
  ];
}
