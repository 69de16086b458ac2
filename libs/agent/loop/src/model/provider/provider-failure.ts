import { RedirectError } from '@hermes-fleet/net';
import { FleetError } from '@hermes-fleet/protocol';
import { cleanedError } from './cleaned-error.ts';
import { withoutSecrets } from './secrets.ts';

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

const MAX_DEPTH = 8;

/** The redirect for which a call failed, also where a provider's package has wrapped it. */
export function redirectIn(thrown: unknown): RedirectError | undefined {
  let error = thrown;
  for (let depth = 0; depth < MAX_DEPTH && error instanceof Error; depth += 1) {
    if (error instanceof RedirectError) return error;
    error = error.cause;
  }
  return undefined;
}

/** MODEL_FAILED for a redirect, which another call would meet too. Names both addresses, without `secrets`. */
export function redirectFailure(redirect: RedirectError, secrets: readonly string[]): FleetError {
  const what = withoutSecrets(redirect.message, secrets);
  const remedy = "if the second address is the provider's, set base_url in config.yaml to it";
  return new FleetError('MODEL_FAILED', `the model's provider was not called: ${what}; ${remedy}`, {
    retryable: false,
    cause: cleanedError(redirect, secrets),
  });
}
