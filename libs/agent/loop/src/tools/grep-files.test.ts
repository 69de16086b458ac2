import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles, createConfinement } from '@hermes-fleet/workspace';
import { cannotConfine, commandsFolder, makePlace } from '@hermes-fleet/workspace/testing';
import { makeToolContext } from '../../testing/harness.ts';
import { grepFilesTool } from './grep-files.ts';

const FILES = {
  'a.ts': 'one\nfoo(1)\nthree\n',
  'src/b.ts': 'foo(2)\r\nFOO\n',
  'src/c.md': 'food\n',
  'src/:odd name:.md': 'a.b food\n',
  'node_modules/p/i.ts': 'foo(3)\n',
  '.git/config': 'foo(4)\n',
  '.scratch/outputs/o.txt': 'foo(5)\n',
};

function fill(root: string): void {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  writeFileSync(join(root, 'binary'), Buffer.concat([Buffer.from('foo(6)\n'), Buffer.from([0, 1])]));
  symlinkSync('a.ts', join(root, 'link'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
}

function treeOf(t: TestContext, commands: boolean) {
  const root = tempDir(t);
  fill(root);
  const context = makeToolContext({ dir: root, files: anchoredFiles(root, false) });
  const grep = grepFilesTool({ clock: systemClock, commands });
  return { root, context, grep: (input: object, more = {}) => grep.run(input, { ...context, ...more }) };
}

for (const commands of [true, false]) {
  const by = commands ? 'by grep' : 'in the gateway';
  const notes = commands ? {} : { notes: ['searched for the literal text'] };

  test(`literal text is found ${by}`, async (t) => {
    const { grep } = treeOf(t, commands);
    const fixed = commands ? { fixed: true } : {};
    const found = async (input: object) => (await grep({ ...fixed, ...input })).output;
    const inTree = ['a.ts:2: foo(1)', 'src/b.ts:1: foo(2)'];
    assert.deepEqual(await found({ pattern: 'foo(' }), { matches: 2, files: 2, first: inTree, ...notes });
    assert.deepEqual(await found({ pattern: 'foo', include: '*.md' }), {
      matches: 2,
      files: 2,
      first: ['src/:odd name:.md:1: a.b food', 'src/c.md:1: food'],
      ...notes,
    });
    assert.deepEqual(await found({ pattern: 'foo', path: 'src/b.ts', ignore_case: true }), {
      matches: 2,
      files: 1,
      first: ['src/b.ts:1: foo(2)', 'src/b.ts:2: FOO'],
      ...notes,
    });
    const inPackages = { matches: 1, files: 1, first: ['node_modules/p/i.ts:1: foo(3)'], ...notes };
    assert.deepEqual(await found({ pattern: 'foo', path: 'node_modules' }), inPackages);
    const spilled = { matches: 1, files: 1, first: ['.scratch/outputs/o.txt:1: foo(5)'], ...notes };
    assert.deepEqual(await found({ pattern: 'foo', path: '.scratch/outputs/o.txt' }), spilled);
    assert.deepEqual(await found({ pattern: 'a.b' }), {
      matches: 1,
      files: 1,
      first: ['src/:odd name:.md:1: a.b food'],
      ...notes,
    });
    assert.deepEqual(await found({ pattern: 'nowhere' }), { matches: 0, files: 0, ...notes });
    assert.deepEqual(await found({ pattern: '-e' }), { matches: 0, files: 0, ...notes });
    assert.deepEqual(await found({ pattern: 'foo', path: 'binary' }), { matches: 0, files: 0, ...notes });
    assert.match(String(await found({ pattern: 'foo', path: 'absent' })), /no such file/);
    assert.match(String(await found({ pattern: 'foo', path: 'pipe' })), /not a regular file/);
    assert.match(String(await found({ pattern: 'foo', path: '.git' })), /off limits/);
    assert.match(String(await found({ pattern: 'a\nb' })), /line by line/);
  });

  test(`all matches are counted, the first are shown and long lines are cut ${by}`, async (t) => {
    const { root, grep } = treeOf(t, commands);
    writeFileSync(join(root, 'many.txt'), 'needle\n'.repeat(5000));
    writeFileSync(join(root, 'wide.txt'), `${'x'.repeat(2_000_000)}needle${'y'.repeat(100_000)}\n`);
    const { output } = await grep({ pattern: 'needle' });
    const text = JSON.stringify(output);
    assert.ok(text.length < 20_000, `${text.length}`);
    assert.match(text, /"matches":5001,"files":2/);
    assert.match(text, /"more":"49\d\d more: narrow the pattern/);
  });
}

test('expressions have Perl syntax, and invalid ones are explained', async (t) => {
  const { grep } = treeOf(t, true);
  const found = async (pattern: string) => (await grep({ pattern })).output;
  const calls = { matches: 2, files: 2, first: ['a.ts:2: foo(1)', 'src/b.ts:1: foo(2)'] };
  assert.deepEqual(await found('foo\\(\\d\\)'), calls);
  assert.deepEqual(await found('^foo(?!d)'), calls);
  assert.match(String(await found('foo(')), /missing.*parenthes|unmatched/i);
  assert.equal((await grep({ pattern: '[' })).ok, false);
});

test('an expression with catastrophic backtracking is stopped and does not block the event loop', async (t) => {
  const { root, grep } = treeOf(t, true);
  writeFileSync(join(root, 'bomb'), `${'a'.repeat(50_000)}\n`);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 5);
  t.after(() => clearInterval(timer));
  const started = performance.now();
  for (const pattern of ['^(a+)+$b', '(a*)*b', '(a|aa)+$c', '(((a{1,100}){1,100}){1,100})b']) {
    const { output } = await grep({ pattern, path: 'bomb' });
    assert.match(JSON.stringify(output), /limit|stopped|too large|memory|"matches":0/i, pattern);
  }
  t.diagnostic(`${Math.round(performance.now() - started)} ms, ${turns} turns of the event loop`);
  assert.ok(turns > 3);
  const canceled = new AbortController();
  const reason = new Error('canceled');
  const search = grep({ pattern: 'x' }, { signal: canceled.signal });
  canceled.abort(reason);
  await assert.rejects(search, reason);
});

test('a missing grep, a grep without Perl expressions and a failed start are reported', async (t) => {
  const { context } = treeOf(t, true);
  const grep = grepFilesTool({ clock: systemClock, commands: true });
  const run = (input: object, script: string) => {
    const workspace = {
      ...context.workspace,
      wrap: (_: string, args: readonly string[]) => ({
        command: '/bin/sh',
        args: ['-c', script, 'sh', ...args],
      }),
    };
    return grep.run(input, { ...context, workspace });
  };
  const without = 'PATH=/nonexistent; echo; exit 127';
  const plain = await run({ pattern: 'foo(', fixed: true }, without);
  assert.match(JSON.stringify(plain.output), /"matches":2.*searched for the literal text/);
  const expression = await run({ pattern: 'foo' }, without);
  assert.match(String(expression.output), /no grep on this machine.*fixed: true/);
  const old = `case " $* " in *" -P "*) echo; echo 'grep: support for the -P option is not compiled' >&2; exit 2;; esac; shift; exec /bin/sh -c "$@"`;
  const posix = await run({ pattern: 'fo{2}\\(' }, old);
  assert.match(JSON.stringify(posix.output), /"matches":2.*POSIX extended/);
  const broken = await run({ pattern: 'foo' }, 'echo "bwrap: no permission" >&2; exit 1');
  assert.match(String(broken.output), /could not be started: bwrap: no permission/);
  assert.equal(broken.ok, false);
});

for (const confine of ['bubblewrap', 'uid'] as const) {
  test(`a search is confined like commands (${confine})`, { skip: cannotConfine(confine) }, async (t) => {
    const place = makePlace(t);
    const confinement = await createConfinement({ confine, ...place, clock: systemClock, log: silentLog });
    const root = await commandsFolder(place, confinement);
    fill(root);
    const context = makeToolContext({ dir: root, files: anchoredFiles(root, confinement.otherUser) });
    const reach = { writable: [root], readOnly: [] };
    const workspace: typeof context.workspace = {
      ...context.workspace,
      wrap: (command, args) => confinement.wrap(command, args, reach),
    };
    const grep = grepFilesTool({ clock: systemClock, commands: true });
    const found = async (input: object) => (await grep.run(input, { ...context, workspace })).output;
    const first = ['src/b.ts:1: foo(2)'];
    assert.deepEqual(await found({ pattern: 'foo\\(', path: 'src' }), { matches: 1, files: 1, first });
    assert.deepEqual(await found({ pattern: 'foo\\(', path: 'src/b.ts' }), { matches: 1, files: 1, first });
  });
}
