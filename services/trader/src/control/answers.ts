import type { Concern } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import type { ControlResponse } from '@hermes-fleet/protocol/control';
import type { Failure } from './response-draft.ts';

/** Turns a response into `failed`. `before` is the restored concern; without the key, the response keeps its concern. */
export function failedResponse(
  response: ControlResponse,
  options: {
    readonly before?: Concern | undefined;
    readonly errors: readonly Failure[];
    readonly result: ControlResponse['result'];
  },
): ControlResponse {
  const { before } = options;
  return {
    ...response,
    ok: false,
    status: 'failed',
    result: options.result,
    appliedAt: null,
    ...('before' in options && {
      fromStrategyId: before?.activeStrategyId ?? null,
      toStrategyId: before?.activeStrategyId ?? null,
      riskMode: before?.riskMode ?? null,
    }),
    errors: [...response.errors, ...options.errors],
  };
}

/** The failure of a write in the terms of a response. */
export function writeFailure(thrown: unknown): Failure {
  const { code, message } = FleetError.from(thrown);
  const isStore = code === 'STORE_UNAVAILABLE' || code === 'SHUTTING_DOWN';
  return { code: isStore ? 'store_unavailable' : 'internal_error', message };
}
