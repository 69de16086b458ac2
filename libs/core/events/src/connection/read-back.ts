import type { Msg } from 'nats';

/** Headers that the server adds to a message that it reads from a stream. */
const READ_BACK = /^nats-(?:stream|subject|sequence|time-stamp)$/i;

/**
 * True for a stored message that the server has sent on request. The requester chooses the subject of that reply and may
 * name another profile's, so the subject does not prove the sender.
 */
export function isForwarded(message: Msg): boolean {
  try {
    return (message.headers?.keys() ?? []).some((key) => READ_BACK.test(key));
  } catch {
    return true;
  }
}
