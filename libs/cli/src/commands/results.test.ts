import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fleet } from '../../testing/profile-stub.ts';
import { CONTEXT, resultsScene, TASK } from '../../testing/results-stub.ts';
import { saidBy } from '../git/git.ts';
import { branchFor } from '../results/pull-branch.ts';
import { forTerminal } from '../results/read-part.ts';

const MAIN = join(import.meta.dirname, '../main.ts');

test('diff and show print what git has, and the result says how to come to it', async (t) => {
  const scene = await resultsScene(t);
  const { start, root } = scene;
  const commit = scene.work({ 'a.txt': 'one\ntwo\n', 'b c.txt': '\u001b[31mred\t\r\nx\n' });
  const whole = await scene.run(root, 'diff');
  assert.equal(whole.code, 0, whole.stderr);
  assert.match(whole.stdout, /^diff --git a\/a\.txt b\/a\.txt\n[\s\S]*\n-three\n[\s\S]*\n\+.\[31mred\t\r\n/);
  assert.match((await scene.run(root, 'diff', 'a.txt')).stdout, /^diff --git a\/a\.txt [\s\S]*-three\n$/);
  assert.match((await scene.run(root, 'diff', '--stat')).stdout, /\n 2 files changed, /);
  const { diff, ...document } = JSON.parse((await scene.run(root, 'diff', '--json')).stdout);
  assert.equal(diff, whole.stdout);
  assert.deepEqual(document, { id: TASK, profile: 'neo', branch: `fleet/${CONTEXT}`, base: start, commit });
  assert.equal((await scene.run(root, 'show', 'b c.txt')).stdout, '\u001b[31mred\t\r\nx\n');
  const unchanged = await scene.run(root, 'diff', 'none');
  assert.deepEqual(unchanged, {
    ...{ code: 1, stdout: '' },
    stderr: `fleet: the task changed nothing at none: fleet diff ${TASK} --stat lists what it changed\n`,
  });
  assert.equal((await scene.run(root, 'diff', 'none', '--json')).code, 1);
  scene.told.diff = (reply) => void reply.end('x'.repeat(8 * 1024 * 1024 + 1));
  const large = JSON.parse((await scene.run(root, 'diff', '--json')).stdout);
  assert.equal(large.error.message, 'the diff has more than 8 MiB: leave out --json');
  const none = await scene.run(root, 'show', 'none');
  assert.deepEqual([none.code, none.stderr], [1, 'fleet: neo: there is no file of this name\n']);

  const task = await scene.run(root, 'task');
  assert.match(
    task.stdout,
    new RegExp(
      `\\n {2}files {6}a\\.txt\\n {2}branch {5}fleet/${CONTEXT}\\n {2}commit {5}${commit}\\n[\\s\\S]*\n\nto see it: fleet diff ${TASK}\nto take it: fleet pull ${TASK}\n$`,
    ),
  );
  const saved = JSON.parse((await scene.run(root, 'task', '--artifacts', 'out', '--json')).stdout);
  assert.deepEqual(saved, {
    ...{ id: TASK, profile: 'neo', saved: [], not_saved: [], files_changed: ['a.txt'] },
    delivery: { repository: null, branch: `fleet/${CONTEXT}`, state: 'kept', commit, base: start },
  });
  const artifacts = await scene.run(root, 'task', '--artifacts', 'out');
  assert.deepEqual(artifacts, {
    ...{ code: 0, stdout: '' },
    stderr: `the task has no artifacts; it changed 1 file of its repository\nto see it: fleet diff ${TASK}\nto take it: fleet pull ${TASK}\n`,
  });
});

test('a task without commits to read says why, and asks the profile for nothing', async (t) => {
  const scene = await resultsScene(t);
  const { told, root } = scene;
  const refused = async (message: string) => {
    for (const words of [['diff'], ['show', 'a.txt'], ['pull']] as const) {
      const [verb, ...more] = words;
      const { code, stdout, stderr } = await scene.run(root, verb, ...more);
      assert.deepEqual([code, stdout, stderr], [1, '', `fleet: ${message}\n`]);
    }
  };
  told.delivery = { commit: null };
  await refused(`task ${TASK} has no commit: its files are in the folder that neo works in, not committed`);
  assert.match((await scene.run(root, 'task')).stdout, / {2}commit {5}none: the files are not committed\n/);
  assert.doesNotMatch((await scene.run(root, 'task')).stdout, /fleet diff/);
  told.delivery = { commit: '--upload-pack=x' };
  await refused(`neo names a commit of task ${TASK} that is none`);
  told.artifacts = { files_changed: ['a'], delivery: undefined };
  await refused(`task ${TASK} is of a release that names no commits`);
  told.artifacts = { files_changed: [], delivery: undefined };
  await refused(`task ${TASK} changed no files`);
  told.state = 'TASK_STATE_WORKING';
  await refused(`task ${TASK} has not ended: fleet watch ${TASK} waits for its result`);
  assert.deepEqual(scene.asked, []);
});

test('a wrong command line of diff, show and pull is a usage error', async () => {
  for (const [words, message] of [
    [['diff', 'a', 'b', 'c'], 'diff takes the id of a task, and at most one path'],
    [['diff'], 'diff takes the id of one task'],
    [['show', 'a'], 'show takes the id of a task and the path of a file'],
    [['pull', 'a', 'b'], 'pull takes the id of one task'],
    [['pull', 'a', '--apply', '--branch', 'b'], '--apply makes no branch: leave out --branch'],
    [['show', 'a', '..'], 'show takes the path of a file: ".." is none'],
    [['diff', 'a', '--url', 'http://a'], "unknown option '--url'"],
  ] as const) {
    const { code, stderr } = await fleet(words);
    assert.deepEqual([code, stderr.split('\n')[0]], [2, `fleet: ${message}`]);
  }
});

test('output that cannot be written is one line and exit code 1', async (t) => {
  const scene = await resultsScene(t);
  scene.work({ 'b.txt': 'b\n' });
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const child = spawn(process.execPath, [MAIN, 'show', TASK, 'b.txt', ...scene.reach], {
    env: { ...process.env, ...scene.env },
    stdio: ['ignore', full, 'pipe'],
  });
  assert.ok(child.stderr);
  const said = text(child.stderr);
  assert.deepEqual(await once(child, 'close'), [1, null]);
  assert.equal(await said, 'fleet: the output cannot be written (ENOSPC)\n');
});

test('git is quoted on one line', () => {
  assert.equal(saidBy('error: a\n\n  b\t c\n\nfatal: d\n'), 'a b c; d');
  assert.equal(saidBy(' \n'), 'it says nothing');
});

test('on a terminal, a file cannot control it, and one that is no text is refused', async () => {
  const shown = async (...parts: (string | Uint8Array)[]): Promise<string> => {
    let text = '';
    for await (const piece of forTerminal(Readable.from(parts.map((part) => Buffer.from(part))), 'binary'))
      text += piece;
    return text;
  };
  const [first = 0, second = 0] = Buffer.from('ä');
  assert.equal(
    await shown('a\tb\r', '\n\u001b]0;x\u0007 \u202e\r', 'c', Buffer.of(first), Buffer.of(second), '\r'),
    'a\tb\n\ufffd]0;x\ufffd \ufffd\ufffdcä\ufffd',
  );
  await assert.rejects(shown('GIF', '\0'), { code: 'INVALID_PARAMS', message: 'binary' });
});

test('the branch of a context has the end of its UUID, or a name that git takes', () => {
  for (const [context, branch] of [
    [CONTEXT, 'fleet/5eedc0de'],
    ['night build', 'fleet/night-build'],
    ['../a..b~^:?*[\\\n@{x}.lock', 'fleet/a.b-x-'],
    ['ü', 'fleet/result'],
    ['x'.repeat(300), `fleet/${'x'.repeat(60)}`],
    ['-a.lock', 'fleet/a'],
  ] as const)
    assert.equal(branchFor(context), branch, context);
});
