import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readingOf } from './reading.ts';

const KEPT = '.scratch/outputs/task-7.0.txt';

const OTHERS = [
  ...['', 'cat', 'make', 'catalog a.txt', 'cat a.txt > b.txt', 'cat a.txt && make', 'cat a.txt; make'],
  ...['cat a.txt\nmake', 'cat $(make)', 'cat `make`', 'cat "$(make)"', 'cat *.txt', 'cat a.txt | make'],
  ...['cat a.txt | head b.txt', 'cat a.txt || make', "sed -n 's/a/b/w out' a.txt", "sed -n '1e make' a.txt"],
  ...["sed -i '1,2p' a.txt", 'sed 1,2p a.txt', 'head <a.txt', `cat ${'a'.repeat(3000)}`],
];

const READERS = [
  ...['cat a.txt', '  cat -n src/a.ts src/b.ts ', 'head -n 50 a.txt', 'head -50 a.txt', 'nl a.txt'],
  ...['tail -n +20 "a file.txt"', "sed -n '1,200p' a.txt", 'sed -n 5p a.txt', "sed -n '10,$p' a.txt"],
  ...["cat a.txt | sed -n '10,20p'", 'cat a.txt | head -n 20 | tail -5', `cat ${KEPT} a.txt`],
];

const OF_KEPT = [`cat ${KEPT}`, `sed -n '1,9p' ./${KEPT}`, `tail /w/tree/${KEPT}`];

for (const [what, commands, reading] of [
  ['a command that only shows files', READERS, { isKeptOutput: false }],
  ['reading kept outputs', OF_KEPT, { isKeptOutput: true }],
  ['every other command', OTHERS, undefined],
] as const)
  test(`${what} is recognized`, () => {
    for (const command of commands) assert.deepEqual(readingOf(command), reading, command);
  });
