import { type ApiClient, createApiClient, type Refusal, type Service } from '@hermes-fleet/net/api';
import type { TlsSource } from '@hermes-fleet/net/tls';
import { type ErrorCode, FleetError, JOIN_PATH, MEMBERSHIP_PATH } from '@hermes-fleet/protocol';
import { REPOSITORIES } from '@hermes-fleet/protocol/api';
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

/** The codes of results and of bundles. */
const OWN_CODES: readonly ErrorCode[] = [
  'NO_RESULT',
  'ARTIFACT_TOO_LARGE',
  'BUNDLE_REFUSED',
  'BUNDLE_LACKS_COMMITS',
];

function refused({ service, path, status, code, message, fields, location }: Refusal): FleetError {
  const { name, url } = service;
  if (status === 401) {
    // Whoever joins has no other text that says why: its token may be used, expired or revoked.
    const why = path === JOIN_PATH || path.startsWith(MEMBERSHIP_PATH) ? message : undefined;
    const own = name === CONSOLE ? 'CONSOLE_LOGIN of its keys: restart the console' : 'the token';
    return new FleetError('UNAUTHENTICATED', why ?? `${name} does not accept ${own}`);
  }
  // The message may name a file, whose name may have line breaks.
  const own = OWN_CODES.find((each) => each === code);
  if (own) return new FleetError(own, `${name}: ${message?.replaceAll(/[\r\n]+/g, ' ') ?? `HTTP ${status}`}`);
  if (status === 404 && path === REPOSITORIES.list.path)
    return new FleetError(
      'PEER_REFUSED',
      `${name} is of a release that takes no checkouts: upgrade it, or leave out --repo`,
    );
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
