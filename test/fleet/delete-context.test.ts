import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Fleet, ROOT, runProgram, startFleet, until } from '../support/fleet.ts';
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

const deleteContext = (fleet: Fleet, contextId: string) => {
  const args = [CLI, 'context', 'delete', contextId, '--results', 'delete', '--dir', fleet.dir, '--json'];
  return runProgram(process.execPath, args);
};

test('a deleted context leaves nothing in the state and the workspace of any profile, whoever was down', {
  timeout: 200_000,
}, async (t) => {
  const fleet = await startFleet(t);
  const secret = `secret-${randomUUID()}`;
  const work = async (contextId: string, brief: string) => {
    const sent = dispatch({ brief, routing: { target: 'neo' } });
    const { body } = await call(fleet.target('switch'), 'SendMessage', message(sent, { contextId }));
    return { task: body.result?.task, error: body.error, result: resultOf(body.result?.task) };
  };
  assert.equal((await work('kept', runbook('a.txt', 'nothing', 'cat a.txt'))).result.status, 'done');
  const { task, result } = await work('gone', runbook('a.txt', secret, 'cat a.txt'));
  assert.equal(result.status, 'done', JSON.stringify(result));
  const results = (...args: string[]): string =>
    execFileSync('git', ['-C', join(fleet.dir, 'workspaces/neo/results.git'), ...args], { encoding: 'utf8' });
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
  assert.match((await deleteContext(fleet, 'gone')).stderr, /HTTP 404: context gone is not known/);
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
