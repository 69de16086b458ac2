import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { calledIn, lasting, letGo, ownTask, shell, tool, untilThere } from '../support/agent-work.ts';
import { type Fleet, PROFILES, readEvents, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf, type Target, textMessage } from '../support/rpc.ts';

const GUEST = 'A2A_HERMES_TOKEN_GUEST';
const GUEST_TOKEN = 'token-of-the-guest-0123456789';

async function begin(to: Target, sent: Record<string, unknown>): Promise<string> {
  const { body } = await call(to, 'SendMessage', message(sent, { returnImmediately: true }));
  return body.result?.task.id ?? assert.fail(JSON.stringify(body));
}

// biome-ignore lint/suspicious/noExplicitAny: a TASK_RESULT under test
async function endOf(to: Target, id: string): Promise<any> {
  let result: unknown;
  await until(
    async () => {
      result = resultOf((await call(to, 'GetTask', { id })).body.result);
      return result !== undefined;
    },
    `the task ${id} to end`,
    120_000,
  );
  return result;
}

/** Own tokens of every profile, by its own meter. */
async function metered(fleet: Fleet, profile: string): Promise<number> {
  const samples = (await fleet.metrics(profile)).matchAll(/^fleet_tokens_spent_total\{[^}]*\} (\d+)$/gm);
  return [...samples].reduce((sum, [, tokens]) => sum + Number(tokens), 0);
}

/** The events of each task in a profile's ledger. */
function tasksOf(fleet: Fleet, profile: string): Map<string, string[]> {
  const { events } = readLedgerFile(join(fleet.dir, 'state', profile, 'ledger.db'));
  return new Map(
    [...Map.groupBy(events, ({ taskId }) => taskId)].map(([id, own]) => [id, own.map(({ type }) => type)]),
  );
}

function withGuest(profile: string, shipped: string): string {
  if (profile !== 'switch') return shipped;
  const config = parse(shipped);
  config.fleet.server.callers.guest = { token_env: GUEST, scopes: ['dispatch', 'read'] };
  return stringify(config);
}

test("a fleet's own agents use the fleet", { timeout: 280_000 }, async (t) => {
  const fleet = await startFleet(t, PROFILES, {
    fleetYaml: withGuest,
    mcpServers: ['filesystem', 'memory'],
    secrets: { switch: { [GUEST]: GUEST_TOKEN } },
  });
  const operator = fleet.target('switch');

  await t.test('peers, MCP servers and commands in one run; the tokens of all add up', async () => {
    const sent = ownTask(
      [
        tool('fleet_peers', {}),
        tool('fleet_route', { requirements: { model_tier: { min: 'opus' } } }),
        shell('echo here'),
        tool('mcp__memory__create_entities', {
          entities: [{ name: 'neo', entityType: 'peer', observations: ['is small'] }],
        }),
        tool('mcp__memory__read_graph', {}),
        tool('mcp__filesystem__list_allowed_directories', {}),
        tool('fleet_send', { agent: 'neo', brief: shell('echo there'), write: false }),
        tool('delegate', { agent: 'morpheus', brief: shell('echo elsewhere') }),
      ],
      { taskId: 'whole', task: { reply_schema: 'json', token_budget: 1_000_000 } },
    );
    const id = await begin(operator, sent);
    const result = await endOf(operator, id);
    assert.deepEqual([result.status, result.executed_by], ['done', 'switch'], JSON.stringify(result));
    const called = calledIn(result);
    assert.match(JSON.stringify(called.get('fleet_peers')), /morpheus/);
    assert.match(JSON.stringify(called.get('fleet_route')?.result), /"chosen\\?":\\?"trinity/);
    assert.match(JSON.stringify(called.get('mcp__memory__read_graph')), /is small/);
    assert.match(
      JSON.stringify(called.get('mcp__filesystem__list_allowed_directories')),
      /workspaces.switch/,
    );
    const there = called.get('fleet_send')?.result;
    assert.deepEqual([there.status, there.executed_by], ['done', 'neo'], JSON.stringify(there));
    assert.match(there.text, /ran `echo there`: exit code 0/);

    assert.match(JSON.stringify(called.get('delegate')), /ran `echo elsewhere`: exit code 0/);

    const [own = 0, neos = 0, others = 0] = await Promise.all(
      ['switch', 'neo', 'morpheus'].map((name) => metered(fleet, name)),
    );
    assert.ok(own > 0 && neos > 0 && others > 0);
    assert.deepEqual(
      [there.tokens_spent, result.usage.delegated_tokens, result.tokens_spent],
      [neos, neos + others, own + neos + others],
    );
    await until(() => fleet.log('switch').includes('work is delegated to a peer'), 'the line of switch');
    const [handed] = fleet
      .log('switch')
      .split('\n')
      .filter((line) => line.includes('work is delegated to a peer'));
    const { on_behalf_of, part, task_id } = JSON.parse(handed ?? '{}');
    assert.deepEqual([on_behalf_of, task_id, part.startsWith(`${id}/`)], ['operator', id, true]);
    const events = await readEvents(fleet, (all) =>
      all.some(({ subject, type }) => subject === id && type.includes('.done.')),
    );
    const delegated = events.find(({ subject, type }) => subject === id && type.includes('.delegated.'));
    assert.deepEqual([delegated?.data.peer, delegated?.data.part], ['neo', part]);
    assert.ok(events.some(({ source, data }) => source === '/profiles/neo' && data.task_id === part));
  });

  await t.test('a peer that cannot do it costs nothing, and the agent is told why', async () => {
    const before = await metered(fleet, 'neo');
    const id = await begin(
      operator,
      ownTask([
        tool('fleet_send', { agent: 'neo', brief: 'anything', requirements: { required_mcp: ['nope'] } }),
      ]),
    );
    const result = await endOf(operator, id);
    assert.notEqual(result.status, 'done');
    const { outcome, result: told } = calledIn(result).get('fleet_send') ?? assert.fail();
    assert.equal(outcome, 'failed');
    assert.match(JSON.stringify(told), /required MCP server \\+"nope\\+" is not declared by any live peer/);
    assert.equal(await metered(fleet, 'neo'), before);
    assert.equal(result.usage.delegated_tokens ?? 0, 0);
  });

  await t.test('a peer killed and restarted meanwhile: one task there, one result here', async () => {
    const before = new Set(tasksOf(fleet, 'neo').keys());
    const id = await begin(operator, ownTask([tool('fleet_send', { agent: 'neo', brief: lasting('peer') })]));
    await untilThere(fleet, '.scratch/peer-begun');
    await fleet.kill('neo');
    letGo(fleet, 'peer');
    await fleet.up();
    const result = await endOf(operator, id);
    const { result: told } = calledIn(result).get('fleet_send') ?? assert.fail();
    // What ran when it was killed is not run again: neo tells of what it has, and of what is open.
    assert.equal(told.status, 'partial', JSON.stringify(told));
    assert.equal(result.usage.delegated_tokens, told.tokens_spent);
    const made = [...tasksOf(fleet, 'neo')].filter(([task]) => !before.has(task));
    assert.equal(made.length, 1);
    assert.equal(made[0]?.[1].at(-1), 'partial');
  });

  await t.test('switch killed -9 and restarted meanwhile: the work ran once, and is paid once', async () => {
    const before = new Set(tasksOf(fleet, 'neo').keys());
    const id = await begin(
      operator,
      ownTask([
        shell('echo first'),
        tool('fleet_send', { agent: 'neo', brief: lasting('own') }),
        shell('echo last'),
      ]),
    );
    await untilThere(fleet, '.scratch/own-begun');
    await fleet.kill('switch');
    letGo(fleet, 'own');
    await fleet.up();
    const result = await endOf(operator, id);
    assert.equal(result.status, 'done', JSON.stringify(result));
    const { result: told } = calledIn(result).get('fleet_send') ?? assert.fail();
    assert.equal(told.status, 'done', JSON.stringify(told));
    assert.equal(result.usage.delegated_tokens, told.tokens_spent);
    const ran = result.output.ran.map((each: { command: string }) => each.command.trim());
    assert.deepEqual(ran, ['echo first', 'echo last']);
    const made = [...tasksOf(fleet, 'neo')].filter(([task]) => !before.has(task));
    assert.equal(made.length, 1);
    assert.deepEqual(made[0]?.[1].filter((type) => type === 'started').length, 1);
  });

  await t.test('a task canceled here ends there', async () => {
    const id = await begin(
      operator,
      ownTask([tool('fleet_send', { agent: 'neo', brief: lasting('canceled') })]),
    );
    await untilThere(fleet, '.scratch/canceled-begun');
    await call(operator, 'CancelTask', { id });
    const result = await endOf(operator, id);
    assert.equal(result.error?.code, 'canceled');
    assert.equal([...tasksOf(fleet, 'neo').values()].at(-1)?.at(-1), 'canceled');
    assert.ok(result.usage.delegated_tokens > 0, 'what was spent there is counted');
  });

  await t.test('a caller that lost its right to dispatch has nothing sent for it', async () => {
    const guest = { ...operator, token: GUEST_TOKEN };
    const before = tasksOf(fleet, 'neo').size;
    const begun = `begun-${randomUUID()}.txt`;
    const id = await begin(
      guest,
      ownTask([
        shell(`touch ${begun}`, 'sleep 3'),
        tool('fleet_send', { agent: 'neo', brief: shell('echo there') }),
      ]),
    );
    await untilThere(fleet, begun);
    await fleet.terminate('switch');
    const file = join(fleet.dir, 'root/deploy/profiles/switch/fleet.yaml');
    const config = parse(readFileSync(file, 'utf8'));
    config.fleet.server.callers.guest.scopes = ['read'];
    writeFileSync(file, stringify(config));
    await fleet.up();
    const result = await endOf(guest, id);
    const { result: told } = calledIn(result).get('fleet_send') ?? assert.fail();
    assert.match(JSON.stringify(told), /guest, for whom this task is done, lacks the scope dispatch/);
    assert.equal(tasksOf(fleet, 'neo').size, before);
    const refused = await call(guest, 'SendMessage', message(ownTask([shell('echo no')])));
    assert.match(JSON.stringify(refused.body), /scope/);
  });

  await t.test('each announces the tools that it can really use', async () => {
    for (const name of PROFILES) {
      const { body } = await call(
        fleet.target(name),
        'SendMessage',
        textMessage('role=operator', `handshake:hermes-${name}`),
      );
      const text = JSON.stringify(body);
      for (const word of ['terminal', 'fleet_send', 'fleet_peers', 'a2a_call'])
        assert.match(text, new RegExp(`"${word}"`));
      assert.doesNotMatch(text, /"browser"/);
    }
  });
});

test('a profile without peers has no tools for them', async (t) => {
  const alone = await startProfile(t, { name: 'neo' });
  const hello = textMessage('role=operator', 'handshake:hermes-neo');
  const { body } = await call(alone, 'SendMessage', hello);
  assert.match(JSON.stringify(body), /"read_file"/);
  assert.doesNotMatch(JSON.stringify(body), /fleet_send|fleet_peers|browser/);
  const sent = dispatch({
    brief: '@trinity: look around',
    requirements: { required_capabilities: ['fleet_send'] },
  });
  const result = resultOf((await call(alone, 'SendMessage', message(sent))).body.result.task);
  assert.equal(result.status, 'blocked');
  const open = dispatch({ brief: '@trinity: look around' });
  const partial = resultOf((await call(alone, 'SendMessage', message(open))).body.result.task);
  assert.equal(partial.status, 'partial');
  assert.match(partial.text, /needs fleet_send, not available here/);
});
