import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { cannotConfine } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../../testing/harness.ts';

/** The command lines of all processes. */
const processes = (): string[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => {
      try {
        return readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    });

for (const confine of ['auto', 'uid'] as const) {
  const skip = cannotConfine(confine);
  test(`an abort throws its reason and leaves no process (${confine})`, { skip }, async (t) => {
    const agent = await makeAgent(t, { tools: { shell: { confine } } });
    const mark = `3600.${process.pid}`;
    const hidden = `(setsid setsid sleep ${mark} & ) ; sleep ${mark} & sleep ${mark}`;
    const brief = [block('early.txt', 'x'), block('sh', `touch started; ${hidden}`)].join('\n');
    const context = makeContext({ limit: 50_000 });
    const running = agent.executor.run(makeTask(brief), context);
    const tree = join(agent.place.workspaceRoot, 'contexts', 'context-1', 'tree');
    const ended = running.then(
      () => assert.fail('it must not end by itself'),
      (error) => error,
    );
    while (!existsSync(join(tree, 'started')) || !processes().some((line) => line.includes(mark))) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
    }
    const before = context.budget.spent();
    const reason = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');
    context.controller.abort(reason);
    assert.equal(await ended, reason);
    assert.deepEqual(
      processes().filter((line) => line.includes(mark)),
      [],
    );
    assert.ok(before > 0);
    assert.equal(context.budget.spent(), before);
    const next = await agent.executor.run(makeTask(block('late.txt', 'y')), makeContext());
    assert.deepEqual(
      next.artifacts.filesChanged,
      ['late.txt'],
      "the aborted task's work is not the next task's",
    );
  });
}

test('closing the agent ends a run so that the next start can resume it', async (t) => {
  const agent = await makeAgent(t);
  const context = makeContext({ onEvent: () => void closing() });
  let closed: Promise<void> | undefined;
  const closing = (): Promise<void> => {
    closed ??= agent.close();
    return closed;
  };
  const run = agent.executor.run(makeTask(block('sh', 'sleep 3600')), context);
  await assert.rejects(run, { code: 'SHUTTING_DOWN' });
  await closed;
});
