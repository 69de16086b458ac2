import { writeSync } from 'node:fs';
import { silentLog as log, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { openLedger } from '../src/ledger.ts';
import { newTask } from './harness.ts';

/**
 * Child process of the crash test: eight flows accept tasks and append to them endlessly. Each prints a write as soon
 * as it is acknowledged: `task <id> <key>`, `event <task id> <seq> <type>`, `question <task id> <key>`, `answer <task id>
 * <key>` and `artifact <task id> <seq> <place>`.
 */
const [, , file = '', round = ''] = process.argv;
const ledger = openLedger({ file, profile: 'neo', clock: systemClock, ids: systemIds, log });

async function flow(name: number): Promise<never> {
  for (let i = 0; ; i += 1) {
    const { task } = await ledger.accept(newTask({ key: `${round}-${name}-${i}` }));
    writeSync(1, `task ${task.id} ${task.key}\n`);
    await append(task.id, 'started');
    await append(task.id, 'text');
    await ledger.saveCheckpoint(task.id, { step: 1 });
    await append(task.id, 'progress');
    if (i % 3 > 0) await converse(task.id, i % 3);
    else await produce(task.id, i % 2 === 0);
    await append(task.id, i % 2 === 0 ? 'done' : 'blocked');
  }
}

async function converse(taskId: string, times: number): Promise<void> {
  for (let nth = 1; nth <= times; nth += 1) {
    const key = `q${nth}`;
    await ledger.ask(taskId, { key, text: `question ${key}` });
    writeSync(1, `question ${taskId} ${key}\n`);
    await ledger.answer(taskId, {
      messageId: `m${nth}`,
      text: `answer to ${key}`,
      message: { messageId: `m${nth}` },
    });
    writeSync(1, `answer ${taskId} ${key}\n`);
  }
}

/** The content of a large last chunk is apart from its row. */
async function produce(taskId: string, isLarge: boolean): Promise<void> {
  for (let place = 0; place < 3; place += 1) {
    const parts = [
      { kind: 'text' as const, text: `piece ${place}`.padEnd(isLarge && place === 2 ? 270_000 : 700, '.') },
    ];
    const limits = { artifactBytes: 300_000, taskBytes: 300_000 };
    const chunk = { id: 'report', place, parts, replaces: place === 2, isLast: place === 2 };
    const event = await ledger.addArtifact(taskId, chunk, limits);
    writeSync(1, `artifact ${taskId} ${event?.seq} ${place}\n`);
  }
}

async function append(taskId: string, type: string): Promise<void> {
  const result = type === 'done' || type === 'blocked' ? { result: { status: type } } : undefined;
  const event = await ledger.append(taskId, { type, data: { padding: 'x'.repeat(500) } }, result);
  writeSync(1, `event ${taskId} ${event?.seq} ${type}\n`);
}

await Promise.all(Array.from({ length: 8 }, (_, name) => flow(name)));
