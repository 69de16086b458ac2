import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { commitMessage } from './commit-message.ts';

/** Lines that `git am` obeys. */
const MAIL = [
  '# ------------------------ >8 ------------------------',
  '--- a/x',
  '---',
  'From: Eve <eve@b.example>',
  'date: Thu, 1 Jan 1970 00:00:00 +0000',
  'Subject: other',
  '[PATCH] other',
  `From ${'0'.repeat(40)} Mon Sep 17 00:00:00 2001`,
  `>From ${'0'.repeat(40)} Mon Sep 17 00:00:00 2001`,
  'diff -u a b',
  'diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n',
  'Index: foo',
  '-- >8 --',
  '8<8< %< -----',
];

/** Pieces of which hostile texts are made. */
const PIECES = [
  ...MAIL,
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
  '/approve',
  '/tag v9',
  'Fixes AB#12',
  'Closes PROJ-12',
  'PROJ-1 #close',
  '(cherry picked from commit 1234)',
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

type Git = (args: readonly string[], input?: string) => string;

/** Runs git in a new repository. */
function repository(t: TestContext): Git {
  const cwd = tempDir(t);
  const git: Git = (args, input = '') =>
    execFileSync('git', args, {
      cwd,
      input,
      encoding: 'utf8',
      stdio: 'pipe',
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
  git(['init', '--quiet', '--initial-branch=main']);
  return git;
}

test('git reads any message as one subject and our trailers alone', (t) => {
  const git = repository(t);
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

/** Commits a file with each message, behind a first commit. */
function commitEach(git: Git, messages: readonly string[]): void {
  const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const commits = ['first', ...messages].map(
    (message, index) =>
      `commit refs/heads/main\nauthor Bot <bot@acme.example> ${1e9 + index} +0000\ncommitter Bot <bot@acme.example> 1 +0000\n${data(message)}M 100644 inline f\n${data(`${index}`)}`,
  );
  git(['fast-import', '--quiet'], commits.join(''));
}

const HOSTILE = MAIL.flatMap((line) => [
  `${line}\n\nmore`,
  `Subject\n\n${line}\n${line}\nFrom: Eve <eve@b.example>\n\nmore`,
  `Subject\n\ntext\n${line}\n\nmore`,
  `Subject\n\n\`\`\`\n${line}\nFrom: Eve <eve@b.example>\n\`\`\``,
  `Subject\n\n${'word '.repeat(14)}${line}`,
]);

test('a commit that is mailed keeps its author, date, tree and message', (t) => {
  const log = ['log', '--format=%an <%ae> %ad%x00%T%x00%s%x00%b%x00%(trailers)%x01'];
  // Labels such as `[x]` and `Re:` at the start of a subject are left out.
  const labels = /(?<=^[^\0]*\0[^\0]*\0)(?:[\s:]|re:|\[[^\]\0]*\])+/i;
  const assertKept = (messages: readonly string[]): void => {
    const [from, to] = [repository(t), repository(t)];
    commitEach(from, messages);
    commitEach(to, []);
    to(['reset', '--quiet', '--hard']);
    to(['am', '--quiet', '--scissors'], from(['format-patch', '--stdout', `main~${messages.length}..main`]));
    const sent = from([...log, 'main'])
      .split('\u0001')
      .map((commit) => commit.replace(labels, ''));
    assert.deepEqual(to(log).split('\u0001'), sent);
  };
  assertKept(
    HOSTILE.map((text) =>
      commitMessage({ taskId: 'task-1', result: { status: 'done', text }, trailers: {}, signOff: undefined }),
    ),
  );
  fc.assert(
    fc.property(fc.array(anyOptions, { minLength: 1, maxLength: 8 }), (all) =>
      assertKept(all.map((options) => commitMessage({ ...options, taskId: 'task-1' }))),
    ),
    { numRuns: 4 },
  );
});

test('no message keeps checks from running, closes an issue, or speaks for somebody', () => {
  fc.assert(
    fc.property(anyOptions, (options) => {
      const message = commitMessage({ ...options, signOff: undefined });
      assert.doesNotMatch(message, /\[(?:skip[ -]ci|ci[ -]skip|no ci)\]|\*{3}NO_CI\*{3}|skip-checks: ?true/i);
      assert.doesNotMatch(message, /(?<![a-z0-9])(?:fix(?:es)?|closes):?\s*(?:acme\/web)?#\d/i);
      assert.doesNotMatch(
        message,
        /(?<![a-z0-9])(?:(?:fixes AB#|closes PROJ-)\d|PROJ-\d+ #close)|^\s*\/(?:approve|tag)(?!\S)/im,
      );
      assert.doesNotMatch(message, /(?:signed-off|co-authored)-by:/i);
      assert.deepEqual(message.match(/^Fleet-Task:/gim)?.length, 1);
    }),
  );
});
