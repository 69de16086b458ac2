import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOfTask } from './task-logs.ts';

interface Ids {
  readonly task_id: string;
  readonly dispatch_id?: string;
  readonly root_id?: string;
  readonly trace_id?: string;
}
const record = (ids: Ids, msg: string, time = '2030'): string => JSON.stringify({ time, ...ids, msg });
const AT_SWITCH = { task_id: 's-1', dispatch_id: 'mine', root_id: 'mine', trace_id: 'a' };
const AT_NEO = { task_id: 'n-1', dispatch_id: 's-1', root_id: 'mine', trace_id: 'a' };
/** A part that an agent at neo has delegated: no line names both its IDs and those of its task. */
const PART = { task_id: 'p-1', dispatch_id: 'n-1/call', root_id: 'mine', trace_id: 'a' };

/** The messages of the found lines. */
async function search(id: string, lines: readonly string[], maxText?: number) {
  const source = async function* () {
    yield* lines;
  };
  const { lines: found, leftOut } = await linesOfTask(source, id, maxText);
  return { found: found.map(({ record: { msg } }) => msg), leftOut };
}

test('every task of a chain, and the name that the caller gave, finds the whole chain', async () => {
  const lines = [record(PART, 'part'), record(AT_NEO, 'neo'), record(AT_SWITCH, 'switch')];
  for (const id of ['s-1', 'n-1', 'p-1', 'n-1/call', 'mine'])
    assert.deepEqual((await search(id, lines)).found, ['part', 'neo', 'switch'], id);
  assert.deepEqual((await search('min', lines)).found, []);
});

test('the task of another caller with the same name is another one', async () => {
  const others = { ...AT_SWITCH, task_id: 's-2', trace_id: 'b' };
  const lines = [record(AT_SWITCH, 'switch'), record(AT_NEO, 'neo'), record(others, 'other')];
  assert.deepEqual((await search('s-1', lines)).found, ['switch', 'neo']);
  assert.deepEqual((await search('s-2', lines)).found, ['other']);
  assert.deepEqual((await search('mine', lines)).found, ['switch', 'neo', 'other']);
});

test('a line with no other ID than that of its task is of the task', async () => {
  const lines = [
    record(AT_SWITCH, 'switch'),
    record({ task_id: 's-1' }, 'alone'),
    record({ task_id: 'x' }, 'x'),
  ];
  assert.deepEqual((await search('mine', lines)).found, ['switch', 'alone']);
  assert.deepEqual((await search('x', lines)).found, ['x']);
});

test('lines are in the order of time; what is no record of a task is left out', async () => {
  const cut = record(AT_SWITCH, 'cut').slice(0, -5);
  const words = JSON.stringify({ msg: '"task_id":"mine"', root_id: 'mine' });
  const lines = [
    record(AT_NEO, 'last', '2032'),
    cut,
    words,
    '["task_id":',
    record(AT_SWITCH, 'first', '2031'),
  ];
  assert.deepEqual((await search('mine', lines)).found, ['first', 'last']);
});

test('of more lines than can be held, the last ones are found, and the others counted', async () => {
  const lines = ['a', 'b', 'c'].map((msg) => record(AT_SWITCH, msg));
  const room = (lines[0]?.length ?? 0) * 2;
  assert.deepEqual(await search('mine', lines, room), { found: ['b', 'c'], leftOut: 1 });
});
