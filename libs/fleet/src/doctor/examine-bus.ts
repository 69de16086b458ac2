import { type BusConnection, createOutboxPublisher } from '@hermes-fleet/events';
import type { Clock, Log, OutboxSource } from '@hermes-fleet/protocol';
import { type Finding, notesOn, shownUrl } from './finding.ts';

const GIVE_UP_MS = 8_000;
const LOOK_EVERY_MS = 50;
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** An outbox with nothing in it. */
const EMPTY: OutboxSource = {
  read: () => [],
  cursor: () => 0,
  advance: async () => {},
  wait: (_afterSeq, signal) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    ),
  backlog: () => ({ count: 0, oldestAgeMs: 0 }),
};

/**
 * Whether the event bus takes what this profile publishes: its server is reached, the login accepted, and the stream
 * read back as the event relay does it before its first event. Nothing is published.
 */
export async function examineBus(o: {
  readonly profile: string;
  readonly connection: BusConnection;
  readonly clock: Clock;
  readonly giveUpMs?: number;
}): Promise<readonly Finding[]> {
  const { clock, connection } = o;
  const notes = notesOn('nats');
  const relay = createOutboxPublisher({
    connection,
    clock,
    log: silent,
    source: EMPTY,
    subjectPrefix: `fleet.task.${o.profile}`,
  });
  const giveUpAt = clock.now() + (o.giveUpMs ?? GIVE_UP_MS);
  let state = relay.state();
  while (!state.connected && state.lastError === undefined && clock.now() < giveUpAt) {
    await clock.sleep(LOOK_EVERY_MS);
    state = relay.state();
  }
  await relay.close();
  const where = connection.servers.map(shownUrl).join(', ');
  if (state.connected) notes.note('stream', 'ok', `${where} takes events of ${o.profile}`);
  else {
    const fix = 'start NATS, or correct fleet.nats; events wait in the outbox until then, tasks go on';
    notes.note('stream', 'failed', `${where}: ${state.lastError ?? 'no answer in time'}`, fix);
  }
  return notes.findings;
}
