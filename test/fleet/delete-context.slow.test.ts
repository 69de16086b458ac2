import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Fleet, ROOT, runProgram, startFleet, until } from '../support/fleet.ts';
import { makeOlder } from '../support/ledger-file.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');

/** The files of a fleet's state folders and workspaces that contain the text. */
function filesWith(fleet: Fleet, text: string): string[] {
  return ['state', 'workspaces']
    .flatMap((folder) =>
      readdirSync(join(fleet.dir, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(fleet.dir, folder, name),
      ),
    )
    .filter((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found?.isFile() === true && readFileSync(file).includes(text);
    });
}

/** Sends work to neo over switch. */
async function workAtNeo(fleet: Fleet, contextId: string, brief: string) {
  const sent = dispatch({ brief, routing: { target: 'neo' } });
  const { body } = await call(fleet.target('switch'), 'SendMessage', message(sent, { contextId }));
  return { task: body.result?.task, error: body.error, result: resultOf(body.result?.task) };
}

/** Runs git in neo's store of results. */
const resultsOfNeo = (fleet: Fleet, ...args: string[]): string =>
  execFileSync('git', ['-C', join(fleet.dir, 'workspaces/neo/results.git'), ...args], { encoding: 'utf8' });

/** Makes the tasks and contexts of a profile that does not run 31 days older: the retention removes them. */
function makeOld(fleet: Fleet, profile: string): void {
  makeOlder(join(fleet.dir, 'state', profile, 'ledger.db'), 31);
  const contexts = join(fleet.dir, 'workspaces', profile, 'contexts');
  const then = new Date(Date.now() - 31 * 86_400_000);
  for (const name of readdirSync(contexts)) utimesSync(join(contexts, name, 'context'), then, then);
}

const deleteContext = (fleet: Fleet, contextId: string) => {
  const args = [CLI, 'context', 'delete', contextId, '--results', 'delete', '--dir', fleet.dir, '--json'];
  return runProgram(process.execPath, args);
};

test('a deleted context leaves nothing in the state and the workspace of any profile, whoever was down', {
  timeout: 200_000,
}, async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  const secret = `secret-${randomUUID()}`;
  const work = (contextId: string, brief: string) => workAtNeo(fleet, contextId, brief);
  assert.equal((await work('kept', runbook('a.txt', 'nothing', 'cat a.txt'))).result.status, 'done');
  const { task, result } = await work('gone', runbook('a.txt', secret, 'cat a.txt'));
  assert.equal(result.status, 'done', JSON.stringify(result));
  const results = (...args: string[]): string => resultsOfNeo(fleet, ...args);
  const blob = results('rev-parse', 'fleet/gone:a.txt').trim();
  const found = filesWith(fleet, secret);
  for (const name of ['switch', 'neo'])
    assert.ok(
      found.some((file) => file.includes(`/${name}/`)),
      found.join(),
    );

  await fleet.kill('neo');
  const first = await deleteContext(fleet, 'gone');
  const asked = JSON.parse(first.stdout);
  assert.deepEqual(
    [first.code, asked.tasks, asked.peers[0].peer, asked.peers[0].state],
    [0, 1, 'neo', 'pending'],
  );
  assert.deepEqual(
    filesWith(fleet, secret).filter((file) => file.includes('/switch/')),
    [],
  );
  assert.match(JSON.stringify((await work('gone', 'More.')).error), /CONTEXT_IN_USE/);

  await fleet.kill('switch');
  await fleet.up();
  await until(async () => (await deleteContext(fleet, 'gone')).code === 1, 'the deletion at neo');
  assert.match((await deleteContext(fleet, 'gone')).stdout, /HTTP 404: context gone is not known/);
  assert.deepEqual(filesWith(fleet, secret), []);
  assert.equal(results('for-each-ref', '--format=%(refname:short)', 'refs/heads'), 'fleet/kept\n');
  const objects = results('cat-file', '--batch-all-objects', '--batch-check');
  assert.ok(!objects.includes(blob), 'the objects of the result are gone too');
  const { body } = await call(fleet.target('switch'), 'GetTask', { id: task.id });
  assert.match(JSON.stringify(body.error), /TASK_NOT_FOUND/);
  const listed = await call(fleet.target('switch'), 'ListTasks', {});
  assert.deepEqual(
    listed.body.result.tasks.map(({ contextId }: { contextId: string }) => contextId),
    ['kept'],
  );
  assert.match(await fleet.metrics('switch'), /^fleet_tasks_total\{.*status="done".*\} 2$/m);
  assert.equal((await work('gone', runbook('a.txt', 'anew', 'cat a.txt'))).result.status, 'done');
});

test('a caller deletes a result at a peer after the retention has removed its tasks and their contexts', {
  timeout: 200_000,
}, async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  for (const context of ['kept', 'gone']) {
    const { result } = await workAtNeo(fleet, context, runbook('a.txt', context, 'cat a.txt'));
    assert.equal(result.status, 'done', JSON.stringify(result));
  }
  const branches = (): string =>
    resultsOfNeo(fleet, 'for-each-ref', '--format=%(refname:short)', 'refs/heads');
  const pair = ['switch', 'neo'];
  for (const name of pair) {
    const published = async (): Promise<boolean> =>
      /^fleet_outbox_backlog 0$/m.test(await fleet.metrics(name));
    await until(published, `${name} to publish its events`);
  }
  for (const name of pair) {
    await fleet.terminate(name);
    makeOld(fleet, name);
  }
  await fleet.up();
  for (const name of pair)
    await until(() => fleet.log(name).includes('finished tasks removed'), `the retention of ${name}`);
  await until(() => fleet.log('neo').includes('contexts and results removed'), 'the contexts to go');
  assert.equal(branches(), 'fleet/gone\nfleet/kept\n');
  const listed = await call(fleet.target('switch'), 'ListTasks', {});
  assert.deepEqual(listed.body.result.tasks, []);

  const { code, stdout, stderr } = await deleteContext(fleet, 'gone');
  assert.equal(code, 0, stderr);
  const { tasks, result, peers } = JSON.parse(stdout);
  assert.deepEqual(
    [tasks, result, peers],
    [0, 'none', [{ peer: 'neo', context_id: 'gone', state: 'deleted' }]],
  );
  assert.equal(branches(), 'fleet/kept\n');
  assert.match((await deleteContext(fleet, 'gone')).stdout, /HTTP 404: context gone is not known/);
});
