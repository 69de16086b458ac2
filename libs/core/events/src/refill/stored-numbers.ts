import type { NatsConnection } from 'nats';
import { runConsumerSession } from '../consume/consumer-session.ts';
import { streamOf } from '../streams/subjects.ts';

/**
 * The numbers of a store's events that the stream holds, from the message ids of a subject. Only headers are read.
 * `name` is a consumer that the user may create (see busPermissions); a second reader of that name takes its place. Throws
 * when the copy of the stream that answered lags behind the others.
 */
export async function storedNumbers(options: {
  readonly nc: NatsConnection;
  readonly inboxPrefix: string | undefined;
  readonly filter: string;
  readonly name: string;
  /** What comes before the number in the ids of the store, e.g. `neo:<ledger>:`. */
  readonly idPrefix: string;
  /** How many messages of the subject the leader of the stream has. */
  readonly expected: number;
  readonly signal: AbortSignal;
}): Promise<ReadonlySet<number>> {
  const { filter, idPrefix, expected } = options;
  const numbers = new Set<number>();
  let messages = 0;
  const count = (): void => {
    messages += 1;
  };
  await runConsumerSession({
    ...options,
    stream: streamOf(filter),
    durable: undefined,
    fromStart: true,
    position: { after: undefined, created: undefined },
    untilEnd: true,
    headersOnly: true,
    onHealthy: () => {},
    onStream: () => {},
    onForwarded: async () => count(),
    handle: async (_data, _meta, messageId) => {
      count();
      if (messageId.startsWith(idPrefix)) numbers.add(Number(messageId.slice(idPrefix.length)));
    },
  });
  options.signal.throwIfAborted();
  if (messages < expected)
    throw new Error(
      `only ${messages} of ${expected} events of ${filter} could be read: another reader took the place of this one, or a copy of the stream lags`,
    );
  return numbers;
}
