import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROFILES, ROOT, runProgram, startFleet, until } from '../support/fleet.ts';
import { call, dispatch, message, resultOf, type Target } from '../support/rpc.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');
const BRIEF = '```sh\necho hi\n```';

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
type Body = any;

async function ask(target: Target, path: string, body?: object): Promise<Body> {
  const reply = await fetch(`${target.url}${path}`, {
    headers: { authorization: `Bearer ${target.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  return reply.json();
}

test('route, peers and doctor tell of a running fleet what is so', async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'trader'], { mcpServers: ['memory'] });
  const operator = fleet.target('switch');
  const run = (...args: string[]) => runProgram(process.execPath, [CLI, ...args, '--dir', fleet.dir]);
  const send = async (sent: Record<string, unknown>): Promise<Body> =>
    resultOf((await call(operator, 'SendMessage', message(sent))).body.result.task);
  const spending = async (): Promise<string[]> => {
    const pages = await Promise.all(fleet.plan.profiles.map(({ name }) => fleet.metrics(name)));
    return pages.flatMap(
      (page) => page.match(/^fleet_(tokens_spent|tasks|task_admissions)_total\{.*$/gm) ?? [],
    );
  };

  await t.test(
    'what route explains is where the task then goes, and explaining it spends nothing',
    async () => {
      for (const [task, requirements, expected] of [
        [{ priority: 'low' }, {}, 'neo'],
        [{ priority: 'normal' }, { required_mcp: ['memory'] }, 'morpheus'],
        [{ priority: 'urgent' }, {}, 'trinity'],
        [{ token_budget: 60_000 }, { required_capabilities: ['terminal'] }, 'trinity'],
        [{ priority: 'low' }, { model_tier: { min: 'opus' } }, 'trinity'],
      ] as const) {
        const sent = dispatch({ brief: BRIEF, task, requirements, routing: { target: 'auto' } });
        const file = join(fleet.dir, `${randomUUID()}.json`);
        writeFileSync(file, JSON.stringify(sent));
        const before = await spending();
        const { code, stdout, stderr } = await run('route', '--explain', '--json', '--file', file);
        assert.equal(code, 0, stderr);
        assert.deepEqual(await spending(), before);
        const decision: Body = JSON.parse(stdout);
        assert.equal(decision.chosen, expected, stdout);
        assert.equal(decision.considered.length, 4);
        const trader = decision.considered.find(({ peer }: Body) => peer === 'trader');
        assert.equal(trader.verdict, 'excluded');
        assert.match(trader.reasons.join(), /takes no tasks/);
        const result = await send(sent);
        assert.deepEqual(
          [result.status, result.executed_by],
          ['done', decision.chosen],
          JSON.stringify(result),
        );
      }
    },
  );

  await t.test('for people it is a table, and options say what a file would', async () => {
    const { code, stdout } = await run('route', '--explain', '--priority', 'low', '--target', 'neo');
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^peer +verdict +score +reasons\nneo +chosen +\d+ +load \d\.\d\d; tier haiku 0 off the preferred/,
    );
    assert.match(stdout, /^trinity +excluded +- +is not the target neo$/m);
    assert.match(stdout, /^goes to neo$/m);
  });

  await t.test('what nobody can take is explained as the task is then blocked', async () => {
    const requirements = { required_mcp: ['nope'], required_capabilities: ['fly'] };
    const { code, stdout } = await run('route', '--json', '--mcp', 'nope', '--capability', 'fly');
    assert.equal(code, 3);
    const { unmet, waitable } = JSON.parse(stdout);
    const result = await send(dispatch({ brief: BRIEF, requirements, routing: { target: 'auto' } }));
    assert.equal(result.status, 'blocked');
    assert.deepEqual([unmet, waitable], [result.unmet, false]);
  });

  await t.test('peers shows all of them live, and no token', async () => {
    const { code, stdout } = await run('peers', '--json');
    assert.equal(code, 0);
    const { peers } = JSON.parse(stdout);
    assert.deepEqual(
      peers.map((peer: Body) => [peer.name, peer.standing, peer.state, peer.announce.model_tier]),
      [
        ['morpheus', 'configured', 'live', 'sonnet'],
        ['neo', 'configured', 'live', 'haiku'],
        ['trader', 'configured', 'live', 'none'],
        ['trinity', 'configured', 'live', 'opus'],
      ],
    );
    for (const peer of ['neo', 'morpheus', 'trinity', 'trader'])
      assert.ok(!stdout.includes(await fleet.tokenOf('switch', peer)));
    assert.match((await run('peers')).stdout, /^neo +configured +live +[\d.]+ s +haiku +offline\/runbook/m);
  });

  await t.test('doctor finds nothing, beside the gateways that run, and spends nothing', async () => {
    const before = await spending();
    for (const profile of ['switch', 'neo']) {
      const { code, stdout, stderr } = await run('doctor', '--profile', profile, '--json');
      assert.equal(code, 0, stdout + stderr);
      const { findings } = JSON.parse(stdout);
      const checks = findings
        .filter(({ subject }: Body) => subject === 'trinity')
        .map(({ check, state }: Body) => [check, state]);
      if (profile === 'switch')
        assert.deepEqual(
          checks,
          ['reachable', 'card', 'name', 'token', 'versions', 'identity', 'address', 'clock'].map((check) => [
            check,
            'ok',
          ]),
        );
      assert.ok(findings.some(({ subject, state }: Body) => subject === 'nats' && state === 'ok'));
    }
    assert.deepEqual(await spending(), before);
  });

  await t.test('a cost is told to who sent the task', async () => {
    const { body } = await call(
      operator,
      'SendMessage',
      message(dispatch({ brief: BRIEF, task: { token_budget: 30_000 } })),
    );
    const { task } = body.result;
    const cost = await ask(operator, `/fleet/tasks/${task.id}/cost`);
    assert.equal(cost.tokens_spent, resultOf(task).tokens_spent);
    assert.equal(cost.delegated_tokens, cost.tokens_spent, 'switch spends nothing of its own');
    assert.equal(cost.budget.remaining, 30_000 - cost.tokens_spent);
    const stranger = fleet.target('switch', await fleet.tokenOf('neo', 'switch'));
    assert.equal((await ask(stranger, `/fleet/tasks/${task.id}/cost`)).error.code, 'TASK_NOT_FOUND');
  });

  await t.test(
    'a killed peer: doctor says that it is away, and once it failed, routing leaves it alone',
    async () => {
      await fleet.kill('morpheus');
      const { code, stdout } = await run('doctor');
      assert.equal(code, 1);
      assert.match(stdout, /^morpheus +reachable +FAILED +nobody answers at /m);
      assert.match(stdout, /morpheus, reachable: start morpheus, or correct fleet\.agents\.morpheus/);
      assert.match(stdout, /^1 of \d+ checks failed$/m);

      const asked = dispatch({ brief: BRIEF, routing: { target: 'morpheus', on_blocked: 'fail' } });
      let decision: Body;
      await until(async () => {
        await send(dispatch({ brief: BRIEF, routing: { target: 'morpheus', on_blocked: 'fail' } }));
        const { peers } = await ask(operator, '/fleet/peers');
        const { circuit, state } = peers.find(({ name }: Body) => name === 'morpheus');
        decision = await ask(operator, '/fleet/route', asked);
        return (circuit === 'open' || state !== 'live') && decision.chosen === null;
      }, 'the circuit of morpheus to open');
      assert.equal(decision.waitable, true);
      assert.match(JSON.stringify(decision.unmet), /keeps failing|stale|not heard of lately/);
    },
  );
});
