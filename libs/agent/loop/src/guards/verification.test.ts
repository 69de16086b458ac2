import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JournalEntry } from '../run/run-state.ts';
import { createVerification } from './verification.ts';

const unverified = (journal: readonly JournalEntry[], canRun: boolean) => {
  const verification = createVerification(canRun);
  for (const entry of journal) verification.add(entry);
  return verification.unverified();
};

const wrote = (detail: string, ok = true): JournalEntry => ({ tool: 'write_file', ok, detail });
const edited = (detail: string): JournalEntry => ({ tool: 'edit_file', ok: true, detail });
const read = (detail: string, ok = true): JournalEntry => ({ tool: 'read_file', ok, detail });
const ran = (detail: string, exitCode: number | null = 0): JournalEntry => ({
  tool: 'shell_exec',
  ok: exitCode === 0,
  detail,
  exit_code: exitCode,
});

const JOURNALS: [what: string, journal: JournalEntry[], unverified: string[]][] = [
  ['nothing', [], []],
  ['a write', [wrote('a')], ['a']],
  ['a write that failed', [wrote('a', false)], []],
  ['a write and a look at it', [wrote('a'), read('a')], []],
  ['a write and a look that failed', [wrote('a'), read('a', false)], ['a']],
  ['a look before the write', [read('a'), wrote('a')], ['a']],
  ['a write and a look at another file', [wrote('a'), read('b')], ['a']],
  ['two writes, one looked at', [wrote('a'), wrote('b'), read('b')], ['a']],
  ['an edit after the look', [wrote('a'), read('a'), edited('a')], ['a']],
  ['a check that passes', [wrote('a'), edited('b'), ran('make')], []],
  ['a check that fails', [wrote('a'), ran('make', 2)], ['a']],
  ['a check that was killed', [wrote('a'), ran('make', null)], ['a']],
  ['a write after the check', [wrote('a'), ran('make'), wrote('b')], ['b']],
  [
    'a command that checks nothing',
    [wrote('a'), ran('echo ok'), ran('true'), ran('ls'), ran('cat b')],
    ['a'],
  ],
  ['a check whose exit code is hidden', [wrote('a'), ran('npm test || true'), ran('npm test | tail')], ['a']],
  ['a file that cat shows', [wrote('a'), ran('cat a')], []],
  ['a file that sed shows', [wrote('conf/a.yaml'), ran("cd conf && sed -n '1,20p' a.yaml")], []],
  ['a file that head shows in a pipe', [wrote('a.css'), ran('cat a.css | head -20; echo')], []],
  ['a file that is only copied', [wrote('a'), ran('cat a > /tmp/b')], ['a']],
  ['a program that cat shows', [wrote('a.ts'), ran('cat a.ts')], ['a.ts']],
  ['a file that a command was killed over', [wrote('a'), ran('cat a', null)], ['a']],
  [
    'a Dockerfile and SQL that were read',
    [wrote('Dockerfile'), wrote('a.sql'), read('Dockerfile'), read('a.sql')],
    [],
  ],
  ['tests of which none ran', [wrote('a'), { ...ran('npm test'), tests: 0 }], ['a']],
  ['tests that ran', [wrote('a'), { ...ran('npm test'), tests: 3 }], []],
  ['a search of the file', [wrote('a'), { ...read('x in a'), tool: 'grep_files' }], []],
  ['a search of all files', [wrote('a'), { ...read('x in .'), tool: 'grep_files' }], ['a']],
  ['a program that was only read', [wrote('a.ts'), read('a.ts')], ['a.ts']],
  ['a program that was run', [wrote('lib/a.js'), ran('cd lib && node ./a.js')], []],
  ['another program that was run', [wrote('a.js'), ran('node b.js')], ['a.js']],
  [
    'a program and a file of data',
    [wrote('a.js'), wrote('a.csv'), ran('node -p 1 a.csv')],
    ['a.js', 'a.csv'],
  ],
  [
    'a command that writes',
    [ran("cat > b.py <<'EOF'\nx = 1\nEOF"), ran('tee c.md < b.py')],
    ['b.py', 'c.md'],
  ],
  ['a command that writes and checks', [ran('echo 1 > a.js && node a.js')], []],
  ['a command that checks and then writes', [wrote('a'), ran('make && echo 1 > b.md')], ['b.md']],
  ['a command that writes and fails', [ran('sed -i s/a/b/ a.ts && make', 2)], ['a.ts']],
  [
    'changes that are not named',
    [ran('git apply fix.patch'), ran('npm install x')],
    ['`git apply fix.patch`', '`npm install x`'],
  ],
  ['a file that is moved', [wrote('a.md'), ran('mv a.md b.md')], ['b.md']],
  ['prose that is removed', [wrote('a.md'), wrote('d/b.md'), ran('rm -r a.md d')], []],
  ['a program that is removed', [ran('rm a.ts')], ['a.ts']],
  ['notes and temporary files', [ran('echo x > /tmp/a; echo y > .scratch/b; echo z 2> /dev/null')], []],
  ['a look with a command', [wrote('a.md'), wrote('b.md'), ran('grep -q x a.md')], ['b.md']],
  ['a file by its whole path', [ran('echo x > /home/w/a.md'), read('a.md')], []],
];

for (const [what, journal, files] of JOURNALS) {
  test(`what is unverified after ${what}`, () => assert.deepEqual(unverified(journal, true).files, files));
}

test('what a command in the background writes is unverified, and it checks nothing', () => {
  const started = (detail: string, ok = true): JournalEntry => ({ tool: 'shell_start', ok, detail });
  assert.deepEqual(unverified([started('sed -i s/a/b/ a.ts && make')], true).files, ['a.ts']);
  assert.deepEqual(unverified([started('echo x > a.ts'), ran('make')], true).files, []);
  assert.deepEqual(unverified([wrote('a.ts'), started('rm b.md; npm test')], true).files, ['a.ts']);
  assert.deepEqual(unverified([wrote('b.md'), started('rm b.md')], true).files, []);
  assert.deepEqual(unverified([started('echo x > a.ts: not started', false)], true).files, []);
});

test('a write interrupted by a restart is unverified', () => {
  const cutOff = (tool: string, detail: string): JournalEntry => ({ tool, ok: false, detail, unknown: true });
  assert.deepEqual(unverified([cutOff('write_file', 'a.ts')], true).files, ['a.ts']);
  assert.deepEqual(unverified([cutOff('edit_file', 'a.md'), read('a.md')], true).files, []);
  assert.deepEqual(unverified([cutOff('shell_start', 'echo x > a.ts')], true).files, ['a.ts']);
  assert.deepEqual(unverified([cutOff('shell_exec', 'sed -i s/a/b/ a.ts && make')], true).files, ['a.ts']);
});

test('an inline script verifies the files that it loads, not those that it only mentions', () => {
  for (const [line, left] of [
    [`node -e "console.log('main works')"`, 1],
    [`python3 -c "print('main')"`, 1],
    [`node -e "require('./domain')"`, 1],
    [`node -e "require('./main')"`, 0],
    [`node --input-type=module -e "import './main.js'"`, 0],
    ["node - <<'EOF'\nrequire('./main')\nEOF", 0],
    ["sh <<'EOF'\nnode main.js || true\nEOF", 1],
    ['node main', 0],
  ] as const)
    assert.equal(unverified([wrote('main.js'), ran(line)], true).files.length, left, line);
  assert.deepEqual(unverified([wrote('a.md'), ran('grep -q "see the a of it" b.md')], true).files, ['a.md']);
});

test('any command line is judged in bounded time, and one that is too long is no check', () => {
  const names = (count: number, letter: string) =>
    Array.from({ length: count }, (_, at) => `${letter}${at}.js`).join(' ');
  const long = ran(`touch ${names(20_000, 'f')} && npm test`);
  assert.match(unverified([long], true).files.join(), /^`touch f0\.js/);
  assert.equal(
    unverified([ran(`touch ${names(4000, 'f')}`), ran(`node ${names(4000, 'g')}`)], true).files.length,
    4000,
  );
});

test('without commands, reading verifies even a program', () => {
  assert.deepEqual(unverified([wrote('a.ts'), read('a.ts')], false).files, []);
  assert.deepEqual(unverified([wrote('a.ts'), read('b.ts')], false).files, ['a.ts']);
});

test('the reason names why the last check does not count', () => {
  const why = (...journal: JournalEntry[]) => unverified([wrote('a.ts'), ...journal], true).why;
  assert.equal(
    why(ran('npm test | tail -5')),
    '`npm test | tail -5` does not count, since its exit code is hidden',
  );
  assert.equal(why({ ...ran('pytest -q'), tests: 0 }), '`pytest -q` does not count, since it ran no test');
  assert.equal(why(ran('tsc', 2)), '`tsc` did not succeed');
  assert.equal(why(ran('make', null)), '`make` was killed');
  assert.equal(why(ran('ls')), undefined);
  assert.equal(why(ran('tsc', 2), ran('tsc')), undefined);
  assert.equal(why(ran('tsc', 2), wrote('b.ts')), undefined);
});
