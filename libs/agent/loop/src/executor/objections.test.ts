import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JournalEntry } from '../run/run-state.ts';
import { ignoredObjections } from './objections.ts';

const EMPTY = 'The parser in src/parse.ts throws on empty input; parseLine needs a check.';
const DOCS = 'The manual still names the removed option.';

const ignored = (
  message: string,
  calls: readonly Partial<JournalEntry>[] = [],
  objections = [EMPTY, DOCS],
) => {
  const before: JournalEntry = { tool: 'write_file', ok: true, detail: 'src/parse.ts' };
  const after = calls.map((call): JournalEntry => ({ tool: 'shell_exec', ok: true, ...call }));
  const review = { state: 'closed', verdict: 'objections', detail: '', objections, journal: 1 } as const;
  return ignoredObjections(review, [before, ...after], message);
};

test('a reply that does not take up the objections ignores them', () => {
  for (const message of [
    'All is done.',
    '',
    'The parser is done.',
    'I wrote src/parse.ts with parseLine. All tests pass.',
    'The task is complete, and the files are as they should be.',
  ])
    assert.deepEqual(ignored(message), [EMPTY, DOCS], message);
});

test('each objection needs a reason of its own', () => {
  const first = 'Empty inputs do not reach the parser, since the caller checks them.';
  assert.deepEqual(ignored(first), [DOCS]);
  assert.deepEqual(ignored(`${first} The manual names the option for readers of old releases.`), []);
});

test('names and paths of the work are no reason', () => {
  const objection = 'Nothing in src/parse.ts or parseLine closes handles.';
  assert.deepEqual(ignored('I wrote src/parse.ts with parseLine.', [], [objection]), [objection]);
});

test('an objection in names alone is taken up by a name', () => {
  assert.deepEqual(ignored('All is done.', [], ['a.txt says B']), ['a.txt says B']);
  assert.deepEqual(ignored('B is what a.txt is to hold.', [], ['a.txt says B']), []);
});

test('a short reason for a long objection is enough', () => {
  const long = `${EMPTY} It also reads lines twice, keeps every result in memory, and leaves handles open afterwards.`;
  assert.deepEqual(
    ignored('Empty input is refused before; handles and memory are left to the caller.', [], [long]),
    [],
  );
});

test('tests, looks, failed writes and notes are no work on an objection', () => {
  for (const call of [
    { detail: 'npm test', exit_code: 0 },
    { detail: 'node --test', exit_code: 0 },
    { detail: 'cat src/parse.ts', exit_code: 0 },
    { detail: 'npm test > /tmp/out.txt', exit_code: 0 },
    { detail: 'sed -i s/a/b/ src/parse.ts', exit_code: 1, ok: false },
    { tool: 'write_file', detail: 'src/parse.ts', ok: false },
    { tool: 'write_file', detail: 'PROGRESS.json' },
    { tool: 'write_file', detail: '.scratch/notes.md' },
    { tool: 'read_file', detail: 'src/parse.ts' },
  ])
    assert.deepEqual(ignored('All is done.', [call]), [EMPTY, DOCS], JSON.stringify(call));
});

test('a changed or removed file is work on the objections', () => {
  for (const call of [
    { tool: 'edit_file', detail: 'src/parse.ts' },
    { detail: 'sed -i s/a/b/ src/parse.ts', exit_code: 0 },
    { detail: 'rm src/parse.ts', exit_code: 0 },
    { detail: 'git apply fix.patch', exit_code: 0 },
  ])
    assert.deepEqual(ignored('All is done.', [call]), [], JSON.stringify(call));
});
