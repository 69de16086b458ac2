import { parseArgs } from 'node:util';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { createOutboxPublisher } from '../src/outbox/outbox-publisher.ts';
import { openTestOutbox } from './outbox.ts';

/**
 * A process that writes and publishes events at the same time, for tests that kill it. It prints one line per
 * acknowledged event, and `done` when everything is on the bus.
 */
if (import.meta.main) {
  const { values } = parseArgs({
    options: { url: { type: 'string' }, file: { type: 'string' }, total: { type: 'string' } },
  });
  const total = Number(values.total);
  const outbox = openTestOutbox({ file: values.file ?? '', profile: 'neo' });
  const publisher = createOutboxPublisher({
    connection: { servers: [values.url ?? ''], name: 'neo/outbox' },
    source: outbox,
    subjectPrefixes: ['fleet.task.neo'],
    log: silentLog,
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
    const flushed = await publisher.flush(60_000);
    await publisher.close();
    outbox.close();
    process.stdout.write(flushed ? 'done\n' : 'not flushed\n');
  };
  write();
}
