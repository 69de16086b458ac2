import { parseArgs } from 'node:util';
import { systemClock } from '@hermes-fleet/protocol';
import { createOutboxPublisher } from '../outbox/outbox-publisher.ts';
import { openTestOutbox } from './outbox.ts';

/**
 * A process that writes events and relays them at the same time, for tests that kill it. It reports on stdout: one
 * line per acknowledged event, and `done` when everything is on the bus.
 */
if (import.meta.main) {
  const { values } = parseArgs({
    options: { url: { type: 'string' }, file: { type: 'string' }, total: { type: 'string' } },
  });
  const total = Number(values.total);
  const outbox = openTestOutbox({ file: values.file ?? '', profile: 'neo' });
  const ignore = (): void => {};
  const relay = createOutboxPublisher({
    connection: { servers: [values.url ?? ''], name: 'neo/relay' },
    source: outbox,
    subjectPrefix: 'fleet.task.neo',
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    clock: systemClock,
    onPublished: (result) => process.stdout.write(`${result}\n`),
  });
  const write = (): void => {
    const missing = total - outbox.size();
    if (missing <= 0) return void finish();
    outbox.append(Math.min(20, missing));
    setImmediate(write);
  };
  const finish = async (): Promise<void> => {
    const flushed = await relay.flush(60_000);
    await relay.close();
    outbox.close();
    process.stdout.write(flushed ? 'done\n' : 'not flushed\n');
  };
  write();
}
