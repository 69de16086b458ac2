import {
  type BusConnection,
  consume,
  consumerOf,
  type EventMeta,
  type StreamFacts,
} from '@hermes-fleet/events';
import type { CloudEvent } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';
import { positionOf } from '../read-model/facts.ts';

/** What the console reads, each with a position of its own. */
export const FILTERS = {
  tasks: 'fleet.task.>',
  control: 'fleet.control.>',
  announces: 'fleet.announce.>',
  audit: 'fleet.audit.>',
} as const;
export type Topic = keyof typeof FILTERS;

/** A message of the bus in its turn: an event, or the reason why it is none. */
export interface Arrival {
  readonly topic: Topic;
  readonly meta: EventMeta;
  readonly event?: CloudEvent;
  readonly skipped?: string;
}

export interface BusView {
  readonly connected: boolean;
  /** Why a reader is not connected. */
  readonly reason: string | undefined;
  /** Events that are on the bus and not projected; undefined while the bus is away. */
  readonly behind: number | undefined;
  /** True while no reader reaches the bus, other than those that have failed. */
  readonly isAway: boolean;
}

export interface ReadersOptions {
  readonly connection: BusConnection;
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly push: (arrival: Arrival) => Promise<void> | void;
  /** Called when the first event of a reader is known to be older than what the stream still has. */
  readonly onStream: (topic: Topic, stream: StreamFacts) => void;
  readonly onState: () => void;
}

export interface Readers {
  view(): BusView;
  close(): Promise<void>;
}

interface ReaderState {
  readonly connected: boolean;
  readonly reason: string | undefined;
  readonly pending: number;
  readonly hasFailed: boolean;
}

const NEW: ReaderState = { connected: false, reason: 'not connected yet', pending: 0, hasFailed: false };

/**
 * Reads the streams, each from the position that the read model has stored. Closing ends all readers; what they have
 * pushed stays pushed.
 */
export function startReaders(options: ReadersOptions): Readers {
  const { connection, clock, log } = options;
  const closing = new AbortController();
  const topics = Object.keys(FILTERS) as Topic[];
  const states = new Map<Topic, ReaderState>(topics.map((topic) => [topic, NEW]));
  const change = (topic: Topic, to: Partial<ReaderState>) =>
    states.set(topic, { ...(states.get(topic) ?? NEW), ...to });

  const read = async (topic: Topic): Promise<void> => {
    const filter = FILTERS[topic];
    const arrived = (meta: EventMeta, what: Pick<Arrival, 'event' | 'skipped'>) => {
      change(topic, { pending: meta.pending });
      return options.push({ topic, meta, ...what });
    };
    await consume({
      connection: { ...connection, name: `${connection.name}/${topic}` },
      filter,
      name: consumerOf(connection.name, filter),
      fromStart: true,
      after: options.store.read((db) => positionOf(db, filter)),
      signal: closing.signal,
      clock,
      log,
      onState: ({ connected, lastError }) => {
        change(topic, { connected, reason: lastError });
        options.onState();
      },
      onStream: (stream) => options.onStream(topic, stream),
      onEvent: (event, meta) => arrived(meta, { event }),
      onSkipped: (skipped, meta) => arrived(meta, { skipped }),
    });
  };
  const running = topics.map((topic) =>
    read(topic).catch((error: unknown) => {
      change(topic, { connected: false, reason: 'the reader of the console has failed', hasFailed: true });
      log.error({ err: error, topic }, 'a reader of the bus has failed');
      options.onState();
    }),
  );

  return {
    view() {
      const all = [...states.values()];
      const away = all.find(({ connected }) => !connected);
      return {
        connected: away === undefined,
        isAway: isAway(all),
        reason: away && (away.reason ?? 'not connected'),
        behind: away ? undefined : all.reduce((sum, { pending }) => sum + pending, 0),
      };
    },
    async close() {
      closing.abort();
      await Promise.all(running);
    },
  };
}

/** A reader that has failed says nothing of the bus. */
export function isAway(
  all: readonly { readonly connected: boolean; readonly hasFailed: boolean }[],
): boolean {
  const sound = all.filter(({ hasFailed }) => !hasFailed);
  return sound.length > 0 && sound.every(({ connected }) => !connected);
}
