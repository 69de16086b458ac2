import { StreamResponse, type Task } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import type { PushVersion } from '@hermes-fleet/ledger';

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
