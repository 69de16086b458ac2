import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOutboxPublisher, renderNatsConfig, setUpStreams } from '@hermes-fleet/events';
import { systemClock } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { newLedger, writeTask } from './ledger.ts';

const START_MS = 10_000;
const FLUSH_MS = 20_000;

/** A nats-server on loopback with JetStream on disk. */
export interface Nats extends AsyncDisposable {
  readonly url: string;
}

export async function startNats(dir: string, port: number): Promise<Nats> {
  const storeDir = join(dir, 'nats-bench');
  mkdirSync(storeDir, { recursive: true });
  const file = join(dir, 'nats-bench.conf');
  writeFileSync(file, renderNatsConfig({ storeDir, port, host: '127.0.0.1', syncAlways: false, users: [] }));
  const child = spawn('nats-server', ['--config', file], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const nats = {
    url: `nats://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
  const giveUpAt = performance.now() + START_MS;
  for (;;) {
    try {
      await setUpStreams({ connection: { servers: [nats.url], name: 'bench' }, log: silentLog });
      return nats;
    } catch (error) {
      if (performance.now() > giveUpAt || child.exitCode !== null) {
        await nats[Symbol.asyncDispose]();
        throw error;
      }
      await systemClock.sleep(50);
    }
  }
}

/** Acknowledged events per second from a full outbox into JetStream, with up to `window` in flight. */
export async function relayRate(dir: string, nats: Nats, tasks: number, window: number): Promise<number> {
  const ledger = newLedger(join(dir, `outbox-${randomUUID()}.db`));
  await Promise.all(Array.from({ length: tasks }, () => writeTask(ledger)));
  const { count } = ledger.outbox.backlog();
  const startedAt = performance.now();
  const relay = createOutboxPublisher({
    source: ledger.outbox,
    subjectPrefix: 'fleet.task.bench',
    window,
    log: silentLog,
    clock: systemClock,
    connection: { servers: [nats.url], name: 'bench' },
  });
  const flushed = await relay.flush(FLUSH_MS);
  const seconds = (performance.now() - startedAt) / 1000;
  await relay.close();
  await ledger.close();
  if (!flushed) throw new Error(`the relay did not publish ${count} events within ${FLUSH_MS / 1000} s`);
  return count / seconds;
}
