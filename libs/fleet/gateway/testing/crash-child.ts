import { appendFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { around, killSelf, lifeUntil } from '@hermes-fleet/protocol/testing';
import { z } from 'zod';
import { dispatching } from './messages.ts';
import { profile } from './profile.ts';
import { DONE } from './scripts.ts';

/**
 * A profile's process for the crash test of dispatches. It gets the dispatches of the test at once (by key, with what they
 * add to the default), and prints `ack <key> <task id>` for each that it has accepted, and `moments <number>` at its end.
 * It kills itself with SIGKILL at the moment `dieAt`; 0 for none. The executor writes the key of its task to `runs`.
 */
const [, , dir = '', dieAt = '', kind = '', dispatches = ''] = process.argv;
const Dispatches = z.record(z.string(), z.record(z.string(), z.json()));

test('a life', async (t) => {
  const life = lifeUntil(Number(dieAt), killSelf);
  const neo = await profile(t, {
    dir,
    isFreeOfEffects: kind === 'free',
    savesBeforeEffects: kind === 'saves',
    fleet: { limits: { max_concurrent_tasks: 2 } },
    script: async ({ dispatch }, { checkpoint }) => {
      if (kind === 'saves') await checkpoint.save({});
      appendFileSync(join(dir, 'runs'), `${dispatch.task.taskId}\n`);
      return DONE;
    },
    ledger: (real) => around(real, ['accept', 'append', 'saveCheckpoint'], life.write),
  });
  const send = async ([key, rest]: [string, JsonObject]): Promise<void> => {
    const id = await neo.send(dispatching({ task_id: key }, rest));
    writeSync(1, `ack ${key} ${id}\n`);
    await neo.result(id);
  };
  await Promise.all(Object.entries(Dispatches.parse(JSON.parse(dispatches))).map(send));
  writeSync(1, `moments ${life.moments}\n`);
  await neo.end();
});
