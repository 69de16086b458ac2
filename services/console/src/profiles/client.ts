import { type ApiClient, createApiClient, type Refusal, type Service } from '@hermes-fleet/net/api';
import type { TlsSource } from '@hermes-fleet/net/tls';
import { ERRORS, type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** A profile that the console reaches, without a token. */
export type ProfileAddress = Omit<Service, 'token'>;

const TLS_KEYS = { ca: 'console.tls.ca_file', cert: 'console.tls.cert_file' };

/**
 * Calls profiles with a person's token. Throws as ApiClient, TOKEN_NEEDED for a token that the profile does not accept, and
 * the profile's own error for another refusal.
 */
export const createProfileClient = (clock: Clock, tls?: TlsSource): ApiClient =>
  createApiClient({ clock, tls, tlsKeys: TLS_KEYS, refused });

function refused({ service: { name }, status, code, message, fields }: Refusal): FleetError {
  if (status === 401) return new FleetError('TOKEN_NEEDED', `${name} does not accept this token`);
  const known = code !== undefined && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'PEER_REFUSED';
  const own = known === 'UNAUTHENTICATED' ? 'TOKEN_NEEDED' : known;
  return new FleetError(own, `${name}: ${message ?? `HTTP ${status}`}`, { fields });
}
