import { FleetError } from '@hermes-fleet/protocol';

/**
 * MODEL_FAILED for a provider that refused a call (with its HTTP status) or could not be reached (without one). The
 * provider's own text may hold secrets, so the message does not quote it.
 */
export function providerFailure(
  status: number | undefined,
  options: { readonly retryable: boolean; readonly cause?: unknown },
): FleetError {
  const what = status === undefined ? 'could not be reached' : `answered ${status}`;
  const hint = status === 401 || status === 403 ? '; check its key in config.yaml' : '';
  return new FleetError('MODEL_FAILED', `the model's provider ${what}${hint}`, options);
}
