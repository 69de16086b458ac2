import { FleetError } from '@hermes-fleet/protocol';

/**
 * A model's provider that refused a call, in our words: its own may hold what callers must not see. Without a status it
 * could not be reached.
 */
export function providerFailure(
  status: number | undefined,
  o: { readonly retryable: boolean; readonly cause?: unknown },
): FleetError {
  const what = status === undefined ? 'could not be reached' : `answered ${status}`;
  const hint = status === 401 || status === 403 ? '; check its key in config.yaml' : '';
  return new FleetError('MODEL_FAILED', `the model's provider ${what}${hint}`, o);
}
