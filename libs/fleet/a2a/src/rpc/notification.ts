import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { callOf, type Exchange, openCall, reportIfRefused } from './exchange.ts';

/** The methods with side effects, each with the method that has the same effect without streaming. */
const EFFECTIVE_METHODS: Readonly<Partial<Record<string, string>>> = {
  SendMessage: 'SendMessage',
  SendStreamingMessage: 'SendMessage',
  CancelTask: 'CancelTask',
  'message/send': 'message/send',
  'message/stream': 'message/send',
  'tasks/cancel': 'tasks/cancel',
};

/** Runs a request without an id, which is never answered; failures are only logged (JSON-RPC 2.0, section 4.1). */
export async function runNotification(exchange: Exchange): Promise<void> {
  const method = EFFECTIVE_METHODS[exchange.method.name];
  if (method === undefined) return;
  using open = openCall(exchange);
  const call = callOf(exchange, open.signal);
  await exchange.transports.handle(exchange, call, { method, params: withoutWaiting(exchange.params) });
  if (call.failure === undefined) return;
  exchange.request.failure = FleetError.from(call.failure);
  await reportIfRefused(exchange.deps, exchange.progress, call.failure);
}

function withoutWaiting(params: JsonObject): JsonObject {
  if (params.message === undefined) return params;
  const configuration = isJsonObject(params.configuration) ? params.configuration : {};
  return { ...params, configuration: { ...configuration, returnImmediately: true, blocking: false } };
}
