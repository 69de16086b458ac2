import type { CustomMethod, CustomMethodReply } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { encodeControlResponse } from '@hermes-fleet/protocol/control';
import type { Answer, DecisionService } from '../control/decision-service.ts';

/**
 * The trader's own JSON-RPC methods (docs/trader.md#transports): `params` is the payload, and the result is the response,
 * also with the statuses 403 and 429.
 */
export function controlMethods(decisions: DecisionService): Readonly<Record<string, CustomMethod>> {
  const read = (method: DecisionService['list']): CustomMethod => ({
    run: async ({ paramsText = '{}', caller }) => ({ status: 200, result: method(caller, paramsText) }),
  });
  return {
    apply_control_decision: {
      run: async ({ paramsText = '', ...from }) =>
        reply(await decisions.decide({ transport: 'jsonrpc', text: paramsText, ...from })),
    },
    list_strategies: read(decisions.list),
    get_strategy: read(decisions.get),
  };
}

/** Throws BODY_TOO_LARGE, since JSON-RPC answers it with an error instead of a result. */
function reply({ response, httpStatus: status, retryAfterS }: Answer): CustomMethodReply {
  if (status === 413) throw new FleetError('BODY_TOO_LARGE', response.errors[0]?.message ?? 'too large');
  return {
    status,
    result: encodeControlResponse(response),
    ...(retryAfterS === undefined ? {} : { headers: { 'retry-after': String(Math.ceil(retryAfterS)) } }),
  };
}
