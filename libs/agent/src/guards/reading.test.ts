import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readingOf } from './reading.ts';

const KEPT = '.scratch/outputs/task-7.0.txt';

test('a command that only shows files is recognized', () => {
  for (const command of [
    'cat a.txt',
    '  cat -n src/a.ts src/b.ts ',
    'head -n 50 a.txt',
    'head -50 a.txt',
    'tail -n +20 "a file.txt"',
    'nl a.txt',
    "sed -n '1,200p' a.txt",
    'sed -n 5p a.txt',
    "sed -n '10,$p' a.txt",
    "cat a.txt | sed -n '10,20p'",
    'cat a.txt | head -n 20 | tail -5',
  ])
    assert.deepEqual(readingOf(command), { isKeptOutput: false }, command);
});

test('reading kept outputs is recognized', () => {
  for (const command of [`cat ${KEPT}`, `sed -n '1,9p' ./${KEPT}`, `tail /w/tree/${KEPT}`])
    assert.deepEqual(readingOf(command), { isKeptOutput: true }, command);
  assert.deepEqual(readingOf(`cat ${KEPT} a.txt`), { isKeptOutput: false });
});

test('every other command is another one', () => {
  for (const command of [
    '',
    'cat',
    'make',
    'catalog a.txt',
    'cat a.txt > b.txt',
    'cat a.txt && make',
    'cat a.txt; make',
    'cat a.txt\nmake',
    'cat $(make)',
    'cat `make`',
    'cat "$(make)"',
    'cat *.txt',
    'cat a.txt | make',
    'cat a.txt | head b.txt',
    'cat a.txt || make',
    "sed -n 's/a/b/w out' a.txt",
    "sed -n '1e make' a.txt",
    "sed -i '1,2p' a.txt",
    'sed 1,2p a.txt',
    'head <a.txt',
    `cat ${'a'.repeat(3000)}`,
  ])
    assert.equal(readingOf(command), undefined, command);
});
