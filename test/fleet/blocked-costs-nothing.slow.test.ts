import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { type Fleet, PROFILES, startFleet } from '../support/fleet.ts';
import { startModelServer, startUnwellServer } from '../support/model-server.ts';
import { untilSeen } from '../support/peers-view.ts';
import { call, type DispatchOptions, dispatch, message, resultOf } from '../support/rpc.ts';
import { shareWithCommands, usersRepository } from '../support/users-repository.ts';

const BUDGET = 4_000;
const METERED = { input: 700, output: 30 };
/** One worker of the fleet works in a dirty tree; another one's contexts start from the same repository, which blocks nothing. */
const CLEAN = 'neo';
const DIRTY = 'morpheus';
const APART = 'trinity';

interface Row {
  readonly what: string;
  readonly kind: string;
  readonly asks: Omit<DispatchOptions, 'brief'> & { readonly brief?: string; readonly version?: string };
  readonly worker?: string;
  /** Where it differs for a task that is to go through switch, which stands in its path too. */
  readonly bySwitch?: Row['asks'];
  /** Tokens that count as saved, where it is not the budget. */
  readonly saved?: number;
}

const others = (count: number): string[] => Array.from({ length: count }, (_, at) => `other-${at}`);

const ROWS: readonly Row[] = [
  {
    what: 'an MCP server that is missing',
    kind: 'mcp',
    asks: { requirements: { required_mcp: ['nope'] } },
  },
  {
    what: 'an MCP server that is not healthy',
    kind: 'mcp',
    asks: { requirements: { required_mcp: ['unwell'] } },
  },
  {
    what: 'a capability that is missing',
    kind: 'capability',
    asks: { requirements: { required_capabilities: ['browser'] } },
  },
  {
    what: 'a tier out of range',
    kind: 'tier',
    asks: { requirements: { model_tier: { min: 'opus' } } },
  },
  {
    what: 'a context window that is too small for what is asked',
    kind: 'context',
    asks: { requirements: { min_context_window: 1_000_000 } },
  },
  {
    what: 'a context window that is too small for the brief',
    kind: 'context',
    asks: { brief: 'tidy up the attic '.repeat(12_000), task: { token_budget: 100_000 } },
    saved: 100_000,
  },
  {
    what: 'a budget below the floor',
    kind: 'budget',
    asks: { task: { token_budget: 20 } },
    saved: 20,
  },
  {
    what: 'a budget that does not pay for the brief',
    kind: 'budget',
    asks: { brief: 'tidy up the attic '.repeat(1_000), task: { token_budget: 2_500 } },
    saved: 2_500,
  },
  {
    what: 'a deadline that has passed',
    kind: 'deadline',
    asks: { deadline: '2026-01-01T00:00:00Z' },
  },
  {
    what: 'a dirty working tree',
    kind: 'repo',
    asks: { task: { write: true } },
    worker: DIRTY,
  },
  {
    what: 'another major version',
    kind: 'version',
    asks: { version: '3.0' },
    // What a foreign version calls a budget is not understood.
    saved: 0,
  },
  {
    what: 'a path that is a cycle',
    kind: 'path',
    // A task with a path has entered elsewhere, and is counted there.
    saved: 0,
    asks: { task: { path: ['switch', CLEAN] } },
    bySwitch: { task: { path: [CLEAN] } },
  },
  {
    what: 'a path that is too long',
    kind: 'path',
    saved: 0,
    asks: { task: { path: others(9) } },
    bySwitch: { task: { path: others(8) } },
  },
  {
    what: 'a target that is no peer',
    kind: 'peer',
    asks: { routing: { target: 'nobody', on_blocked: 'fail' } },
  },
];

function contract({ asks, worker = CLEAN, bySwitch }: Row, relayed: boolean): Record<string, unknown> {
  const { version = '2.0', ...rest } = (relayed ? bySwitch : undefined) ?? asks;
  const sent = dispatch({
    brief: 'Tidy up.',
    routing: { target: worker, on_blocked: 'fail' },
    ...rest,
    task: { write: false, reply_schema: 'prose', token_budget: BUDGET, ...rest.task },
  });
  return { ...sent, protocol_version: version };
}

async function counted(fleet: Fleet, family: string): Promise<number> {
  const pages = await Promise.all(fleet.plan.profiles.map(({ name }) => fleet.metrics(name)));
  const sample = new RegExp(`^${family}(?:\\{[^}]*\\})? (\\S+)$`, 'gm');
  const values = pages.flatMap((page) => [...page.matchAll(sample)].map(([, value]) => Number(value)));
  assert.ok(values.length >= pages.length, `${family} is counted by every profile`);
  return values.reduce((sum, value) => sum + value, 0);
}

test('what is blocked costs nothing: the model is not even connected to', async (t) => {
  const model = await startModelServer(t, 'All is tidy.', METERED);
  const unwell = await startUnwellServer(t);
  const repository = usersRepository(t);
  shareWithCommands(repository);
  const fleet = await startFleet(t, PROFILES, {
    inProcess: true,
    configYaml: (name, shipped) => {
      const config = parse(shipped);
      return stringify({
        ...config,
        model: 'openai-compatible/scripted',
        base_url: model.url,
        mcp: { servers: { unwell: { url: `${unwell}/mcp` } } },
        ...(name === DIRTY && { workspace: { path: repository.path, isolation: 'in_place' } }),
        ...(name === APART && { workspace: { path: repository.path } }),
      });
    },
  });
  writeFileSync(join(repository.path, 'left-behind.txt'), 'not committed');
  const operator = fleet.target('switch');
  await untilSeen(operator, DIRTY, ({ announce }) => announce?.repo_state.clean === false, 'dirty');
  await untilSeen(operator, APART, ({ announce }) => announce?.repo_state.base_clean === false, 'the same');

  for (const row of ROWS) {
    for (const relayed of [false, true]) {
      const { what, kind, worker = CLEAN, saved = BUDGET } = row;
      await t.test(`${what}, ${relayed ? 'through switch' : 'at a worker'}`, async () => {
        const savedBefore = await counted(fleet, 'fleet_tokens_saved_total');
        const to = relayed ? operator : fleet.target(worker);
        const { body } = await call(to, 'SendMessage', message(contract(row, relayed)));
        const task = body.result?.task;
        assert.equal(task?.status.state, 'TASK_STATE_REJECTED', JSON.stringify(body));
        const result = resultOf(task);
        assert.deepEqual([result.status, result.tokens_spent], ['blocked', 0]);
        const kinds = result.unmet.map((entry: { kind: string }) => entry.kind);
        assert.deepEqual([...new Set(kinds)], [kind], result.blocked_reason);
        assert.deepEqual(model.visits, []);
        assert.equal(await counted(fleet, 'fleet_tokens_spent_total'), 0);
        const grown = (await counted(fleet, 'fleet_tokens_saved_total')) - savedBefore;
        // The profile where it entered counts it, however many workers refused it.
        assert.equal(grown, saved);
      });
    }
  }

  const isAccepted = async (to: string, worker: string, write: boolean): Promise<void> => {
    const [visits, spent] = [model.visits.length, await counted(fleet, 'fleet_tokens_spent_total')];
    const row: Row = { what: '', kind: '', asks: { task: { priority: 'low', write } }, worker };
    const sent = contract(row, to === 'switch');
    const { body } = await call(fleet.target(to), 'SendMessage', message(sent));
    const result = resultOf(body.result?.task);
    assert.deepEqual([result?.status, result?.text], ['done', 'All is tidy.'], JSON.stringify(body));
    const asked = model.visits.slice(visits).filter((visit) => visit === 'POST /v1/chat/completions');
    assert.equal(result.tokens_spent, asked.length * (METERED.input + METERED.output));
    assert.equal((await counted(fleet, 'fleet_tokens_spent_total')) - spent, result.tokens_spent);
    assert.ok(asked.length > 0);
  };
  for (const to of [CLEAN, 'switch'])
    await t.test(`what is accepted does reach the model, at ${to}`, () => isAccepted(to, CLEAN, false));

  await t.test('and the drift of the estimates is measured, once for each call', async () => {
    const asked = model.visits.filter((visit) => visit === 'POST /v1/chat/completions').length;
    assert.equal(await counted(fleet, 'fleet_token_drift_ratio_count'), asked);
    const tier = /^fleet_token_drift_ratio_count\{profile="neo",model_tier="haiku"\} (\d+)$/m;
    assert.equal(Number(tier.exec(await fleet.metrics(CLEAN))?.[1]), asked);
    assert.ok((await counted(fleet, 'fleet_token_drift_ratio_sum')) > 0);
  });

  await t.test('a dirty repository blocks no write task in a tree that is made from its commit', () =>
    isAccepted('switch', APART, true),
  );
});
