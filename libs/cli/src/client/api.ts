import { type ApiClient, createApiClient, type Refusal, type Service } from '@hermes-fleet/net/api';
import type { TlsSource } from '@hermes-fleet/net/tls';
import { FleetError, JOIN_PATH, MEMBERSHIP_PATH } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { CONSOLE } from '../keys/layout.ts';
import { ownTls, TLS_KEYS } from './tls.ts';

/** A service of the fleet and its base URL, without a path. */
export type Endpoint = Omit<Service, 'token'>;

/** An endpoint, and the bearer token to call it with. */
export type Target = Service & { readonly token: string };

/** A service that only its address names. */
export const serviceAt = (url: string, token: string | undefined): Service => ({
  name: new URL(url).host,
  url,
  token,
});

/** For calls of A2A and of the trader's decisions, which a busy service answers in its turn. Other routes have the default. */
export const RPC_MS = 120_000;

let made: { readonly tls: TlsSource | undefined; readonly client: ApiClient } | undefined;

/**
 * The client of the fleet's own API, with the certificates of the environment. Throws as ApiClient, UNAUTHENTICATED when the
 * token is rejected, and PEER_REFUSED with the message and the field errors of any other refusal.
 */
export function fleetApi(): ApiClient {
  const tls = ownTls();
  if (made === undefined || made.tls !== tls) {
    const options = { clock: systemClock, tls, tlsKeys: TLS_KEYS, refused };
    made = { tls, client: createApiClient(options) };
  }
  return made.client;
}

function refused({ service, path, status, code, message, fields, location }: Refusal): FleetError {
  const { name, url } = service;
  if (status === 401) {
    // Whoever joins has no other text that says why: its token may be used, expired or revoked.
    const why = path === JOIN_PATH || path.startsWith(MEMBERSHIP_PATH) ? message : undefined;
    const own = name === CONSOLE ? 'CONSOLE_LOGIN of its keys: restart the console' : 'the token';
    return new FleetError('UNAUTHENTICATED', why ?? `${name} does not accept ${own}`);
  }
  // The codes of results. The message may name a file, whose name may have line breaks.
  if (code === 'NO_RESULT' || code === 'ARTIFACT_TOO_LARGE')
    return new FleetError(code, `${name}: ${message?.replaceAll(/[\r\n]+/g, ' ') ?? `HTTP ${status}`}`);
  if (location !== null && status >= 300 && status < 400)
    return new FleetError('PEER_REFUSED', `${url} redirects to ${location}: use that address`);
  if (status === 404 && code === 'NOT_FOUND' && path === JOIN_PATH)
    return new FleetError(
      'PEER_REFUSED',
      `${url} is no orchestrator that workers can join (fleet.orchestrate)`,
    );
  // A JSON-RPC error comes with HTTP 200, which says nothing.
  const answer = status < 300 && message !== undefined ? 'refused' : `answered HTTP ${status}`;
  const text = message === undefined ? '' : `: ${message}`;
  return new FleetError('PEER_REFUSED', `${name} ${answer}${text}`, { fields });
}
