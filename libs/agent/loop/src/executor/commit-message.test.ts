import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
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

/** Pieces of which hostile texts are made. */
const PIECES = [
  '[skip ci]',
  '[ci skip]',
  '[Skip-CI]',
  '[no ci]',
  '[skip [no ci]]',
  '[**skip** ci]',
  '[skip\u0000 ci]',
  '***NO_CI***',
  'skip-checks: true',
  'skip-checks:: true',
  'Signed-off-by: Ann <a@b.example>',
  'Co-authored-by: Ann <a@b.example>',
  'Fleet-Task: other',
  'Team: other',
  '(cherry picked from commit 1234)',
  '---',
  '--- a/x',
  '# ------------------------ >8 ------------------------',
  'Conflicts:',
  'Fixes #12',
  'closes: acme/web#1',
  'fix#12x',
  '# heading',
  '```',
  '\t',
  '\n',
  '\n\n',
  '\r\n',
  '\r',
  ' ',
  '\u2028',
  '\ud800',
  '\uffff',
  '🙂',
  '. A',
  '- ',
  '**',
  '@ann',
  'word',
  'x'.repeat(80),
  'a '.repeat(40),
  ':',
  '[',
  ']',
];
const anyText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...PIECES) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));
const anyOptions = fc.record({
  taskId: anyText.map((text) => `id ${text}`),
  result: fc.record({
    status: fc.constantFrom('done' as const, 'partial' as const, 'error' as const),
    text: anyText,
    remaining: fc.array(anyText, { maxLength: 12 }),
    evidence: fc.array(
      fc.record({
        kind: fc.constantFrom('command' as const, 'claimed' as const),
        detail: anyText,
        exitCode: fc.constant(0),
      }),
      { maxLength: 12 },
    ),
  }),
  trailers: fc.constantFrom<Readonly<Record<string, string>>>({}, { Team: 'web', 'Change-Id': 'I1' }),
  signOff: fc.constantFrom(undefined, { name: 'Acme', email: 'bot@acme.example' }),
});

test('git reads any message as one subject and our trailers alone', (t) => {
  const cwd = tempDir(t);
  const git = (args: readonly string[], input = ''): string =>
    execFileSync('git', args, {
      cwd,
      input,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: cwd,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'a',
        GIT_AUTHOR_EMAIL: 'a',
        GIT_COMMITTER_NAME: 'a',
        GIT_COMMITTER_EMAIL: 'a',
      },
    });
  git(['init', '--quiet']);
  const tree = git(['mktree']).trim();
  fc.assert(
    fc.property(anyOptions, (options) => {
      const commit = git(['commit-tree', tree], commitMessage(options)).trim();
      const [subject = '', message = ''] = git(['log', '-1', '--format=%s%x00%B', commit]).split('\0');
      assert.ok(subject !== '' && Array.from(subject).length <= 72, subject);
      assert.equal(message.split('\n')[0], subject);
      const [task, ...others] = git(['interpret-trailers', '--parse'], message).trim().split('\n');
      assert.match(task ?? '', /^Fleet-Task: id/);
      const expected = Object.entries(options.trailers).map(([name, value]) => `${name}: ${value}`);
      assert.deepEqual(others, [
        ...expected,
        ...(options.signOff ? ['Signed-off-by: Acme <bot@acme.example>'] : []),
      ]);
    }),
    { numRuns: 40 },
  );
});

test('no message keeps checks from running, closes an issue, or speaks for somebody', () => {
  fc.assert(
    fc.property(anyOptions, (options) => {
      const message = commitMessage({ ...options, signOff: undefined });
      assert.doesNotMatch(message, /\[(?:skip[ -]ci|ci[ -]skip|no ci)\]|\*{3}NO_CI\*{3}|skip-checks: ?true/i);
      assert.doesNotMatch(message, /(?<![a-z0-9])(?:fix(?:es)?|closes):?\s*(?:acme\/web)?#\d/i);
      assert.doesNotMatch(message, /(?:signed-off|co-authored)-by:/i);
      assert.deepEqual(message.match(/^Fleet-Task:/gim)?.length, 1);
    }),
  );
});

test('ordinary text stays as it is', () => {
  const text = [
    'Subject',
    'The decorator `@Injectable` and @types/node; mail ann@acme.example, see #12 and acme/web#3.',
    'const [skip, take] = page; items[no]; [skipped] 2 tests; sort-by: name',
    'This fixes the race. Closed 3 files: see https://forge.example/acme/web/issues/3',
    '-- a signature',
  ];
  assert.equal(bodyOf(done(text.join('\n'))).replace(/\s+/g, ' '), text.slice(1).join(' '));
});
