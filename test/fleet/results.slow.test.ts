import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parse, stringify } from 'yaml';
import { ROOT, runProgram, startFleet, until } from '../support/fleet.ts';
import { joinToken, otherMachine } from '../support/joining.ts';
import { brokenProject, FIX } from '../support/users-repository.ts';

const TRAILERS = { Team: 'web' };

test('a fix comes back as a branch that its caller reviews and takes, from a worker and from one elsewhere', {
  timeout: 300_000,
}, async (t) => {
  const project = brokenProject(t);
  const commit = { author: 'Acme Bot <bot@acme.example>', sign_off: true, trailers: TRAILERS };
  const workspace = { path: project.path, commit };
  const fleet = await startFleet(t, ['switch', 'neo'], {
    configYaml: (name, shipped) => (name === 'neo' ? stringify({ ...parse(shipped), workspace }) : shipped),
  });
  const machine = otherMachine(t, fleet);
  const profile = tempDir(t);
  cpSync(join(ROOT, 'deploy/profiles/neo'), profile, { recursive: true });
  const shipped = readFileSync(join(profile, 'config.yaml'), 'utf8');
  writeFileSync(join(profile, 'config.yaml'), stringify({ ...parse(shipped), workspace }));
  const { token } = await joinToken(fleet, { name: 'worker-7' });
  const joined = await machine.join(token, '--profile-dir', profile);
  assert.equal(joined.code, 0, joined.stdout + joined.stderr);
  const run = (...args: string[]) =>
    runProgram(process.execPath, [join(ROOT, 'libs/cli/src/main.ts'), ...args, '--dir', fleet.dir], {
      cwd: project.path,
      timeoutMs: 60_000,
    });

  for (const worker of ['neo', 'worker-7'])
    await t.test(worker, async () => {
      const sent = await run('send', FIX, '--to', worker, '-o', 'json');
      const { id, result } = JSON.parse(sent.stdout);
      assert.deepEqual([sent.code, result.status, result.executed_by], [0, 'done', worker], sent.stdout);
      const { base, commit: made, repository } = result.artifacts.delivery;
      assert.deepEqual([base, repository], [project.git('rev-parse', 'HEAD').trim(), 'project']);
      const diff = await run('diff', id);
      assert.match(diff.stdout, /^-echo \$\(\(\$1 - \$2\)\)\n\+echo \$\(\(\$1 \+ \$2\)\)$/m, diff.stderr);
      assert.equal((await run('show', id, 'sum.sh')).stdout, 'echo $(($1 + $2))\n');
      const pulled = await run('pull', id, '--branch', `taken-${worker}`);
      assert.equal(pulled.code, 0, pulled.stderr);
      const log = project.git(
        'log',
        '--format=%H|%an <%ae>|%(trailers:separator=|)',
        `main..taken-${worker}`,
      );
      const author = 'Acme Bot <bot@acme.example>';
      assert.equal(log, `${made}|${author}|Fleet-Task: ${id}|Team: web|Signed-off-by: ${author}\n`);
      const review = join(tempDir(t), 'review');
      execFileSync('git', ['-C', project.path, 'worktree', 'add', '-q', review, `taken-${worker}`]);
      assert.equal(spawnSync('sh', ['test.sh'], { cwd: review }).status, 0, 'the tests pass on the branch');
    });

  await t.test('a result at a worker that is away is named so, and read when it is back', async () => {
    const sent = JSON.parse((await run('send', FIX, '--to', 'neo', '-o', 'json')).stdout);
    await fleet.kill('neo');
    const away = await run('diff', sent.id);
    assert.deepEqual([away.code, /neo/.test(away.stderr)], [1, true], away.stderr);
    await fleet.up();
    await until(async () => (await run('diff', sent.id)).code === 0, 'the result of neo');
  });

  await t.test('nobody else reads it', async () => {
    const sent = JSON.parse((await run('send', FIX, '--to', 'neo', '-o', 'json')).stdout);
    const { url } = fleet.target('switch');
    for (const [token, status, code] of [
      [undefined, 401, 'UNAUTHENTICATED'],
      ['wrong', 401, 'UNAUTHENTICATED'],
      [await fleet.tokenOf('neo', 'switch'), 404, 'TASK_NOT_FOUND'],
    ] as const) {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const response = await fetch(`${url}/fleet/tasks/${sent.id}/diff`, { headers });
      assert.deepEqual([response.status, JSON.parse(await response.text()).error.code], [status, code]);
    }
  });
});
