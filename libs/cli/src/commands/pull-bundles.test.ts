import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { CONTEXT, git, refused, resultsScene, stateOf, TASK } from '../../testing/results-stub.ts';

const MAIN = join(import.meta.dirname, '../main.ts');

test('a bundle that is damaged, cut off, bad or another one changes nothing', async (t) => {
  const scene = await resultsScene(t);
  const { mine, worker, start, told } = scene;
  const result = scene.work({ 'b.txt': 'b\n'.repeat(100) });
  const whole = scene.bundle(start);
  const send = (bytes: Buffer | string) => {
    told.bundle = (reply) => void reply.end(bytes);
  };
  send('<html>');
  await refused(scene, mine, /neo answers with something that is not a git bundle\n/);
  send(whole.subarray(0, whole.length - 30));
  await refused(scene, mine, /with a bundle that git refuses \(.*\): nothing was changed\n/);
  const broken = Buffer.from(whole);
  broken[whole.length - 40] = (broken[whole.length - 40] ?? 0) ^ 0xff;
  send(broken);
  await refused(scene, mine, /with a bundle that git refuses \(.*\): nothing was changed\n/);
  told.bundle = (reply) => {
    reply.writeHead(200, { 'content-length': whole.length });
    reply.write(whole.subarray(0, 50), () => reply.destroy());
  };
  await refused(scene, mine, /the answer of neo broke off before its end: try it again/);
  git(worker, 'branch', 'elsewhere');
  send(scene.bundle(start, 'elsewhere'));
  await refused(scene, mine, new RegExp(`with a bundle that is not one of the branch fleet/${CONTEXT}: `));
  send(whole);
  told.delivery = { commit: start.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) };
  await refused(scene, mine, new RegExp(`with the commit ${result.slice(0, 12)}: the result has `));

  // A file named `.git`, which would be run from in a checkout.
  const blob = git(worker, 'rev-parse', 'HEAD:b.txt');
  writeFileSync(
    join(worker, '..', 'tree'),
    Buffer.concat([Buffer.from('100644 .git\0'), Buffer.from(blob, 'hex')]),
  );
  const tree = git(worker, 'hash-object', '-t', 'tree', '-w', '--literally', '../tree');
  const bad = git(worker, 'commit-tree', tree, '-p', 'HEAD', '-m', 'bad');
  git(worker, 'update-ref', 'HEAD', bad);
  send(scene.bundle(start));
  told.delivery = { commit: bad };
  await refused(scene, mine, /with a bundle that git refuses \(.*hasDotgit.*\): nothing was changed\n/);
  for (const commit of [bad, result]) assert.throws(() => git(mine, 'cat-file', '-e', commit));
});

test('Ctrl-C in the middle of a bundle changes nothing, and leaves no file', async (t) => {
  const scene = await resultsScene(t);
  const { mine, tmp, start, told, reach, env } = scene;
  scene.work({ 'b.txt': 'b\n' });
  const before = stateOf(mine);
  const begun = Promise.withResolvers<void>();
  told.bundle = (reply) => void reply.write(scene.bundle(start).subarray(0, 20), () => begun.resolve());
  const child = spawn(process.execPath, [MAIN, 'pull', TASK, ...reach], {
    cwd: mine,
    env: { ...process.env, ...env, TMPDIR: tmp },
  });
  const said = text(child.stderr);
  await begun.promise;
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'close'), [null, 'SIGINT']);
  assert.equal(await said, 'fleet: stopped: nothing was changed\n');
  assert.deepEqual([stateOf(mine), readdirSync(tmp)], [before, []]);
});
