import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { committedFiles, openTestContexts, type Place, setUpBy } from '../../testing/index.ts';

const MANIFEST = { 'package.json': '{}\n', '.gitignore': '/ignored\n' };
/** Leaves an id that is another one with each run. */
const ID = 'mkdir -p node_modules; head -c 9 /dev/urandom | base64 | tr / _ > node_modules/id';
const never = new AbortController().signal;

const foldersOf = ({ workspaceRoot }: Place): string[] =>
  readdirSync(join(workspaceRoot, 'contexts')).filter((name) => name.startsWith('.set-up'));
const outcomesOf = ({ workspaceRoot }: Place): string[] =>
  existsSync(join(workspaceRoot, 'set-ups')) ? readdirSync(join(workspaceRoot, 'set-ups')) : [];

test('each new context gets what one set-up left, and none of it is in a result', {
  timeout: 120_000,
}, async (t) => {
  const { path, commit } = committedFiles(t, MANIFEST);
  const setUp = setUpBy([
    ID,
    'echo changed > package.json; echo 1 > generated; echo 1 > ignored; echo 1 > " odd [x] "; mkdir -p empty .scratch/x',
    'mkdir -p "$HOME/.cache/empty"; cat node_modules/id > "$HOME/.cache/id"; echo 1 > "$TMPDIR/gone"; echo ü > -dash',
  ]);
  const contexts = await openTestContexts(t, { path, setUp });
  const look = `cat node_modules/id "$HOME/.cache/id" package.json generated ignored " odd [x] " ./-dash
    ls -d empty; ls -d "$HOME/.cache/empty"; ls "$TMPDIR"; ls -d .scratch/x 2>/dev/null; git status --porcelain`;
  const shown = async (name: string, of = contexts): Promise<string> => {
    const { stdout, changed, left, stderr } = await of.task(name, look);
    assert.deepEqual([changed, left, stderr], [[], undefined, '']);
    return stdout;
  };
  const [one, two] = await Promise.all([shown('one'), shown('two')]);
  assert.equal(one, two?.replaceAll('contexts/two', 'contexts/one'), 'one set-up for both');
  assert.match(one, /^(.+)\n\1\n\{\}\n1\n1\n1\nü\nempty\n.*\/contexts\/one\/home\/\.cache\/empty\n$/);
  const mine = await contexts.task('one', 'echo bad > node_modules/id; echo 2 > generated; echo 2 > new');
  assert.deepEqual([mine.changed, mine.left], [['new'], undefined]);
  const three = await shown('three', await contexts.restart());
  assert.equal(three.replaceAll('contexts/three', 'contexts/one'), one, 'a start keeps it');
  commit({ 'package.json': '{"private":true}\n' });
  assert.notEqual((await shown('four')).split('\n')[0], one.split('\n')[0], 'another commit, another set-up');
  assert.equal((await contexts.task('one', 'cat node_modules/id')).stdout, 'bad\n');
  assert.deepEqual([foldersOf(contexts.place), outcomesOf(contexts.place).length], [[], 2]);
});

test('a repository that is made anew still leaves out what the set-up left', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, MANIFEST);
  const contexts = await openTestContexts(t, { path, setUp: setUpBy(['echo 1 > generated']) });
  const { changed } = await contexts.task('one', 'echo 1 > new; rm .git/HEAD');
  assert.deepEqual(changed, ['new']);
});

test('programs and links that name the folder of the set-up work in a context', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, MANIFEST);
  const make = `mkdir -p .venv/bin "$HOME/bin" && cd .venv/bin
    printf '#!/bin/sh\\n. %s/settings\\necho "$WHO" %s\\n' "$PWD" "$HOME" > run && chmod 755 run && echo WHO=it > settings
    ln -s "$PWD/run" link; ln -s /usr/bin/env other; ln -s run relative; ln -s "$PWD/run" "$HOME/bin/link"
    printf '\\0%s/' "$PWD" > binary; cp run "$HOME/bin/run"`;
  const contexts = await openTestContexts(t, { path, setUp: setUpBy([make]) });
  const look = `cd .venv/bin; ./run; ./link; ./relative; "$HOME/bin/run"; "$HOME/bin/link"; readlink other link; stat -c %a run; ls -a ~ ../../.git`;
  const { stdout, stderr } = await contexts.task('one', look);
  const home = join(contexts.place.workspaceRoot, 'contexts/one/home');
  assert.ok(stdout.startsWith(`it ${home}\n`.repeat(5)), stdout + stderr);
  assert.match(stdout, /\n\/usr\/bin\/env\n.*\/contexts\/one\/tree\/\.venv\/bin\/run\n75[05]\n/);
  assert.doesNotMatch(stdout, /moved|\.set-up-/);
});

test('a context begins without a set-up that failed, which its tasks are told, and a later one tries again', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, MANIFEST);
  let late = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + late };
  const log = recordingLog();
  const commands = ['echo begun', 'echo out; echo the cause >&2; touch left; exit 3', 'touch never'];
  const contexts = await openTestContexts(t, { path, setUp: setUpBy(commands), clock, log });
  const runs = (): number => log.messages.filter((message) => /set-up of a commit runs/.test(message)).length;
  const states: string[] = [];
  for (const [name, ran] of [
    ['one', 1],
    ['two', 1],
    ['one', 1],
    ['late', 2],
  ] as const) {
    if (name === 'late') late = 11 * 60_000;
    await using workspace = await contexts.workspaces.openWorkspace(name, {
      resumes: false,
      signal: never,
      onSetUp: async (state) => void states.push(`${name} ${state}`),
    });
    await workspace.begin(true);
    const failure = { command: commands[1], reason: 'exit code 3', output: 'the cause' };
    assert.deepEqual(workspace.setUp, { commands, failure });
    assert.equal(runs(), ran);
    assert.equal((await contexts.sh(workspace, 'ls; echo 1 > new')).stdout.includes('left'), false);
    const todo = `mend the set-up (setup in the configuration), without which this context began: \`${commands[1]}\`: exit code 3`;
    assert.deepEqual((await workspace.commit('Task')).left, [{ todo, certain: false }]);
  }
  assert.deepEqual(states, ['one started', 'one failed', 'late started', 'late failed']);
  assert.deepEqual([foldersOf(contexts.place), outcomesOf(contexts.place)], [[], []]);
});

const FAILURES: [what: string, command: string, limits: Parameters<typeof setUpBy>[1], reason: RegExp][] = [
  ['too long', 'sleep 60', { timeoutMs: 200 }, /^not complete after 0\.2 s \(setup_timeout_s\)$/],
  ['too large', 'truncate -s 3M file', { maxBytes: 2 ** 20 }, /more than 1 MiB \(workspace\.max_mb\)$/],
  ['too much output', 'yes', {}, /^it printed too much$/],
  ['killed', 'kill -9 $$', {}, /^ended by SIGKILL$|^exit code 137$/],
  ['a repository that it broke', 'rm -rf .git', {}, /^git cannot list what it left \(/],
];

for (const [what, command, limits, reason] of FAILURES) {
  test(`a set-up that fails keeps no task from its work: ${what}`, { timeout: 120_000 }, async (t) => {
    const { path } = committedFiles(t, MANIFEST);
    const contexts = await openTestContexts(t, { path, setUp: setUpBy([command], limits) });
    await using workspace = await contexts.open('one');
    assert.match(workspace.setUp?.failure?.reason ?? '', reason);
    assert.equal((await contexts.sh(workspace, 'cat package.json')).stdout, '{}\n');
    assert.deepEqual([foldersOf(contexts.place), outcomesOf(contexts.place)], [[], []]);
  });
}

test('a set-up goes on for those who wait, and ends with the last of them', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, MANIFEST);
  const log = recordingLog();
  // It ends also where the process of this test is killed.
  const wait = 'n=0; until [ -e go ] || [ $n -ge 1000 ]; do n=$((n + 1)); sleep 0.05; done; [ -e go ]';
  const setUp = setUpBy([ID, wait]);
  const contexts = await openTestContexts(t, { path, setUp, log });
  const reason = new FleetError('CANCELED', 'over');
  const [first, second] = [new AbortController(), new AbortController()];
  const open = (name: string, { signal }: AbortController) => {
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const onSetUp = async (state: string) => void (state === 'started' && resolve());
    return { opened: contexts.workspaces.openWorkspace(name, { resumes: false, signal, onSetUp }), begun };
  };
  const waiting = [open('one', first), open('two', second)] as const;
  const one = assert.rejects(waiting[0].opened, reason);
  const two = waiting[1].opened;
  await Promise.all(waiting.map(({ begun }) => begun));
  await log.saw(/set-up of a commit runs/);
  // Both wait for the same run when what follows the report of its start is done.
  await new Promise(setImmediate);
  first.abort(reason);
  await one;
  const [folder = ''] = foldersOf(contexts.place);
  const tree = join(contexts.place.workspaceRoot, 'contexts', folder, 'tree');
  while (!existsSync(join(tree, 'node_modules/id'))) await systemClock.sleep(10, t.signal);
  writeFileSync(join(tree, 'go'), '');
  {
    await using workspace = await two;
    assert.equal(workspace.setUp?.failure, undefined);
  }
  const last = recordingLog();
  const setUpLong = setUpBy(['sleep 60']);
  const other = await openTestContexts(t, { ...contexts, path, setUp: setUpLong, log: last });
  const third = new AbortController();
  const three = assert.rejects(
    other.workspaces.openWorkspace('three', { resumes: false, signal: third.signal }),
    reason,
  );
  await last.saw(/set-up of a commit runs/);
  third.abort(reason);
  await three;
  assert.deepEqual(foldersOf(other.place), []);
});

test('the next hour removes what a crash left of a set-up, and outcomes but the last ones used', {
  timeout: 120_000,
}, async (t) => {
  const { path, commit } = committedFiles(t, MANIFEST);
  const contexts = await openTestContexts(t, { path, setUp: setUpBy([ID]) });
  const { workspaceRoot } = contexts.place;
  await contexts.task('c0', 'true');
  const [oldest = ''] = outcomesOf(contexts.place);
  const part = join(workspaceRoot, 'set-ups', `${oldest}.part`);
  mkdirSync(join(workspaceRoot, 'contexts', `.set-up-${oldest}`, 'tree'), { recursive: true });
  mkdirSync(part);
  writeFileSync(join(part, 'tree.tar'), 'x');
  const options = { unusedBefore: 0, resultsBefore: undefined, hasTasks: () => true, contextIds: () => [] };
  await contexts.workspaces.contexts?.prune({ ...options, signal: never });
  assert.deepEqual([foldersOf(contexts.place), outcomesOf(contexts.place)], [[], [oldest]]);
  for (const n of [1, 2, 3]) {
    commit({ 'package.json': `${n}\n` });
    await contexts.task(`c${n}`, 'true');
  }
  assert.equal(outcomesOf(contexts.place).length, 3);
  assert.ok(!outcomesOf(contexts.place).includes(oldest));
});

test('no command of a context can open what other contexts get', { timeout: 120_000 }, async (t) => {
  const { path } = committedFiles(t, MANIFEST);
  const contexts = await openTestContexts(t, { path, setUp: setUpBy([ID]) });
  const folder = join(contexts.place.workspaceRoot, 'set-ups');
  const { stdout } = await contexts.task(
    'one',
    `ls ${folder}; cat ${folder}/*/tree.tar; echo x > ${folder}/x; true`,
  );
  assert.equal(stdout, '');
  assert.equal(outcomesOf(contexts.place).length, 1);
});

test('a task of an unfinished start gets a whole set-up', { timeout: 120_000 }, async (t) => {
  const { path } = committedFiles(t, MANIFEST);
  const contexts = await openTestContexts(t, { path, setUp: setUpBy([ID]) });
  const dir = join(contexts.place.workspaceRoot, 'contexts/one');
  const { stdout } = await contexts.task('one', 'cat node_modules/id; echo cut > node_modules/id; true');
  // As after a crash before the context was complete.
  for (const file of ['ready', 'set-up']) rmSync(join(dir, file));
  assert.equal((await contexts.task('one', 'cat node_modules/id')).stdout, stdout);
});
