import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fakeDocker } from '../../testing/fake-docker.ts';
import { folderAt } from '../folder/fleet-folder.ts';
import { compose, docker } from './docker.ts';

test('a call of docker gets its input, and returns its output and its exit code', async (t) => {
  const { env, calls } = fakeDocker(t, 'cat; echo why >&2; exit 3');
  const answer = await docker(['a', 'two words'], { output: 'text', env, input: 'x\n' });
  assert.deepEqual(answer, { code: 3, stdout: 'x\n', stderr: 'why\n' });
  assert.deepEqual(calls(), ['[a][two words]']);
});

test('docker compose works on the folder of the fleet, and its output can be read as it comes', async (t) => {
  const { env, calls } = fakeDocker(t, 'pwd');
  const output = new PassThrough();
  const [said] = await Promise.all([text(output), compose(folderAt('/tmp'), ['ps'], { output, env })]);
  assert.equal(said, '/tmp\n');
  assert.deepEqual(calls(), ['[compose][--project-directory][/tmp][ps]']);
});

test('a call without docker, and one that takes too long, say so', async (t) => {
  const { code, stderr } = await docker(['ps'], { output: 'text', env: { PATH: '/nowhere' } });
  assert.deepEqual([code, stderr], [127, 'docker is not installed']);
  const { env } = fakeDocker(t, 'exec sleep 30');
  await assert.rejects(
    docker(['ps'], { output: 'text', env, timeoutMs: 50 }),
    /docker ps took more than 0.05 s/,
  );
  const signal = AbortSignal.abort(new Error('stopped'));
  await assert.rejects(docker(['ps'], { output: 'text', env, signal }), /stopped/);
});

test('docker that SIGTERM does not end is killed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { env } = fakeDocker(t, `trap 'echo ended' TERM; echo begun; while :; do sleep 1; done`);
  const [output, stop] = [new PassThrough(), new AbortController()];
  const call = docker(['ps'], { output, env, signal: stop.signal });
  const isStopped = assert.rejects(call, /stopped/);
  await once(output, 'data');
  stop.abort(new Error('stopped'));
  await once(output, 'data');
  t.mock.timers.tick(10_000);
  await isStopped;
});
