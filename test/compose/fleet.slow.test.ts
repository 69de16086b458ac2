import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ENDED, ends, MEMBERS, PROFILES, startComposeFleet } from '../support/compose.ts';
import { assertHardened, assertKeysHidden } from '../support/compose-hardening.ts';
import { exhaustProfile, searchNeighbour } from '../support/compose-neighbours.ts';
import {
  disableProfile,
  driveAsBrowser,
  fillDisk,
  fixCheckout,
  lockPorts,
  pushBase,
  startOpenProfile,
} from '../support/compose-rows.ts';
import { composeWork, DASHBOARD, type Panel } from '../support/compose-work.ts';
import { withoutEngine } from '../support/engine.ts';
import { until } from '../support/fleet.ts';
import { attackFromWithin } from '../support/inside.ts';
import { decide } from '../support/lone-trader.ts';
import { prometheus } from '../support/prometheus.ts';
import { call, resultOf, runbook, textMessage } from '../support/rpc.ts';

test('a whole fleet in containers', { skip: withoutEngine(), timeout: 800_000 }, async (t) => {
  const fleet = await startComposeFleet(t);
  const metrics = prometheus(await fleet.url('prometheus'));
  const operator = await fleet.target('switch');
  const { submitted, send, ended, running, readable } = composeWork(fleet, operator);
  let flown = false;

  await t.test('is scraped by Prometheus, every member of it and the console', async () => {
    await until(
      async () => (await metrics.value('sum(up{job="fleet"})')) === MEMBERS.length + 1,
      'the scrapes',
    );
  });

  await t.test('a dispatch to auto is done by a worker that switch chose', async () => {
    const { body } = await send('flight', {
      brief: runbook('hello.txt', 'Hello from the fleet.', 'cat hello.txt', 'grep -c fleet hello.txt'),
      task: { token_budget: 20_000 },
      requirements: { required_mcp: ['filesystem'], required_capabilities: ['terminal', 'file'] },
    });
    assert.equal(body.result?.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
    const result = resultOf(body.result.task);
    assert.equal(result.status, 'done');
    assert.deepEqual(result.artifacts.files_changed, ['hello.txt']);
    assert.ok(result.tokens_spent > 0);
    assert.ok(PROFILES.slice(1).includes(result.executed_by), result.executed_by);
    flown = true;
    await readable(body.result.task.id, 'hello.txt', 'Hello from the fleet.');
  });
  assert.ok(flown, 'the fleet does no work: the other tests would only wait for it');

  await t.test('what nobody declares is blocked, with the reason and no token', async () => {
    const { body } = await send('blocked', {
      brief: 'anything',
      requirements: { required_mcp: ['nope'] },
    });
    const result = resultOf(body.result.task);
    assert.equal(result.status, 'blocked');
    assert.equal(result.tokens_spent, 0);
    assert.match(result.blocked_reason, /nope/);
  });

  await t.test('a plain text message works', async () => {
    const { body } = await call(operator, 'SendMessage', textMessage(runbook('n.txt', 'plain', 'cat n.txt')));
    assert.equal(body.result?.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
  });

  await t.test('every step is an event in the stream, and no event carries a brief', async () => {
    const events = await fleet.readEvents((all) => {
      const names = ends(all, 'switch');
      return names.includes('flight') && names.includes('blocked');
    });
    const steps = (name: string) =>
      events
        .filter(({ source, data }) => source === '/profiles/switch' && data.task_id === name)
        .map(({ type }) => type.split('.').at(-2));
    const flight = steps('flight');
    assert.equal(flight[0], 'submitted');
    assert.equal(flight.at(-1), 'done');
    for (const step of ['started', 'delegated']) assert.ok(flight.includes(step), flight.join());
    assert.deepEqual(steps('blocked'), ['submitted', 'blocked']);
    assert.ok(!JSON.stringify(events).includes('Hello from the fleet'));
  });

  await t.test('a command of the agent reaches nothing of its gateway', async () => {
    const forbidden = {
      keys: 'ls /run/keys',
      key: 'cat /run/keys/NATS_PASSWORD',
      state: 'ls /state',
      ledger: 'cat /state/ledger.db',
      first: 'cat /proc/1/environ',
      // Its own environment and those of its MCP servers are all that it may see.
      environ: "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -E '^(HERMES_|NATS_|A2A_|BIND_|HEALTH_)'",
      env: "env | grep -E 'HERMES|NATS|TOKEN|SECRET|PASSWORD|_HOST'",
      become: 'setpriv --reuid 1000 true',
    };
    assert.match(
      await fleet.inside('neo', 'ls /run/keys /state'),
      /NATS_PASSWORD[\s\S]*ledger\.db/,
      'what must be out of reach is not there at all',
    );
    const commands = [
      ...Object.entries(forbidden).map(([name, command]) => `(${command}) >/dev/null 2>&1; echo ${name}=$?`),
      'echo uid=$(id -u) $(grep CapEff /proc/self/status) $(grep NoNewPrivs /proc/self/status)',
    ];
    const { body } = await send('confined', {
      brief: runbook('a.txt', 'a', ...commands),
      routing: { target: 'neo' },
    });
    const { status, text } = resultOf(body.result.task);
    assert.equal(status, 'done', text);
    for (const name of Object.keys(forbidden))
      assert.match(text, new RegExp(`^\\s*${name}=[1-9]\\d*$`, 'm'), text);
    assert.match(text, /^\s*uid=[23]\d{4} CapEff: 0{16} NoNewPrivs: 1$/m, text);
  });

  await t.test('neighbours keep their secrets, and work on whatever a task takes', async () => {
    await searchNeighbour(fleet, await fleet.target('neo'));
    await exhaustProfile(fleet, await fleet.target('neo'));
  });

  await t.test(
    'a profile disabled for ever: not by a task that destroys all of git that it reaches',
    async () => {
      await disableProfile(await fleet.target('neo'));
    },
  );

  await t.test('a port locked: not by a flood from the machine, nor by a task of another container', (st) =>
    lockPorts(st, fleet),
  );

  const open = await startOpenProfile(t, fleet.image);
  await t.test('a browser drives an open profile: not with a foreign name', () =>
    driveAsBrowser(fleet, open),
  );

  await t.test('nothing leaves the sandbox', async (st) => {
    const gateway = /\d+/.exec(open.inside("grep -la '^node.dist/profile' /proc/[0-9]*/cmdline"))?.[0];
    const { url: askingForTokens } = operator;
    const target = { url: open.url, token: undefined };
    await attackFromWithin(st, target, { mode: 'container', gateway: Number(gateway), askingForTokens });
    assert.equal(open.inside('cat /state/open'), '');
  });

  await t.test('the machine filled: not beyond what a context may have of the disk', () => fillDisk(open));

  await t.test('new contexts start from what the documented command pushes', (st) => pushBase(st, open));
  await t.test('a checkout of the user is fixed on a branch', (st) => fixCheckout(st, operator));

  await t.test('every container is hardened as it runs, and published on loopback only', () =>
    assertHardened(fleet),
  );

  await t.test('no key is in a container, in its log or in the image', () => assertKeysHidden(fleet));

  await t.test('kill -9 of a worker in mid-task: the task ends once, with one result', async () => {
    const work = {
      brief: runbook('a.txt', 'a', 'touch killed.mark', 'for i in 1 2 3 4 5; do sleep 1; done'),
    };
    const { body } = await send('killed', { ...work, routing: { target: 'neo' } }, true);
    await running('killed.mark');
    await fleet.kill('neo');
    await fleet.start('neo');
    const task = await ended(body.result.task.id);
    const result = resultOf(task);
    assert.ok(['done', 'partial', 'error'].includes(result.status), JSON.stringify(result));
    assert.equal(result.executed_by, 'neo');
    assert.equal(task.artifacts.filter(({ name }: { name: string }) => name === 'task-result').length, 1);

    // A relayed task goes out under the id that it has at the relay. Each profile publishes its end at its own time.
    const events = await fleet.readEvents(
      (all) => ends(all, 'switch').includes('killed') && ends(all, 'neo').includes(body.result.task.id),
    );
    assert.equal(ends(events, 'switch').filter((name) => name === 'killed').length, 1);
    const atNeo = events.filter(
      ({ source, data }) => source === '/profiles/neo' && data.task_id === body.result.task.id,
    );
    const steps = atNeo.map(({ type }) => type.split('.').at(-2));
    assert.equal(steps.filter((step) => step === 'submitted').length, 1, steps.join());
    assert.equal(atNeo.filter(({ type }) => ENDED.test(type)).length, 1, steps.join());
    assert.ok(steps.includes('resumed'), steps.join());
  });

  await t.test('kill -9 of NATS stops no task and loses no event', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `outage-${index}`);
    const brief = runbook('a.txt', 'a', 'sleep 0.2', 'cat a.txt');
    const before = names.slice(0, 6).map((name) => send(name, { brief }));
    await fleet.kill('nats');
    const during = names.slice(6).map((name) => send(name, { brief }));
    for (const { body } of await Promise.all([...before, ...during])) {
      assert.equal(resultOf(body.result?.task)?.status, 'done', JSON.stringify(body));
    }
    const ready = await fetch(`${operator.url}/ready`);
    assert.equal(ready.status, 200);
    assert.match(await ready.text(), /degraded/);
    await fleet.start('nats');
    const events = await fleet.readEvents((all) => {
      const there = new Set(ends(all, 'switch'));
      return names.every((name) => there.has(name));
    });
    assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
  });

  await t.test(
    'both headlines move in Prometheus, and every query of the dashboard answers with data',
    async () => {
      const moved = async (query: string) => Number(await metrics.value(query)) > 0;
      await until(() => moved('sum(fleet_tokens_spent_total)'), 'spent tokens');
      await until(() => moved('sum(fleet_task_admissions_total{decision="blocked"})'), 'blocked tasks');

      const { panels }: { panels: Panel[] } = JSON.parse(readFileSync(DASHBOARD, 'utf8'));
      const queries = panels.flatMap(({ title, targets }) =>
        (targets ?? []).map(({ expr }) => ({ title, expr })),
      );
      assert.ok(queries.length > 10);
      for (const { title, expr } of queries) {
        // The shipped profiles have no ceilings.
        if (expr.includes('fleet_spending_ceiling_tokens')) continue;
        const filled = expr
          .replaceAll('$profile', '.+')
          .replaceAll('$__rate_interval', '1m')
          .replaceAll('$__range', '1h')
          // Series in which nothing happens are left out.
          .replace(/ >=? 0$/, '');
        await until(async () => (await metrics.query(filled)).length > 0, `data for ${title}: ${filled}`);
      }
      for (const headline of ['Tokens spent', 'Blocked share'])
        assert.ok(
          queries.some(({ title }) => title === headline),
          headline,
        );
    },
  );

  await t.test('a stop in mid-task exits 0 within the grace, and the next start ends the task', async () => {
    const brief = runbook('a.txt', 'a', 'touch stopped.mark', 'sleep 3').concat('\n\n```sh\ncat a.txt\n```');
    const { body } = await send('stopped', { brief, routing: { target: 'neo' } }, true);
    await running('stopped.mark');
    await fleet.compose('stop', 'neo');
    const { State: state } = await fleet.inspect('neo');
    assert.deepEqual([state.Status, state.ExitCode, state.OOMKilled], ['exited', 0, false]);
    await fleet.start('neo');
    const result = resultOf(await ended(body.result.task.id));
    // A command that the stop cut off is not repeated, since nobody knows how far it came: then the rest remains.
    assert.equal(result.status, 'done', JSON.stringify(result));
  });

  await t.test('the trader decides, and its audit is verified where its file is, up or down', async () => {
    const trader = await fleet.target('trader');
    for (const action of ['pause', 'resume']) {
      const { status, errors } = await decide(trader, { action });
      assert.equal(status, 'applied', JSON.stringify(errors));
    }
    const verify = ['trader', ...'fleet trader audit verify --as-is --json'.split(' ')];
    const beside = JSON.parse(await fleet.compose('exec', '-T', ...verify));
    assert.equal(beside.ok, true, JSON.stringify(beside));
    await fleet.compose('stop', 'trader');
    const alone = JSON.parse(await fleet.compose('run', '--rm', '--no-deps', '-T', ...verify));
    assert.equal(alone.ok, true, JSON.stringify(alone));
    assert.ok(alone.records >= beside.records && alone.records >= 3, JSON.stringify({ beside, alone }));
    assert.equal(alone.published.seq, alone.head.seq, 'the last head is published at the stop');
    await fleet.start('trader');
  });

  await t.test('a second up changes nothing, and a second set of keys is not made', async () => {
    const services = [...MEMBERS, 'nats', 'prometheus'];
    const sums = () => fleet.withKeys('cd /keys && find . -type f | sort | xargs sha256sum');
    const before = { containers: await Promise.all(services.map(fleet.container)), keys: await sums() };
    await fleet.up();
    assert.deepEqual(
      { containers: await Promise.all(services.map(fleet.container)), keys: await sums() },
      before,
    );
    const again = await fleet.compose('run', '--rm', '--no-deps', '-T', 'keys');
    assert.match(again, /^keys: 0 created, 0 repaired, \d+ unchanged$/m);
    assert.equal(await sums(), before.keys);
    const token = await fleet.compose('run', '--rm', '--no-deps', '-T', 'keys', 'token');
    assert.equal(token, `${fleet.operatorToken}\n`);
  });

  await t.test('at the end every event of every ledger is in the stream, in order and once', async () => {
    await fleet.compose('stop', ...MEMBERS);
    for (const name of MEMBERS) assert.equal((await fleet.inspect(name)).State.ExitCode, 0, name);
    const ledgers = await fleet.ledgerIds();
    const expected = Object.values(ledgers).flat();
    assert.ok(expected.length > 100, `only ${expected.length} events`);
    const events = await fleet.readEvents((all) => all.length >= expected.length);
    for (const profile of PROFILES) {
      const ids = events.filter(({ source }) => source === `/profiles/${profile}`).map(({ id }) => id);
      assert.deepEqual(ids, ledgers[profile], profile);
    }
    const there = ends(events, 'switch');
    for (const name of submitted) assert.equal(there.filter((one) => one === name).length, 1, name);
    t.diagnostic(`${events.length} events of ${submitted.length} tasks`);
  });
});
