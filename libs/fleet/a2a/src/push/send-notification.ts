import { StreamResponse, type Task } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import type { PushConfig, PushVersion } from '@hermes-fleet/ledger';
import { createClient, type DestinationRules, namesPort, parseDestination, portOf } from '@hermes-fleet/net';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { secondsIn } from '../client/peer-errors.ts';

/** The longest time of one attempt (A2A 1.0, section 4.3.3). */
const ATTEMPT_MS = 15_000;
/** The answer of a target is not read; this bounds what arrives before the connection is closed. */
const MAX_ANSWER_BYTES = 65_536;
const TOKEN_HEADER = 'X-A2A-Notification-Token';
/** The target says that it is gone for good (RFC 9110, section 15.5.11). */
const GONE = 410;

export interface SendOptions {
  readonly rules: DestinationRules;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Further headers of the notification: its id, and its signature. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface SendFailure {
  /** The fault, without the address and the credentials. */
  readonly detail: string;
  /** True if the target answered, with whatever status. */
  readonly isAnswered: boolean;
  /** True if the target is not to be asked again. */
  readonly isFinal: boolean;
  /** The delay that the target asked for, s. */
  readonly retryAfterS: number | undefined;
}

/**
 * Sends one notification through the guard for outbound requests, which checks the address again, and follows no redirect; the port is checked again too.
 * Resolves with undefined if the target acknowledged it with a 2xx status. Rejects with the signal's reason.
 */
export async function sendNotification(
  { url, token, authentication }: Pick<PushConfig, 'url' | 'token' | 'authentication'>,
  { body, contentType }: Notification,
  { rules, clock, signal, headers }: SendOptions,
): Promise<SendFailure | undefined> {
  try {
    checkPort(url, rules);
    const { response } = await createClient('untrusted', { ...rules, clock })(url, {
      method: 'POST',
      headers: {
        'content-type': contentType,
        ...(token === undefined ? {} : { [TOKEN_HEADER]: token }),
        ...(authentication
          ? { authorization: `${authentication.scheme} ${authentication.credentials}` }
          : {}),
        ...headers,
      },
      body,
      maxBytes: MAX_ANSWER_BYTES,
      timeoutMs: ATTEMPT_MS,
      signal,
    });
    await response.body?.cancel();
    if (response.ok) return undefined;
    const { status } = response;
    const detail = `the target answered with status ${status}`;
    return {
      detail,
      isAnswered: true,
      isFinal: status === GONE,
      retryAfterS: secondsIn(response.headers.get('retry-after')),
    };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof FleetError)) throw thrown;
    return { detail: thrown.message, isAnswered: false, isFinal: false, retryAfterS: undefined };
  }
}

/** The ports of mail, remote shells, databases and the like begin below this one. */
const FIRST_FREE_PORT = 1024;
const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);

/**
 * Throws INVALID_PARAMS for a target at a port below 1024 that is neither 80 nor 443, unless `allowInternal` names the port with
 * its host (docs/push.md#configs), and for what is no address.
 */
export function checkPort(address: string, { allowInternal = [] }: DestinationRules): void {
  const url = parseDestination(address);
  const port = portOf(url);
  if (port >= FIRST_FREE_PORT || WEB_PORTS.has(port) || namesPort(url, allowInternal)) return;
  const remedy = 'have the operator name the host with this port in fleet.push.allow_internal';
  throw new FleetError(
    'INVALID_PARAMS',
    `port ${port} is below ${FIRST_FREE_PORT} and neither 80 nor 443: use another port, or ${remedy}`,
  );
}

/** The body of one push notification. */
export interface Notification {
  readonly body: string;
  readonly contentType: string;
}

const LEGACY = new V03PushNotificationSerializer();

/** True if targets are told of an event of this type; of A2A 0.3, targets are not told of parts of the output. */
export const isTold = (version: PushVersion, type: string): boolean =>
  version === '1.0' || (type !== 'text' && type !== 'artifact');

/**
 * The notification of an update: the StreamResponse that a stream would carry (A2A 1.0, section 4.3.3). A2A 0.3 gets the
 * whole task as it is now, without one for a part of its output: a thousand parts would carry their text a thousand times.
 */
export function notificationOf(
  version: PushVersion,
  update: StreamResponse,
  task: () => Task,
): Notification | undefined {
  if (version === '1.0')
    return { body: JSON.stringify(StreamResponse.toJSON(update)), contentType: 'application/a2a+json' };
  if (update.payload?.$case === 'artifactUpdate') return undefined;
  return LEGACY.serialize(update, update.payload?.$case === 'task' ? update.payload.value : task());
}
