import { call, circle, edit, honest, read, rounds, sh, type Trace, write } from './trace.ts';

const PLAN =
  'No changes. Your infrastructure matches the configuration.\nTerraform has compared your real infrastructure against it.';
const SUBJECT = 'Merge the release branch into main so that all of the branches have the fix of the day';
const PASSED =
  '# tests 4\n# suites 0\n# pass 4\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 123.4';
const LICENSE = 'Permission is hereby granted, free of charge, to any person. '.repeat(9);
const MUTANTS = ['<=', '>', '>=', '==', '!=', '===', '!==', '<<', '+ 1 <', '- 1 <'].map(
  (operator) => `a ${operator} b`,
);

/** Calls that come to the same: of different things, which is honest, and of the same thing, which is a circle. */
export const SAME_RESULTS: readonly Trace[] = [
  honest(
    'no environment differs, by directory',
    ...rounds(10, (at) => [sh(`terraform -chdir=env/${at} plan | tail -3`, PLAN)]),
  ),
  honest(
    'no environment differs, by cd',
    ...rounds(10, (at) => [sh(`cd env/${at} && terraform plan | tail -3`, PLAN)]),
  ),
  honest(
    'no environment differs, by variable',
    ...rounds(10, (at) => [sh(`TF_WORKSPACE=stage-${at} terraform plan | tail -3`, PLAN)]),
  ),
  honest(
    'ten branches end with the same merge',
    ...rounds(10, (at) => [sh(`git log -1 --format=%s origin/b${at}`, SUBJECT)]),
  ),
  honest('ten licenses are equal', ...rounds(10, (at) => [read(`packages/p${at}/LICENSE`, LICENSE)])),
  honest(
    'ten licenses are equal, by cat',
    ...rounds(10, (at) => [sh(`cat < packages/p${at}/LICENSE`, LICENSE)]),
  ),
  honest(
    'each of twelve test files passes alike',
    ...rounds(12, (at) => [sh(`node --test test/f${at}.test.ts 2>&1 | tail -8`, PASSED)]),
  ),
  honest(
    'each of twelve test files passes alike, with its exit code',
    ...rounds(12, (at) => [sh(`node --test test/f${at}.test.ts`, PASSED)]),
  ),
  honest(
    'each of twelve files is edited and tested alone',
    ...rounds(12, (at) => [
      edit(`src/f${at}.ts`, `old${at}`, `fresh${at}`),
      sh(`node --test test/f${at}.test.ts 2>&1 | tail -8`, PASSED),
    ]),
  ),
  honest(
    'the log of a build that runs in the background is polled',
    call('shell_start', { command: 'make > build.log 2>&1' }, { id: 'p0.1', state: 'running', output: '' }),
    ...rounds(9, () => [sh('tail -n 1 build.log', 'compiling the sources of the kernel')]),
    sh('tail -n 1 build.log', 'done'),
  ),
  honest(
    'ten mutants of one line are killed, and the line is restored by an edit',
    ...rounds(10, (at) => [
      edit('m.ts', 'if (a < b)', `if (${MUTANTS[at]})`),
      sh('npm test', `3 failed: case ${at}`, 1),
      edit('m.ts', `if (${MUTANTS[at]})`, 'if (a < b)'),
    ]),
  ),
  honest(
    'ten mutants of one line are killed alike',
    ...rounds(10, (at) => [
      edit('m.ts', 'if (a < b)', `if (${MUTANTS[at]})`),
      sh('npm test', '1 failed\nexpected 2 got 3', 1),
      edit('m.ts', `if (${MUTANTS[at]})`, 'if (a < b)'),
    ]),
  ),
  honest(
    'ten packages get the same license, and the tests pass after each',
    ...rounds(10, (at) => [write(`packages/p${at}/LICENSE`, LICENSE), sh('npm test', PASSED)]),
  ),
  circle(
    'the log of a build that has ended is polled',
    call('shell_start', { command: 'make > build.log 2>&1' }, { id: 'p0.1', state: 'running', output: '' }),
    call('shell_output', { id: 'p0.1' }, { id: 'p0.1', state: 'ended', exited_with: 2, output: '' }),
    ...rounds(9, () => [sh('tail -n 1 build.log', 'make: *** [all] Error 2')]),
  ),
  circle(
    'the log of a build that hangs is polled for ever',
    call('shell_start', { command: 'make > build.log 2>&1' }, { id: 'p0.1', state: 'running', output: '' }),
    ...rounds(40, () => [sh('tail -n 1 build.log', 'compiling the sources of the kernel')]),
  ),
  circle(
    'a process that has ended is asked again and again',
    ...rounds(10, () => [
      call('shell_output', { id: 'p0.1' }, { id: 'p0.1', state: 'ended', exited_with: 1, output: '' }),
    ]),
  ),
  circle(
    'a server that crashes is started again and again',
    ...rounds(10, (at) => [
      call('shell_start', { command: 'npm start' }, { id: `p${at}`, state: 'running', output: '' }),
      call(
        'shell_output',
        { id: `p${at}` },
        { id: `p${at}`, state: 'ended', exited_with: 1, output: 'Error: EADDRINUSE' },
      ),
    ]),
  ),
  circle(
    'one file is shown by different commands',
    ...rounds(10, (at) => [
      sh(
        [`head -${50 + at} c.md`, `cat ./c.md | tail -${60 + at}`, `sed -n '1,${70 + at}p' c.md`][at % 3] ??
          '',
        LICENSE,
      ),
    ]),
  ),
  circle(
    'the same content in a new file for each attempt',
    ...rounds(14, (at) => [
      write(`attempt_${at}.py`, 'import foo\nfoo.run()\n'),
      sh(`python3 attempt_${at}.py`, 'ModuleNotFoundError: No module named foo', 1),
    ]),
  ),
  circle(
    'the same progress is reported again and again',
    ...rounds(16, () => [call('progress_update', { text: 'still working on it' }, { noted: true })]),
  ),
];
