import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLedger } from '@hermes-fleet/ledger';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { deadline, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { at } from '../../testing/serve.ts';
import { startWebhook } from '../../testing/webhook.ts';

test('a process that is killed around a delivery loses nothing, and keeps the order', deadline, async (t) => {
  const file = join(tempDir(t), 'ledger.db');
  let child: ChildProcess | undefined;
  const start = (): void => {
    const script = join(import.meta.dirname, '../../testing/crash-pusher.ts');
    child = spawn(process.execPath, [script, file], { stdio: ['pipe', 'inherit', 'inherit'] });
  };
  t.after(() => child?.kill('SIGKILL'));
  // Every eighth notification kills the process: in turns before it is acknowledged, and right afterwards.
  let kills = 0;
  const hook = await startWebhook(t, (response, index) => {
    if (index % 8 !== 5) return void response.end();
    kills += 1;
    if (kills % 2 === 0) response.end();
    else response.destroy();
    child?.once('exit', start);
    child?.kill('SIGKILL');
  });
  await writeTask(file, hook.url);
  start();
  while (!('statusUpdate' in (await hook.next()).body));
  const seen = new Map<unknown, unknown>();
  for (const { headers, body } of hook.received) {
    const id = headers['webhook-id'];
    const text = at(body, 'artifactUpdate', 'artifact', 'parts', 0, 'text');
    if (seen.has(id)) assert.deepEqual([...seen].at(-1), [id, text], 'a copy came out of turn');
    seen.set(id, text);
  }
  const deltas = Array.from({ length: 40 }, (_, n) => String(n));
  assert.deepEqual([...seen.values()].slice(1, 41), deltas);
  assert.ok(kills > 4, `${kills} kills`);
  assert.ok(hook.received.length > seen.size, 'nothing was sent again');
});

/** A task with a config and 41 events after it. */
async function writeTask(file: string, url: string): Promise<void> {
  const ledger = openLedger({ file, profile: 'neo', clock: systemClock, ids: systemIds, log: silentLog });
  const { task } = await ledger.accept({
    id: systemIds.uuid(),
    contextId: 'c',
    caller: 'switch',
    key: 'k',
    fingerprint: 'f',
    message: { messageId: 'm', parts: [{ text: 'work' }] },
    dispatch: { type: 'TASK_DISPATCH', brief: 'work' },
  });
  const unset = { token: undefined, authentication: undefined };
  const position = task.lastSeq;
  await ledger.push.save({ taskId: task.id, id: 'c', version: '1.0', url, position, ...unset });
  for (let n = 0; n < 40; n += 1) await ledger.append(task.id, { type: 'text', data: { text: String(n) } });
  await ledger.append(task.id, { type: 'done', data: {} }, { state: 'completed', result: {} });
  await ledger.close();
}
