import type { PushConfig } from '@hermes-fleet/ledger';
import { createClient, type DestinationRules } from '@hermes-fleet/net';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Notification } from './notification.ts';
import { checkPort } from './target-port.ts';

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
    return { detail, isAnswered: true, isFinal: status === GONE, retryAfterS: retryAfter(response) };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof FleetError)) throw thrown;
    return { detail: thrown.message, isAnswered: false, isFinal: false, retryAfterS: undefined };
  }
}

function retryAfter({ headers }: Response): number | undefined {
  const value = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(value) ? Number(value) : undefined;
}
