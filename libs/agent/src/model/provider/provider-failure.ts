import { FleetError } from '@hermes-fleet/protocol';

/**
 * MODEL_FAILED for a provider that refused a call (with its HTTP status) or could not be reached (without one). `said` is
 * the provider's own text, which must be free of secrets (`saidBy`).
 */
export function providerFailure(
  status: number | undefined,
  {
    said,
    ...options
  }: { readonly retryable: boolean; readonly cause?: unknown; readonly said?: string | undefined },
): FleetError {
  const what = status === undefined ? 'could not be reached' : `answered ${status}`;
  const hint = status === 401 || status === 403 ? '; check its key in config.yaml' : '';
  const quoted = said === undefined ? '' : `: ${said}`;
  return new FleetError('MODEL_FAILED', `the model's provider ${what}${hint}${quoted}`, options);
}
