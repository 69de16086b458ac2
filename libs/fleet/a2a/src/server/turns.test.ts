import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from './turns.ts';

const never = new AbortController().signal;

test('a caller has so many turns at a time, the others wait in order, and no caller waits for another', async () => {
  const turns = createTurns(2);
  const begun: string[] = [];
  const take = async (name: string, caller = 'a', signal = never): Promise<Disposable> => {
    const turn = await turns.takeTurn(caller, signal);
    begun.push(name);
    return turn;
  };
  const one = await take('one');
  const two = await take('two');
  const leaving = new AbortController();
  const left = take('left', 'a', leaving.signal);
  const three = take('three');
  const four = take('four');
  (await take('other', 'b'))[Symbol.dispose]();
  leaving.abort('gone');
  await assert.rejects(left, (reason) => reason === 'gone');
  assert.deepEqual(begun, ['one', 'two', 'other']);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  const third = await three;
  assert.deepEqual(begun, ['one', 'two', 'other', 'three'], 'a turn that ends twice lets one begin');
  const five = take('five');
  await new Promise(setImmediate);
  assert.equal(begun.length, 4, 'a turn that is handed on is not free');
  two[Symbol.dispose]();
  third[Symbol.dispose]();
  (await four)[Symbol.dispose]();
  (await five)[Symbol.dispose]();
  (await take('last'))[Symbol.dispose]();
  assert.deepEqual(begun.slice(-2), ['five', 'last']);
  await assert.rejects(turns.takeTurn('a', AbortSignal.abort('before')), (reason) => reason === 'before');
});
