import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { type JsonObject, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Family, MEMBER_FAMILIES } from '@hermes-fleet/service';
import { readRun } from '../../docs/picture/read-run.ts';
import { closeBrowser, needsChromium } from '../../services/console/testing/web/browser.ts';
import { openLink } from '../support/console.ts';
import { openConsole, openView } from '../support/console-pages.ts';
import { runnable } from '../support/docs.ts';
import { PROFILES, ROOT, readEvents, runProgram, startFleet, WORKERS } from '../support/fleet.ts';
import { endedAtWorkers, endings, endOf, startLongTask } from '../support/long-task.ts';
import { call, dispatch, message, resultOf, runbook, textMessage } from '../support/rpc.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');

after(closeBrowser);

test('a whole fleet of processes keeps what it promises to its users', { timeout: 600_000 }, async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'trader', 'console'], {
    mcpServers: ['filesystem', 'memory'],
  });
  const operator = fleet.target('switch');
  const send = async (sent: Record<string, unknown>) =>
    (await call(operator, 'SendMessage', message(sent))).body;
  const cli = (...args: string[]) => runProgram(process.execPath, [CLI, ...args, '--dir', fleet.dir]);
  let flight = '';

  await t.test('a dispatch to auto is done by a worker that switch chose', async () => {
    const { result } = await send(
      dispatch({
        taskId: 'flight-1',
        brief: runbook('hello.txt', 'Hello from the fleet.', 'cat hello.txt', 'grep -c fleet hello.txt'),
        task: { token_budget: 20_000 },
        requirements: { required_mcp: ['filesystem'], required_capabilities: ['terminal', 'file'] },
        routing: { target: 'auto', on_blocked: 'reroute' },
      }),
    );
    assert.equal(result?.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(result));
    flight = result.task.id;
    const done = resultOf(result.task);
    assert.deepEqual([done.status, done.task_id], ['done', 'flight-1']);
    assert.deepEqual(done.artifacts.files_changed, ['hello.txt']);
    assert.ok(
      WORKERS.some((name) => name === done.executed_by),
      done.executed_by,
    );
    assert.ok(done.tokens_spent > 0);
    assert.equal(done.usage.delegated_tokens, done.tokens_spent);
    assert.equal(done.attempts.length, 1);
    assert.ok(done.evidence.some((one: { exit_code?: number }) => one.exit_code === 0));
    const spent = (await Promise.all(WORKERS.map((name) => fleet.metrics(name))))
      .flatMap((page) => [...page.matchAll(/^fleet_tokens_spent_total\{[^}]*\} (\S+)$/gm)])
      .reduce((sum, [, tokens]) => sum + Number(tokens), 0);
    assert.equal(spent, done.tokens_spent, 'the metrics count the tokens of the result');
  });

  await t.test('what nobody declares is blocked with the reason and no token', async () => {
    for (const on_blocked of ['reroute', 'queue', 'fail']) {
      const requirements = { required_mcp: ['nope'] };
      const { result } = await send(
        dispatch({ brief: 'anything', requirements, routing: { target: 'auto', on_blocked } }),
      );
      assert.equal(result?.task.status.state, 'TASK_STATE_REJECTED', on_blocked);
      const { status, tokens_spent, blocked_reason, unmet } = resultOf(result.task);
      assert.deepEqual([status, tokens_spent], ['blocked', 0]);
      assert.match(blocked_reason, /nope/);
      assert.deepEqual(
        unmet.map(({ kind, name }: JsonObject) => [kind, name]),
        [['mcp', 'nope']],
      );
    }
    const admissions = /fleet_task_admissions_total\{[^}]*decision="blocked"[^}]*reason="mcp"[^}]*\} 3/;
    assert.match(await fleet.metrics('switch'), admissions);
  });

  await t.test('each gauge that is read at a scrape has a source', async () => {
    const page = await fleet.metrics('neo');
    const silent = Object.entries<Family>(MEMBER_FAMILIES).flatMap(([name, { read }]) =>
      read && !new RegExp(`^${name}[ {]`, 'm').test(page) ? [name] : [],
    );
    assert.deepEqual(silent, [
      'fleet_spending_ceiling_tokens',
      'fleet_certificate_expiry_timestamp_seconds',
      'fleet_certificate_renew_by_timestamp_seconds',
    ]);
    assert.match(page, /^fleet_dependency_up\{dependency="mcp:filesystem"\} 1$/m);
    assert.match(page, /^fleet_queue_depth\{queue="own"\} 0$/m);
    assert.match(await fleet.metrics('switch'), /^fleet_peer_circuit_open\{peer="neo"\} 0$/m);
  });

  await t.test('a refusal of a worker is routed back, and the next worker is asked', async () => {
    const routing = { target: 'auto', on_blocked: 'reroute' };
    const { result } = await send(dispatch({ brief: 'anything', task: { token_budget: 1 }, routing }));
    const { status, tokens_spent, attempts } = resultOf(result.task);
    assert.deepEqual([status, tokens_spent], ['blocked', 0]);
    assert.deepEqual(attempts.map(({ peer }: JsonObject) => peer).sort(), [...WORKERS].sort());
    for (const { status: answer, reason } of attempts) {
      assert.equal(answer, 'blocked');
      assert.match(reason, /budget/);
    }
  });

  await t.test('one hundred parallel copies of one dispatch are one task', async () => {
    const before = endedAtWorkers(fleet);
    const brief = runbook('a.txt', 'a', 'cat a.txt');
    const sent = dispatch({ taskId: 'copies', brief, routing: { target: 'auto' } });
    const replies = await Promise.all(Array.from({ length: 100 }, () => send(sent)));
    const tasks = replies.map(({ result }) => result.task);
    assert.equal(new Set(tasks.map(({ id }) => id)).size, 1);
    assert.equal(new Set(tasks.map((task) => JSON.stringify(resultOf(task)))).size, 1);
    assert.equal(resultOf(tasks[0]).status, 'done');
    assert.equal((await send(sent)).result.task.id, tasks[0].id, 'a copy after the end is the same task');
    assert.equal(endedAtWorkers(fleet) - before, 1, 'the work was sent out more than once');
    const { error } = await send({ ...sent, brief: 'something else' });
    assert.equal(error.code, -32602);
    assert.match(JSON.stringify(error), /TASK_ID_CONFLICT/);
  });

  await t.test('a plain text message to a worker is done', async () => {
    const text = textMessage(runbook('note.txt', 'plain', 'cat note.txt'));
    const { body } = await call(fleet.target('neo'), 'SendMessage', text);
    assert.equal(body.result?.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
  });

  await t.test('the commands of the documents work as they are written', async (tt) => {
    const blocks = runnable().filter(({ mark }) => mark.startsWith('fleet '));
    assert.ok(blocks.length >= 4, 'no block is marked to be run on a fleet');
    const cwd = tempDir(tt);
    symlinkSync(fleet.dir, join(cwd, '.fleet'));
    symlinkSync(join(ROOT, 'deploy'), join(cwd, 'deploy'));
    const command = `node '${CLI}'`;
    writeFileSync(join(cwd, 'fleet'), `#!/bin/sh\nexec ${command} "$@" --dir .fleet\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    for (const { file, mark, script } of blocks) {
      const here = script
        .replaceAll('make -s token', `${command} token --dir .fleet/keys`)
        .replaceAll('http://127.0.0.1:9219', operator.url)
        .replaceAll('http://127.0.0.1:9223', fleet.target('trader').url);
      const { code, stdout, stderr } = await runProgram('bash', ['-euo', 'pipefail', '-c', here], {
        cwd,
        env,
      });
      assert.equal(code, 0, `${file}:\n${here}\n${stderr}`);
      const wanted = mark.slice('fleet '.length);
      assert.ok(stdout.includes(wanted), `${file}: ${wanted} is not in\n${stdout}`);
    }
  });

  await t.test('the demo goes as it says', async () => {
    const { code, stdout, stderr } = await cli('demo');
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    for (const says of [
      /switch has heard from all of its peers/,
      /Routed: .*status +done\n +worker +(neo|morpheus|trinity)\n +files +hello\.txt/s,
      /Blocked: .*status +blocked\n +reason +[^\n]*"nope"[^\n]*\n +tokens +0/s,
      /Passed on: .*- neo +blocked.*tokens +0/s,
      /Plain text: .*files +note\.txt/s,
      /Decided: .*dry run +noop, would be applied\n +decision +applied: .* -> .*\n +its copy +noop: duplicate_decision\n +and back +applied: /s,
      /fleet_tokens_spent_total +\+[1-9]/,
    ])
      assert.match(stdout, says);
    assert.ok(readRun(stdout).routed.tokens > 0, 'the picture of the README reads the same output');
  });

  await t.test('the console shows in every view what the fleet did', needsChromium, async (tt) => {
    const { stdout, stderr } = await cli('console');
    const link = stdout.trim() || assert.fail(stderr);
    const { page, faults } = await openConsole(tt, link);
    assert.equal((await openLink(link)).browser, undefined, 'a link opens the console once');
    await page
      .getByRole('row', { name: /flight-1/ })
      .getByText('done', { exact: true })
      .waitFor();
    await openView(page, `tasks/switch/${flight}`);
    await page.locator('.task-head .state-done').waitFor();
    await page.getByText(/^Sent to (neo|morpheus|trinity)/).waitFor();
    await openView(page, 'fleet');
    await page.getByText('5 of 5').waitFor();
    await openView(page, 'blocked');
    await page.getByText(/^mcp: \d+ tasks had no other unmet requirement/).waitFor();
    await openView(page, 'spending');
    await page.getByRole('link', { name: 'flight-1' }).waitFor();
    await openView(page, 'trader');
    await page.getByText('sound', { exact: true }).waitFor();
    await page.locator('.outcome-applied').first().waitFor();
    await openView(page, 'send');
    await page.getByLabel('Brief').waitFor();
    assert.deepEqual(faults, []);
  });

  await t.test('a worker killed during a command repeats none, and ends its task once', async () => {
    const before = endedAtWorkers(fleet);
    const { id, worker } = await startLongTask(fleet, 'long');
    await fleet.kill(worker);
    await fleet.up();
    const { status, executed_by, tokens_spent } = await endOf(fleet, id);
    assert.deepEqual([status, executed_by], ['partial', worker], 'nobody knows what the command did');
    assert.ok(Number(tokens_spent) > 0, 'what was spent before the crash is not lost');
    assert.deepEqual(endings(fleet, 'switch').get(id), ['partial']);
    assert.equal(endedAtWorkers(fleet) - before, 1, 'the work was done by more than one task');
    const ends = WORKERS.flatMap((name) => [...endings(fleet, name).values()]);
    assert.ok(
      ends.every(({ length }) => length === 1),
      'a worker has two results of one task',
    );
  });

  await t.test('every step is an event in the stream, once and in order, without the brief', async () => {
    const isEnd = ({ source, type, data }: { source: string; type: string; data: Record<string, unknown> }) =>
      source === '/profiles/switch' &&
      data.task_id === 'long' &&
      TERMINAL_EVENTS.has(type.split('.').at(-2) ?? '');
    const events = await readEvents(fleet, (all) => all.some(isEnd));
    assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
    assert.equal(events.filter(isEnd).length, 1);
    assert.ok(events.some(({ source, type }) => source === '/profiles/switch' && /\.blocked\./.test(type)));
    const steps = events.filter(({ source, subject }) => source === '/profiles/switch' && subject === flight);
    const types = steps.map(({ type }) => type.split('.').at(-2));
    assert.deepEqual([types[0], types.at(-1)], ['submitted', 'done']);
    for (const type of ['started', 'delegated']) assert.ok(types.includes(type), types.join());
    const sequences = steps.map(({ id }) => Number(id.split(':').at(-1)));
    assert.deepEqual(
      sequences,
      sequences.toSorted((a, b) => a - b),
    );
    assert.ok(!JSON.stringify(events).includes('Hello from the fleet'), 'an event carries a brief');
  });
});
