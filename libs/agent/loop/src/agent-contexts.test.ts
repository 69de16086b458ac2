import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';

const SECRET = 'the-secret-of-a-brief';
const brief = (...lines: string[]): string => block('sh', lines.join('\n'));
const work = brief(
  `mkdir -p .scratch/task .scratch/outputs; echo ${SECRET} > .scratch/task/notes.txt`,
  `echo ${SECRET} > .scratch/outputs/long.txt; echo ${SECRET} > "$HOME/h"; echo ${SECRET} > result.txt`,
);

test('a removed context takes all that its tasks left with it: files, scratchpads, outputs, MCP instances', async (t) => {
  const released: string[] = [];
  const agent = await makeAgent(
    t,
    { tools: { shell: { confine: 'auto' } } },
    { release: async (context) => void released.push(context) },
  );
  const { workspaceRoot, stateDir } = agent.place;
  const find = (dir: string): string =>
    execFileSync('/bin/sh', ['-c', `grep -rl ${SECRET} "$1" || true`, 'sh', dir], { encoding: 'utf8' });
  for (const contextId of ['one', 'two'])
    await agent.executor.run(makeTask(work, { contextId }), makeContext());
  assert.equal(find(workspaceRoot).trim().split('\n').length, 8, find(workspaceRoot));
  released.length = 0;
  const remove = { results: 'delete' } as const;
  assert.deepEqual(await agent.contexts?.remove('one', remove), { files: true, result: 'deleted' });
  assert.deepEqual(released, ['one']);
  assert.deepEqual(['one', 'two'].map((await agent.contexts?.held()) ?? assert.fail()), [false, true]);
  assert.deepEqual(readdirSync(join(workspaceRoot, 'contexts')), ['two']);
  assert.equal(find(workspaceRoot).trim().split('\n').length, 4, 'the neighbour has its own');
  assert.equal(find(stateDir), '');
  assert.deepEqual(await agent.contexts?.remove('one', remove), { files: false, result: 'none' });
});

test('the context of a running task is not removed, and loses no process', async (t) => {
  const released: string[] = [];
  const agent = await makeAgent(
    t,
    {},
    { real: true, release: async (context) => void released.push(context) },
  );
  const context = makeContext();
  const { promise: removed, resolve } = Promise.withResolvers<unknown>();
  const asked = makeContext({
    onEvent: (event) => {
      if (event.type !== 'progress') return;
      const removal = agent.contexts?.remove('one', { results: 'delete' });
      removal?.then(resolve, resolve);
    },
  });
  const task = makeTask(brief('echo 1 > a.txt'), { contextId: 'one' });
  const outcome = await agent.executor.run(task, { ...asked, signal: context.signal });
  const error = await removed;
  assert.ok(error instanceof FleetError && error.code === 'CONTEXT_IN_USE', String(error));
  assert.deepEqual(outcome.artifacts.filesChanged, ['a.txt']);
  assert.deepEqual(released, ['one'], 'at the end of the run');
});

test('a closing agent ends a removal, and the next one completes it', async (t) => {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
  let isRemoving = false;
  const releaseContext = async (): Promise<void> => {
    if (!isRemoving) return;
    resolve();
    await goOn;
  };
  const agent = await makeAgent(t, {}, { real: true, release: releaseContext });
  await agent.executor.run(makeTask(work, { contextId: 'one' }), makeContext());
  isRemoving = true;
  const removal = agent.contexts?.remove('one', { results: 'delete' }) ?? assert.fail();
  const rejected = assert.rejects(removal, { code: 'SHUTTING_DOWN' });
  await begun;
  const closed = agent.close();
  release();
  await Promise.all([closed, rejected]);
  await assert.rejects(agent.contexts?.remove('one', { results: 'delete' }) ?? assert.fail(), {
    code: 'SHUTTING_DOWN',
  });
  const contexts = join(agent.place.workspaceRoot, 'contexts');
  assert.equal(existsSync(join(contexts, 'one')), false);
  const next = await makeAgent(t, {}, { real: true, place: agent.place });
  const options = { hasTasks: () => false, contextIds: () => [], resultsBefore: undefined };
  await next.contexts?.prune({ ...options, unusedBefore: 0, signal: AbortSignal.timeout(60_000) });
  assert.deepEqual(readdirSync(contexts), []);
});

test('in place there are no contexts', async (t) => {
  const agent = await makeAgent(t, { workspace: { isolation: 'in_place' } });
  assert.equal(agent.contexts, undefined);
});
