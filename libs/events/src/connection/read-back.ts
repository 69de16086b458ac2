import type { Msg } from 'nats';

/** Headers that a server puts on a message which it reads back out of a stream. */
const READ_BACK = /^nats-(?:stream|subject|sequence|time-stamp)$/i;

/**
 * Whether the server says that it sends this for somebody else. Who reads back an event of his own may name any subject
 * for the answer, also that of another profile: such a message proves nothing of whose subject it is.
 */
export function isForwarded(message: Msg): boolean {
  try {
    return (message.headers?.keys() ?? []).some((key) => READ_BACK.test(key));
  } catch {
    return true;
  }
}
