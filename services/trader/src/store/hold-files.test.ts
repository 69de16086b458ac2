import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import type { HoldMarks } from '../control/unwritten-restrictions.ts';
import { markingSaves } from './engine-saves.ts';
import { openHoldMarks } from './hold-files.ts';

const CONCERN = 'acc:xrpusd';
const OTHER = 'acc:btcusd';

function marksIn(t: TestContext) {
  const dir = join(tempDir(t), 'holds');
  const log = recordingLog();
  const open = (...concernIds: string[]): HoldMarks =>
    openHoldMarks({ dir, concernIds: concernIds.length > 0 ? concernIds : [CONCERN, OTHER], log });
  return { dir, log, open };
}

test('a mark is found by the next process, in its strictest mode, and for its concern alone', (t) => {
  const { open, dir } = marksIn(t);
  const first = open();
  assert.deepEqual([first.found(CONCERN), first.found(OTHER)], [undefined, undefined]);
  assert.equal(open().found(CONCERN), undefined, 'a process that ends without a mark leaves none');
  assert.equal(first.mark(CONCERN, 'a', 'normal'), true);
  assert.equal(open().found(CONCERN), 'normal');
  assert.equal(first.mark(CONCERN, 'b', 'halted'), true);
  assert.equal(first.mark(CONCERN, 'b', 'halted'), true);
  const second = open();
  assert.deepEqual([second.found(CONCERN), second.found(OTHER)], ['halted', undefined]);
  assert.deepEqual(readdirSync(join(dir, CONCERN)).sort(), ['cautious', 'reduce_only']);
});

test('a mark stays until every holder has taken it back', (t) => {
  const { open } = marksIn(t);
  open().mark(CONCERN, 'a', 'reduce_only');
  const marks = open();
  marks.clear(CONCERN, 'nobody');
  assert.equal(marks.found(CONCERN), 'reduce_only');
  marks.mark(CONCERN, 'a', 'reduce_only');
  marks.mark(CONCERN, 'engine', 'normal');
  marks.clear(CONCERN, 'a');
  assert.equal(open().found(CONCERN), 'reduce_only');
  marks.clear(CONCERN, 'engine');
  assert.deepEqual([open().found(CONCERN), marks.found(CONCERN)], [undefined, undefined]);
  marks.mark(CONCERN, 'engine', 'normal');
  assert.equal(open().found(CONCERN), 'normal', 'it can be made again');
});

test('a concern that is new has no mark, and neither has one whose files were being made when the process ended', (t) => {
  const { open, dir } = marksIn(t);
  open(CONCERN);
  mkdirSync(join(dir, `${OTHER}.new`));
  assert.equal(open().found(OTHER), undefined);
  assert.deepEqual(readdirSync(dir).sort(), [OTHER, CONCERN]);
});

test('a mark that cannot be made or taken back is told in the log', (t) => {
  const { open, dir, log } = marksIn(t);
  const marks = open();
  rmSync(join(dir, CONCERN), { recursive: true });
  assert.equal(
    marks.mark(CONCERN, 'a', 'normal'),
    false,
    'there is no folder to make outlast a loss of power',
  );
  marks.clear(CONCERN, 'a');
  assert.equal(existsSync(join(dir, CONCERN)), false);
  assert.deepEqual(log.messages, [
    'error: a hold cannot be marked on disk: a restart would not know of it',
    'warn: a mark cannot be taken back yet: a start now would come up held',
  ]);
});

test('a mark that could not be taken back is taken back by a later call', (t) => {
  const { open, dir } = marksIn(t);
  const marks = open();
  marks.mark(CONCERN, 'engine', 'normal');
  renameSync(join(dir, CONCERN), join(dir, 'aside'));
  marks.clear(CONCERN, 'engine');
  renameSync(join(dir, 'aside'), join(dir, CONCERN));
  assert.equal(open().found(CONCERN), 'normal');
  marks.clear(CONCERN, 'engine');
  assert.equal(open().found(CONCERN), undefined);
});

test('an engine that cannot be saved is marked until it is', async (t) => {
  const { open } = marksIn(t);
  const marks = open();
  let isFull = true;
  const store = markingSaves(
    {
      loadEngine: () => undefined,
      lastEntry: () => 0,
      setStatus: async () => undefined,
      saveEngine: async () => {
        if (isFull) throw new Error('the disk is full');
      },
    },
    marks,
  );
  await assert.rejects(store.saveEngine(CONCERN, {}, []), /the disk is full/);
  assert.equal(open().found(CONCERN), 'normal');
  isFull = false;
  await store.saveEngine(CONCERN, {}, []);
  assert.equal(open().found(CONCERN), undefined);
});
