import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { objectsAt } from '../client/fields.ts';
import type { Target } from '../client/http.ts';
import { rpc } from '../client/rpc.ts';

/** The trader's strategies that match a filter (docs/trader.md). Throws like `rpc`. */
export async function listStrategies(trader: Target, filter: JsonObject): Promise<JsonObject[]> {
  const { result } = await rpc(trader, requestOf('list_strategies', JSON.stringify(filter)));
  return objectsAt(result, 'strategies');
}

/** A strategy with its control state, position, orders and latest decisions. Throws like `rpc`. */
export async function getStrategy(trader: Target, id: string): Promise<JsonObject> {
  const { result } = await rpc(trader, requestOf('get_strategy', JSON.stringify({ strategy_id: id })));
  return result;
}

/**
 * Sends the text of a decision unchanged and resolves with the trader's answer, rejections included. Throws
 * INVALID_PARAMS before sending when the text is not JSON, and like `rpc`.
 */
export async function decide(trader: Target, payload: string): Promise<JsonObject> {
  try {
    JSON.parse(payload);
  } catch (cause) {
    throw new FleetError('INVALID_PARAMS', 'the decision is not JSON: nothing was sent', { cause });
  }
  const { result } = await rpc(trader, requestOf('apply_control_decision', payload));
  return result;
}

/** Inserts the params as text: parsing and serializing them would hide duplicate keys and exact numbers from the trader. */
const requestOf = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
