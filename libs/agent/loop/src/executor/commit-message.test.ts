import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import { commitMessage } from './commit-message.ts';

const done = (text: string, more: Partial<RunOutcome> = {}) => ({ status: 'done' as const, text, ...more });
const messageOf = (result: Parameters<typeof commitMessage>[0]['result']): string =>
  commitMessage({ taskId: 'task-1', result, trailers: {}, signOff: undefined });
const subjectOf = (text: string): string => messageOf(done(text)).split('\n')[0] ?? '';
/** The paragraphs between subject and trailers. */
const bodyOf = (result: Parameters<typeof commitMessage>[0]['result']): string =>
  messageOf(result).split('\n\n').slice(1, -1).join('\n\n');

const SENTENCES = 'I added a `--json` flag to the export command of the CLI. It prints what the table has.';

test('the subject is the first line that says something, as a person would write it', () => {
  for (const [text, subject] of [
    ['Wrote haiku.txt with a haiku about the sea.', 'Wrote haiku.txt with a haiku about the sea'],
    ['## Add a `--json` flag\n\nIt works.', 'Add a `--json` flag'],
    ['\n\n---\n**Fixed** the **race** in `close()`:\n- a', 'Fixed the race in `close()`'],
    ['- [x] tests pass', '[x] tests pass'],
    ['> 1. quoted', 'quoted'],
    ['**Summary**\n\nRenamed the module.', 'Renamed the module'],
    ['## Done!\nRenamed the module.', 'Renamed the module'],
    ['Done.', 'Done'],
    ['```ts\nconst a = 1;\n```', 'const a = 1;'],
    [SENTENCES, 'I added a `--json` flag to the export command of the CLI'],
    [`${'word '.repeat(20)}end`, `${'word '.repeat(14)}…`.replace(' …', '…')],
    ['x'.repeat(100), `${'x'.repeat(71)}…`],
    ['🙂'.repeat(100), 'Task task-1'],
    ['--- a/x.ts', 'a/x.ts'],
    [`a${'🙂'.repeat(100)}`, `a${'🙂'.repeat(70)}…`],
    [`${'ü'.repeat(72)}.`, 'ü'.repeat(72)],
    ['Red \u001b[31mtext\u001b[0m\twith\u0000 \u202econtrols', 'Red text with controls'],
    ['[fix]\nre: [wip]\nMended it.', 'Mended it'],
    ['[fix]', 'Task task-1'],
    ['', 'Task task-1'],
    ['…', 'Task task-1'],
  ] as const)
    assert.equal(subjectOf(text), subject);
  assert.equal(
    messageOf({ status: 'done', text: '{\n "a": 1 }', output: { a: 1 } }),
    'Task task-1\n\nFleet-Task: task-1\n',
  );
});

test('the body has the rest of the text, also of a first line that is cut, wrapped at 72 characters', () => {
  assert.equal(bodyOf(done(SENTENCES)), 'It prints what the table has.');
  const long = `${'word '.repeat(30)}end`;
  assert.equal(bodyOf(done(long)).replaceAll('\n', ' '), long);
  const item = `- ${'word '.repeat(20)}end`;
  assert.equal(
    bodyOf(done(`Subject\n\n${item}\n\n\n\n# Heading\n\`\`\`\n${'code '.repeat(20)}end\n\`\`\``)),
    [
      `- ${'word '.repeat(14).trim()}`,
      `  ${'word '.repeat(6)}end`,
      '',
      '# Heading',
      '```',
      `${'code '.repeat(20)}end`,
      '```',
    ].join('\n'),
  );
  const lines = bodyOf(done(`Subject\n${'line\n'.repeat(100)}`)).split('\n');
  assert.deepEqual([lines.length, lines.at(-1)], [21, '…']);
  assert.ok(bodyOf(done(`Subject\n${'x'.repeat(1e7)}`)).length <= 2001);
});

test('a result that is not done says so, and evidence says how it was checked', () => {
  const remaining = ['the tests of Windows', 'line one\nline two'];
  assert.equal(
    bodyOf({ status: 'partial', text: 'Half of it.', remaining }),
    'Not finished:\n- the tests of Windows\n- line one line two',
  );
  const error = { code: 'x', message: 'the model failed', retryable: true };
  assert.equal(bodyOf({ status: 'error', text: 'Half.', error }), 'Not finished:\n- the model failed');
  const many = Array.from(
    { length: 12 },
    (_, index) => ({ kind: 'command', detail: `c${index}`, exitCode: 0 }) as const,
  );
  const evidence = [
    { kind: 'reread', detail: 'a.ts' },
    { kind: 'command', detail: 'npm test', exitCode: 0, afterWrite: true },
    { kind: 'command', detail: 'npm test', exitCode: 0, afterWrite: true },
    { kind: 'command', detail: 'npm run\nlint', exitCode: 2, afterWrite: false },
    { kind: 'command', detail: 'sleep 9', exitCode: null },
    { kind: 'review', detail: 'no objections' },
    { kind: 'claimed', detail: 'pull request https://forge.example/1' },
  ] as const;
  assert.equal(
    bodyOf(done('All.', { evidence: [...evidence] })),
    [
      'Checked:',
      '- npm test (exit code 0)',
      '- npm run lint (exit code 2, before the last change)',
      '- sleep 9 (no exit code)',
      '- review: no objections',
      '- claimed: pull request https://forge.example/1',
    ].join('\n'),
  );
  assert.match(
    bodyOf(done('All.', { evidence: many })),
    /^Checked:\n- c2 .*\n- c11 \(exit code 0\)\n- and 2 earlier ones$/s,
  );
});

test('what a forge obeys is reworded so that it can be read', () => {
  for (const [text, reworded] of [
    ['Now [skip netlify] and x[skip ci].', 'Now (skip netlify) and x(skip ci).'],
    ['[azurepipelines skip] [CI SKIP] [skip travis-ci]', '(azurepipelines skip) (CI SKIP) (skip travis-ci)'],
    ['Fixes AB#123, closes PROJ-12.', 'Fixes (see AB#123), closes (see PROJ-12).'],
    ['fixes ENG-3; reopens #4; fixes bug 5', 'fixes (see ENG-3); reopens (see #4); fixes (see bug 5)'],
    ['Fixes https://linear.example/a/issue/ENG-3/x.', 'Fixes (see https://linear.example/a/issue/ENG-3/x).'],
    [
      'closes: [#12](https://a.example), fixes **#1**',
      'closes: see [#12](https://a.example), fixes: see **#1**',
    ],
    ['fix fix#12', 'fix (see fix (see #12))'],
    ['PROJ-1 #close', 'PROJ-1 close'],
    ['PROJ-1 as well #time 2d #done', 'PROJ-1 as well time 2d done'],
    ['/approve', '`/approve`'],
    ['  /tag v9', '  `/tag` v9'],
    [`- ${'word '.repeat(14)}/merge now`, `- ${'word '.repeat(14).trim()}\n  \`/merge\` now`],
    ['diff -u a b', ' diff -u a b'],
    ['Date: today', ' Date: today'],
    ['---- 8< ----', '---- 8 < ----'],
  ] as const)
    assert.equal(bodyOf(done(`Subject\n${text}`)), reworded);
});

test('ordinary text stays as it is', () => {
  const text = [
    'Subject',
    'The decorator `@Injectable` and @types/node; mail ann@acme.example, see #12 and acme/web#3.',
    'const [skip, take] = page; items[no]; [skipped] 2 tests; sort-by: name',
    'This fixes the race. Closed 3 files: see https://forge.example/acme/web/issues/3',
    'rows[to_skip], opts[skip_tests], a[no_ci]; if (size >8) x--; PROJ-1 and C# stay',
    'Fixes UTF-8 names, closed step-2, fixture#1; implements SHA-256 with #include',
    '/etc/hosts is read, and',
    '/usr/bin/x runs. From: here on. An Index: of names',
    '-- a signature',
  ];
  assert.equal(bodyOf(done(text.join('\n'))).replace(/\s+/g, ' '), text.slice(1).join(' '));
});
