import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SentBundle } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { startForge } from '@hermes-fleet/workspace/testing';
import { parse, stringify } from 'yaml';
import { ROOT, runProgram, startFleet, until } from '../support/fleet.ts';
import { joinToken, otherMachine } from '../support/joining.ts';
import { call, dispatch, message } from '../support/rpc.ts';
import { brokenProject, FIX } from '../support/users-repository.ts';

const TOKEN = 'token-of-the-forge';
const AUTHOR = 'Acme Bot <bot@acme.example>';

test('a task works on what its caller sent of a checkout, and its result is a branch of it', {
  timeout: 400_000,
}, async (t) => {
  const forge = await startForge(t, { token: TOKEN });
  const commit = { author: AUTHOR };
  const repositories = { web: { url: forge.server.url('web.git'), token_env: 'FORGE_TOKEN' } };
  const fleet = await startFleet(t, ['switch', 'neo'], {
    configYaml: (name, shipped) =>
      stringify({
        ...parse(shipped),
        workspace: name === 'neo' ? { commit, repositories } : { repositories },
      }),
    secrets: { neo: { FORGE_TOKEN: TOKEN }, switch: { FORGE_TOKEN: TOKEN } },
  });
  const machine = otherMachine(t, fleet);
  const profile = tempDir(t);
  cpSync(join(ROOT, 'deploy/profiles/neo'), profile, { recursive: true });
  const shipped = readFileSync(join(profile, 'config.yaml'), 'utf8');
  writeFileSync(join(profile, 'config.yaml'), stringify({ ...parse(shipped), workspace: { commit } }));
  const { token } = await joinToken(fleet, { name: 'worker-7' });
  const joined = await machine.join(token, '--profile-dir', profile);
  assert.equal(joined.code, 0, joined.stdout + joined.stderr);
  const inFolder =
    (cwd: string) =>
    (...args: string[]) =>
      runProgram(process.execPath, [join(ROOT, 'libs/cli/src/main.ts'), ...args, '--dir', fleet.dir], {
        cwd,
        timeoutMs: 60_000,
      });
  const sentBundles = async (): Promise<SentBundle[]> => {
    const { url, token: operator } = fleet.target('switch');
    const headers = { authorization: `Bearer ${operator}` };
    const listed = await fetch(`${url}/fleet/repositories`, { headers });
    return JSON.parse(await listed.text()).bundles.sent;
  };

  for (const worker of ['neo', 'worker-7'])
    await t.test(`${worker} fixes a test of a dirty checkout, in three commands`, async () => {
      const project = brokenProject(t);
      const head = project.git('rev-parse', 'HEAD').trim();
      const run = inFolder(project.path);
      const sent = await run('send', '--repo', '.', FIX, '--to', worker, '-o', 'json');
      const { context_id: context, result } = JSON.parse(sent.stdout);
      assert.deepEqual([sent.code, result.status, result.executed_by], [0, 'done', worker], sent.stderr);
      assert.match(sent.stderr, /1 file not committed is not sent; --include-changes sends it/);
      assert.equal(result.artifacts.delivery.base, head);
      assert.match((await run('diff', 'latest')).stdout, /^\+echo \$\(\(\$1 \+ \$2\)\)$/m);
      const pulled = await run('pull', 'latest');
      assert.equal(pulled.code, 0, pulled.stderr);
      const branch = `fleet/${context.slice(-8)}`;
      assert.equal(
        project.git('log', '--format=%H|%P|%an <%ae>', `main..${branch}`),
        `${result.artifacts.delivery.commit}|${head}|${AUTHOR}\n`,
      );
      assert.match(project.git('status', '--porcelain'), /^\?\? notes\.txt$/m);
      const review = join(tempDir(t), 'review');
      execFileSync('git', ['-C', project.path, 'worktree', 'add', '-q', review, branch]);
      assert.equal(spawnSync('sh', ['test.sh'], { cwd: review }).status, 0, 'the tests pass on the branch');

      // The caller merges, goes on, and sends only that.
      project.git('merge', '-q', branch);
      writeFileSync(join(project.path, 'more.txt'), 'more\n');
      project.git('add', 'more.txt');
      project.git('commit', '-q', '-m', 'More');
      const before = await sentBundles();
      const next = await run(
        'send',
        '--repo',
        '.',
        '--context',
        context,
        '```sh\ncat more.txt notes.txt > all.txt; cat sum.sh >> all.txt\n```\n',
        '--include-changes',
        '-o',
        'json',
      );
      const further = JSON.parse(next.stdout);
      assert.equal(further.result.status, 'done', next.stdout + next.stderr);
      assert.equal((await sentBundles()).length, before.length + 1);
      assert.equal((await run('show', further.id, 'all.txt')).stdout, 'more\nmine\necho $(($1 + $2))\n');
      const last = await run('send', '--context', context, '```sh\nrm all.txt\n```\n', '-o', 'json');
      assert.equal(JSON.parse(last.stdout).result.status, 'done', last.stdout);
      assert.equal((await sentBundles()).length, before.length + 1, 'nothing is sent without --repo');
    });

  await t.test('a checkout of a configured repository sends what the repository does not have', async () => {
    for (const text of ['1', '2', '3']) forge.push('web', { 'large.txt': `${text}\n`.repeat(100_000) });
    const clone = join(tempDir(t), 'web');
    execFileSync('git', ['clone', '-q', forge.git('web', 'remote', 'get-url', 'origin'), clone]);
    execFileSync('git', ['-C', clone, 'remote', 'set-url', 'origin', forge.server.url('web.git')]);
    writeFileSync(join(clone, 'mine.txt'), 'mine\n');
    for (const args of [
      ['add', '.'],
      ['-c', 'user.name=u', '-c', 'user.email=u@x', 'commit', '-q', '-m', 'Mine'],
    ])
      execFileSync('git', ['-C', clone, ...args]);
    const sent = await inFolder(clone)(
      'send',
      '--repo',
      '.',
      '```sh\ncat mine.txt > made.txt; wc -l < large.txt >> made.txt\n```\n',
      '--to',
      'neo',
      '-o',
      'json',
    );
    const { id, result } = JSON.parse(sent.stdout);
    assert.equal(result.status, 'done', sent.stdout + sent.stderr);
    assert.equal(result.artifacts.delivery.repository, 'web');
    assert.equal((await inFolder(clone)('show', id, 'made.txt')).stdout, 'mine\n100000\n');
  });

  await t.test('a bundle is its caller’s, and an orchestrator that is killed has it still', async () => {
    const [latest] = await sentBundles();
    assert.ok(latest);
    const body = dispatch({
      brief: FIX,
      task: { repository: { name: latest.repository, bundle: latest.bundle, base: latest.commit } },
    });
    const as = { ...fleet.target('switch'), token: await fleet.tokenOf('neo', 'switch') };
    const refused = await call(as, 'SendMessage', message(body));
    assert.match(JSON.stringify(refused.body), /BUNDLE_REFUSED/);
    await fleet.kill('switch');
    await fleet.up();
    await until(async () => (await sentBundles()).length > 0, 'the bundles of switch');
    const again = await call(fleet.target('switch'), 'SendMessage', message(body));
    assert.ok(again.body.result, JSON.stringify(again.body));
  });
});
