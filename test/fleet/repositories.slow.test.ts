import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { startForge } from '@hermes-fleet/workspace/testing';
import { parse, stringify } from 'yaml';
import { PROFILES, ROOT, runProgram, startFleet, until } from '../support/fleet.ts';
import { joinToken, otherMachine } from '../support/joining.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const TOKEN = 'token-of-the-forge';
const WRONG = 'token-that-has-expired';
const BRIEF = runbook('made.txt', 'made', 'cat *.txt');

test('tasks work on the repositories of a forge that their workers have, and on no other', {
  timeout: 400_000,
}, async (t) => {
  const forge = await startForge(t, { token: TOKEN });
  const tips = Object.fromEntries(
    ['web', 'api', 'docs'].map((name) => [name, forge.push(name, { 'a.txt': `${name}\n` })]),
  );
  const at = (name: string, more = {}) => ({
    url: forge.server.url(`${name}.git`),
    token_env: 'FORGE_TOKEN',
    ...more,
  });
  const repositories: Record<string, object> = {
    neo: { web: at('web'), api: at('api', { allow_stale_base: true }) },
    morpheus: { web: at('web'), expired: at('web', { token_env: 'EXPIRED_TOKEN' }) },
  };
  const fleet = await startFleet(t, PROFILES, {
    inProcess: true,
    configYaml: (name, shipped) =>
      name in repositories
        ? stringify({ ...parse(shipped), workspace: { repositories: repositories[name] } })
        : shipped,
    secrets: {
      neo: { FORGE_TOKEN: TOKEN },
      morpheus: { FORGE_TOKEN: TOKEN, EXPIRED_TOKEN: WRONG },
    },
  });
  const send = async (
    repository: object | undefined,
    to = 'auto',
    contextId?: string,
    on_blocked = 'reroute',
  ) => {
    const body = dispatch({
      brief: BRIEF,
      task: { token_budget: 20_000, ...(repository && { repository }) },
      routing: { target: to, on_blocked },
    });
    const reply = await call(
      fleet.target('switch'),
      'SendMessage',
      message(body, contextId === undefined ? {} : { contextId }),
    );
    const { task } = reply.body.result ?? assert.fail(JSON.stringify(reply.body));
    return { id: task.id, contextId: task.contextId, ...resultOf(task) };
  };
  const run = (cwd: string, ...args: string[]) =>
    runProgram(process.execPath, [join(ROOT, 'libs/cli/src/main.ts'), ...args, '--dir', fleet.dir], {
      cwd,
      timeoutMs: 60_000,
    });
  const fetches = (name: string): number =>
    forge.server.requests.filter(({ line }) => line.includes(`/${name}.git/info/refs`)).length;

  const first = await send({ name: 'web' });
  await t.test('a result is based on the newest commit, and is taken into a clone', async () => {
    assert.equal(first.status, 'done', JSON.stringify(first));
    assert.match(first.executed_by, /^(neo|morpheus)$/);
    const { repository, base } = first.artifacts.delivery;
    assert.deepEqual([repository, base], ['web', tips.web]);
    assert.deepEqual(first.artifacts.files_changed, ['made.txt']);
    const clone = join(tempDir(t), 'web');
    const url = forge.server.url('web.git').replace('://', `://x:${TOKEN}@`);
    // The forge answers in this process.
    const cloned = await runProgram('git', ['clone', '-q', url, clone], { timeoutMs: 60_000 });
    assert.equal(cloned.code, 0, cloned.stderr);
    assert.match((await run(clone, 'diff', first.id)).stdout, /^\+made$/m);
    assert.equal((await run(clone, 'show', first.id, 'made.txt')).stdout, 'made\n');
    const pulled = await run(clone, 'pull', first.id, '--branch', 'taken');
    assert.equal(pulled.code, 0, pulled.stderr);
    const log = execFileSync('git', ['-C', clone, 'log', '--format=%s', 'taken'], { encoding: 'utf8' });
    assert.match(log, /\nChange a\.txt\n$/);
  });

  await t.test('two tasks at once share one fetch', async () => {
    const both = await Promise.all([send({ name: 'api' }), send({ name: 'api' })]);
    for (const { status, executed_by, artifacts } of both)
      assert.deepEqual(
        [status, executed_by, artifacts.delivery.base],
        ['done', 'neo', tips.api],
        JSON.stringify(both),
      );
    // A fetch asks without the token first.
    assert.equal(fetches('api'), 2);
  });

  await t.test('a repository that nobody has blocks a task before a token is spent', async () => {
    const { status, tokens_spent, unmet } = await send({ name: 'none' });
    assert.deepEqual([status, tokens_spent], ['blocked', 0]);
    assert.deepEqual(
      [unmet[0].kind, unmet[0].name],
      ['capability', 'repository:none'],
      JSON.stringify(unmet),
    );
    const sent = await send({ name: 'docs' }, 'trinity');
    assert.deepEqual([sent.status, sent.tokens_spent], ['blocked', 0], JSON.stringify(sent));
  });

  await t.test('a worker that has joined does the tasks on what it alone has', async () => {
    const machine = otherMachine(t, fleet);
    const profile = tempDir(t);
    const keys = join(tempDir(t), 'keys');
    mkdirSync(keys, { mode: 0o700 });
    writeFileSync(join(keys, 'forge'), TOKEN, { mode: 0o600 });
    cpSync(join(ROOT, 'deploy/profiles/neo'), profile, { recursive: true });
    const shipped = parse(readFileSync(join(profile, 'config.yaml'), 'utf8'));
    const docs = { url: forge.server.url('docs.git'), token_file: join(keys, 'forge') };
    const config = { ...shipped, workspace: { repositories: { docs } } };
    writeFileSync(join(profile, 'config.yaml'), stringify(config));
    const { token } = await joinToken(fleet, { name: 'worker-7' });
    const joined = await machine.join(token, '--profile-dir', profile);
    assert.equal(joined.code, 0, joined.stdout + joined.stderr);
    const result = await send({ name: 'docs' });
    assert.deepEqual(
      [result.status, result.executed_by, result.artifacts?.delivery.base],
      ['done', 'worker-7', tips.docs],
      JSON.stringify(result),
    );
  });

  await t.test('a token that the forge refuses is named by its variable, and not shown', async () => {
    const result = await send({ name: 'expired' });
    assert.deepEqual([result.status, result.tokens_spent, result.unmet[0].kind], ['blocked', 0, 'repo']);
    assert.match(result.unmet[0].detail, /EXPIRED_TOKEN/);
    assert.ok(!JSON.stringify(result).includes(WRONG) && !fleet.log('morpheus').includes(WRONG));
  });

  await t.test('a context works on one repository, and goes on without naming it', async () => {
    const next = await send(undefined, 'auto', first.contextId);
    assert.deepEqual(
      [next.status, next.executed_by, next.artifacts.delivery?.repository ?? 'web'],
      ['done', first.executed_by, 'web'],
      JSON.stringify(next),
    );
    const other = await call(
      fleet.target('switch'),
      'SendMessage',
      message(dispatch({ brief: BRIEF, task: { repository: { name: 'api' } } }), {
        contextId: first.contextId,
      }),
    );
    assert.match(JSON.stringify(other.body), /web/);
    assert.notEqual(resultOf(other.body.result?.task)?.status, 'done', JSON.stringify(other.body));
  });

  await t.test('a new context starts from what was pushed meanwhile', async () => {
    const tip = forge.push('web', { 'b.txt': 'new\n' });
    await until(
      async () => (await send({ name: 'web' })).artifacts.delivery.base === tip,
      'a context that starts from the new commit',
    );
  });

  await t.test(
    'while the forge is away, new contexts wait or say how old their base is, and others go on',
    async () => {
      await forge.server.stop();
      let away: Awaited<ReturnType<typeof send>> | undefined;
      await until(async () => {
        // With `reroute`, it would wait for the forge.
        away = await send({ name: 'web' }, 'auto', undefined, 'fail');
        return away.status === 'blocked';
      }, 'a refusal');
      assert.deepEqual([away.tokens_spent, away.unmet[0].kind], [0, 'repo'], JSON.stringify(away));
      assert.match(JSON.stringify(away), /web\.git cannot be reached/);
      const stale = await send({ name: 'api' });
      assert.equal(stale.status, 'done', JSON.stringify(stale));
      assert.match(stale.next_steps.join('\n'), /the work is based on main as it was fetched 20/);
      assert.equal((await send(undefined, 'auto', first.contextId)).status, 'done');
    },
  );
});
