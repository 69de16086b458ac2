import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { objectsAt } from '../client/fields.ts';
import type { Caller } from '../client/http.ts';
import { rpc } from '../client/rpc.ts';

/** Strategies of the trader that match (design 4, Runtime). Throws like `rpc`. */
export async function listStrategies(trader: Caller, filter: JsonObject): Promise<JsonObject[]> {
  const { result } = await rpc(trader, requestOf('list_strategies', JSON.stringify(filter)));
  return objectsAt(result, 'strategies');
}

/** A strategy with its state, position, orders and last decisions. Throws like `rpc`. */
export async function getStrategy(trader: Caller, id: string): Promise<JsonObject> {
  const { result } = await rpc(trader, requestOf('get_strategy', JSON.stringify({ strategy_id: id })));
  return result;
}

/**
 * Sends a decision, its text exactly as it stands, and resolves with the trader's answer, a rejection too. Throws
 * INVALID_PARAMS for what is no JSON, since no request could carry it, and like `rpc`.
 */
export async function decide(trader: Caller, payload: string): Promise<JsonObject> {
  try {
    JSON.parse(payload);
  } catch (cause) {
    throw new FleetError('INVALID_PARAMS', 'the decision is not JSON: nothing was sent', { cause });
  }
  const { result } = await rpc(trader, requestOf('apply_control_decision', payload));
  return result;
}

/** Put together as text: reading and writing it again would lose what the trader has to see. */
const requestOf = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
