import { type BusConnection, createOutboxPublisher } from '@hermes-fleet/events';
import { type Clock, type OutboxSource, silentLog } from '@hermes-fleet/protocol/ports';
import { type Finding, findingsOn, shownUrl } from './finding.ts';

const GIVE_UP_MS = 8_000;
const POLL_EVERY_MS = 50;

const EMPTY_OUTBOX: OutboxSource = {
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
 * Checks that the event bus accepts this profile's events: connects, logs in, and reads the stream as the outbox publisher
 * does before its first event. Publishes nothing.
 */
export async function examineBus({
  profile,
  connection,
  clock,
  giveUpMs = GIVE_UP_MS,
}: {
  readonly profile: string;
  readonly connection: BusConnection;
  readonly clock: Clock;
  readonly giveUpMs?: number;
}): Promise<readonly Finding[]> {
  const findings = findingsOn('nats');
  const publisher = createOutboxPublisher({
    connection,
    clock,
    log: silentLog,
    source: EMPTY_OUTBOX,
    subjectPrefixes: [`fleet.task.${profile}`],
  });
  const giveUpAt = clock.now() + giveUpMs;
  let state = publisher.state();
  while (!state.connected && state.lastError === undefined && clock.now() < giveUpAt) {
    await clock.sleep(POLL_EVERY_MS);
    state = publisher.state();
  }
  await publisher.close();
  const where = connection.servers.map(shownUrl).join(', ');
  if (state.connected) findings.ok('stream', `${where} takes events of ${profile}`);
  else {
    const fix = 'start NATS, or correct fleet.nats; events wait in the outbox until then, tasks go on';
    findings.failed('stream', `${where}: ${state.lastError ?? 'no answer in time'}`, fix);
  }
  return findings.all;
}
