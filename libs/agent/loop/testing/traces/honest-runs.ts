import { call, edit, failure, grep, honest, list, read, rounds, sh, type Trace, write } from './trace.ts';

const LISTING = 'README.md\npackage.json\nsrc\ntest';

/** Runs whose calls look alike and lead on: exploring, waiting, operating. */
export const HONEST_RUNS: readonly Trace[] = [
  honest(
    'ls five times over ten steps',
    ...rounds(5, (at) => [sh('ls', LISTING), read(`src/module-${at}.ts`)]),
  ),
  honest(
    'git status before each commit',
    ...rounds(6, (at) => [
      write(`docs/page-${at}.md`, `# Page ${at}\n`),
      sh('git status --short', '?? docs/'),
      sh(`git add -A && git commit -m "Page ${at}"`, `[main 00${at}] Page ${at}`),
    ]),
  ),
  honest(
    'thirty files are read',
    ...rounds(30, (at) => [read(`src/deep/file-${at}.ts`, `export const value = ${at};`)]),
  ),
  honest(
    'one file is read page by page',
    ...rounds(12, (at) => [
      call(
        'read_file',
        { path: 'big.log', offset: at * 500 + 1 },
        { content: `line ${at * 500 + 1} of the log`, lines: 6000 },
      ),
    ]),
  ),
  honest('twelve searches without a match', ...rounds(12, (at) => [grep(`oldName${at}`, '.', [])])),
  honest(
    'twelve commands that exit with 1 and print nothing',
    ...rounds(12, (at) => [sh(`grep -rq legacy_${at} src`, '', 1)]),
  ),
  honest(
    'a log that grows is polled',
    ...rounds(15, (at) => [sh('tail -3 build.log', `[${at}/15] compiled module ${at}`)]),
  ),
  honest(
    'a pipeline is polled with a pause',
    ...rounds(15, () => [sh('sleep 20 && gh run view 71 --json status', '{"status":"in_progress"}')]),
    sh('gh run view 71 --json status', '{"status":"completed"}'),
  ),
  honest(
    'a background process is asked for output until it is ready',
    call('shell_start', { command: 'npm run build' }, { id: 'p1' }),
    ...rounds(12, () => [call('shell_output', { id: 'p1', wait_s: 10 }, { running: true, stdout: '' })]),
    call('shell_output', { id: 'p1', wait_s: 10 }, { running: false, exit_code: 0, stdout: 'built' }),
  ),
  honest(
    'a server is waited for between looks',
    ...rounds(8, () => [sh('sleep 2'), sh('curl -s localhost:3000/ready', 'starting')]),
    sh('curl -s localhost:3000/ready', 'ready'),
  ),
  honest(
    'tests run five times to see whether they are flaky',
    ...rounds(5, () => [sh('npm test', '# tests 80\n# pass 80\n# fail 0')]),
  ),
  honest(
    'after a summary, the files are read once more',
    ...rounds(8, (at) => [read(`src/part-${at}.ts`)]),
    ...rounds(8, (at) => [read(`src/part-${at}.ts`)]),
    edit('src/part-3.ts', 'const a', 'let a'),
    sh('npx tsc --noEmit'),
  ),
  honest(
    'two files are compared by reading them in turn',
    read('a.txt', 'alpha\nbeta'),
    read('b.txt', 'alpha\ngamma'),
    read('a.txt', 'alpha\nbeta'),
    read('b.txt', 'alpha\ngamma'),
    sh('diff a.txt b.txt', '2c2\n< beta\n---\n> gamma', 1),
    edit('a.txt', 'beta', 'gamma'),
    sh('diff a.txt b.txt'),
  ),
  honest(
    'missing packages are installed one after the other',
    ...['yaml', 'zod', 'pino', 'ajv', 'uuid', 'nats'].flatMap((name) => [
      sh('node main.js', `Error: Cannot find module '${name}'`, 1),
      sh(`npm install ${name}`, `added 1 package: ${name}`),
    ]),
    sh('node main.js', 'listening'),
  ),
  honest(
    'one error with the fix in the environment',
    ...['chmod +x run.sh', 'mkdir -p out', 'export LANG=C', 'ulimit -n 4096', 'rm -rf .cache'].flatMap(
      (fix) => [sh('./run.sh', 'run.sh: cannot continue: the environment is not ready', 1), sh(fix)],
    ),
    sh('./run.sh', 'ok'),
  ),
  honest(
    'eight pages of the web, two of them gone',
    ...rounds(8, (at) => [
      at % 4 === 3
        ? failure('web_fetch', { url: `https://docs.invalid/${at}` }, 'it answered 404')
        : call(
            'web_fetch',
            { url: `https://docs.invalid/${at}` },
            `Page ${at}: what it says about topic ${at}`,
          ),
    ]),
  ),
  honest(
    'notes are written while files are read',
    ...rounds(8, (at) => [
      read(`report-${at}.md`),
      call('scratchpad_write', { name: 'notes', content: `report ${at}: nothing unusual` }, { saved: true }),
    ]),
  ),
  honest(
    'a dispatched task is asked for until it has ended',
    call('a2a_call', { agent: 'builder', message: 'build', blocking: false }, { task_id: 't1' }),
    ...rounds(10, () => [call('a2a_get_task', { agent: 'builder', task_id: 't1' }, { state: 'working' })]),
    call('a2a_get_task', { agent: 'builder', task_id: 't1' }, { state: 'completed' }),
  ),
  honest(
    'an output goes to a file that is looked at after each change',
    ...rounds(6, (at) => [
      edit('src/render.c', `pass_${at}();`, `pass_${at}(ctx);`),
      sh('make > build.txt 2>&1; tail -5 build.txt', `warning: pass_${at + 1} takes no arguments`),
    ]),
    sh('make test', '40 tests passed'),
  ),
  honest(
    'a bisection: the same test at another commit each time',
    ...rounds(7, (at) => [
      sh(`git checkout -q ${(at * 7919 + 4096).toString(16)}`),
      sh('node repro.js', at % 2 === 0 ? 'good' : 'bad', at % 2),
    ]),
    sh('git checkout -q main'),
  ),
  honest(
    'a directory tree is explored from list to list',
    ...rounds(10, (at) => [
      list(`packages/p${at}`, ['package.json', 'src']),
      list(`packages/p${at}/src`, ['index.ts']),
    ]),
  ),
  honest(
    'a query is refined until it shows what is looked for',
    ...['user', 'user_id', 'user_id =', 'user_id = \\?', 'WHERE user_id = \\?'].map((pattern, at) =>
      grep(
        pattern,
        'src',
        Array.from({ length: 20 - at * 4 }, (_, row) => `src/query-${row}.ts:${row}: ${pattern}`),
      ),
    ),
    read('src/query-1.ts'),
  ),
  honest(
    'a migration is tried on a fresh database each time',
    ...rounds(4, (at) => [
      sh(
        'rm -f test.db && sqlite3 test.db < schema.sql',
        at < 3 ? `Parse error near line ${at + 4}` : '',
        at < 3 ? 1 : 0,
      ),
      edit('schema.sql', `column_${at} TXT`, `column_${at} TEXT`),
    ]),
    sh('sqlite3 test.db .schema', 'CREATE TABLE t'),
  ),
];
