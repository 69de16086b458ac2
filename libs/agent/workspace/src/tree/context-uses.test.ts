import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContextUses } from './context-uses.ts';

const nothing = async (): Promise<void> => {};

test('a removal waits for the end of looks, and uses that begin meanwhile wait for it', async () => {
  const uses = createContextUses();
  const order: string[] = [];
  const [first, second] = [await uses.use('c', 'look'), await uses.use('c', 'look')];
  const removal = uses.exclusively('c', undefined, async () => void order.push('removed'));
  const task = uses.use('c', 'task').then((use) => {
    order.push('task');
    return use;
  });
  const again = uses.exclusively('c', undefined, async () => void order.push('removed again'));
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await uses.exclusively('another', undefined, nothing);
  assert.equal(order.length, 0);
  second[Symbol.dispose]();
  await removal;
  await Promise.allSettled([task, again]);
  assert.equal(order[0], 'removed');
  assert.ok(order.includes('task'));
});

test('a task keeps a context from being removed until its end, and a failed removal blocks nobody', async () => {
  const uses = createContextUses();
  const [one, two] = [await uses.use('c', 'task'), await uses.use('c', 'task')];
  const look = await uses.use('c', 'look');
  one[Symbol.dispose]();
  look[Symbol.dispose]();
  await assert.rejects(uses.exclusively('c', undefined, nothing), { code: 'CONTEXT_IN_USE' });
  two[Symbol.dispose]();
  const fails = uses.exclusively('c', undefined, () => Promise.reject(new Error('full')));
  const next = uses.use('c', 'task');
  await assert.rejects(fails, /full/);
  (await next)[Symbol.dispose]();
  await uses.exclusively('c', undefined, nothing);
});

test('an abort ends the waits of uses and removals', async () => {
  const uses = createContextUses();
  const look = await uses.use('c', 'look');
  const controller = new AbortController();
  const { signal } = controller;
  const removal = uses.exclusively('c', signal, () => assert.fail('it was aborted'));
  const task = uses.use('c', 'task', signal);
  const rejected = Promise.all([assert.rejects(removal, /stopped/), assert.rejects(task, /stopped/)]);
  controller.abort(new Error('stopped'));
  await rejected;
  await assert.rejects(uses.use('c', 'task', signal), /stopped/);
  (await uses.use('c', 'task'))[Symbol.dispose]();
  look[Symbol.dispose]();
  await uses.exclusively('c', undefined, nothing);
});
