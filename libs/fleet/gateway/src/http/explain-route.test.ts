import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { dispatch, orchestrator, routes, TOKENS } from '../../testing/fleet-routes.ts';

test('POST /fleet/route explains where a dispatch would go, and records nothing', async (t) => {
  const { ask, one, tasks } = await orchestrator(t);
  const asked = dispatch({ requirements: { required_mcp: ['memory'] } });
  for (const body of [asked, { dispatch: asked }]) {
    const reply = await ask('POST', '/fleet/route', body, TOKENS.reader);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([reply.body.chosen, reply.body.unmet, reply.body.waitable], ['neo', [], false]);
    const [first, second] = reply.body.considered;
    assert.deepEqual(
      [first.peer, first.verdict, second.peer, second.verdict],
      ['neo', 'chosen', 'trinity', 'excluded'],
    );
    assert.ok(first.score > 0 && first.reasons.length > 0);
    assert.deepEqual(second.reasons, ['required MCP server "memory" is not configured']);
  }
  assert.equal(tasks(), 0);
  assert.deepEqual(one.runs, []);
});

test('POST /fleet/route lists the unmet requirements, and says if waiting can help', async (t) => {
  const { ask } = await orchestrator(t);
  const route = async (body: JsonObject) => (await ask('POST', '/fleet/route', body)).body;

  const nobody = await route(dispatch({ requirements: { required_mcp: ['nope'] } }));
  assert.deepEqual([nobody.chosen, nobody.waitable], [null, false]);
  assert.deepEqual(
    [nobody.unmet[0].kind, nobody.unmet[0].name, nobody.unmet[0].transient],
    ['mcp', 'nope', false],
  );

  const foreign = await route(
    dispatch({ protocol_version: '9.0', task: 'of a version that is not known here' }),
  );
  assert.deepEqual([foreign.chosen, foreign.considered, foreign.unmet[0].kind], [null, [], 'version']);

  const late = await route(dispatch({ deadline: '2020-01-01T00:00:00Z' }, { path: ['switch'] }));
  assert.deepEqual([late.chosen, late.waitable], [null, false]);
  assert.deepEqual(
    late.unmet.map((each: JsonObject) => each.kind),
    ['path', 'deadline'],
    'the profile itself would not take it, though a peer could',
  );
  assert.ok(late.considered.every((each: JsonObject) => each.verdict !== 'chosen'));
});

test('POST /fleet/route reports for an inadmissible dispatch what its result would report', async (t) => {
  const { ask, one } = await orchestrator(t);
  const past = '2020-01-01T00:00:00Z';
  const cases: [JsonObject, JsonObject][] = [
    [{ deadline: past }, {}],
    [{ deadline: past, requirements: { required_mcp: ['nope'] } }, {}],
    [{ deadline: past, routing: { target: 'ghost' } }, { path: ['switch'] }],
    [{ requirements: { required_mcp: ['nope'], required_capabilities: ['fly'] } }, {}],
    [{ routing: { target: 'trinity', on_blocked: 'fail' }, requirements: { required_mcp: ['memory'] } }, {}],
  ];
  for (const [rest, task] of cases) {
    const asked = dispatch(rest, { task_id: JSON.stringify([rest, task]), ...task });
    const { chosen, unmet, waitable } = (await ask('POST', '/fleet/route', asked)).body;
    assert.deepEqual([chosen, waitable], [null, false]);
    const sent = { data: [{ data: asked, mediaType: 'application/json' }] };
    const result = await one.result(await one.send(sent));
    assert.equal(result.status, 'blocked');
    assert.deepEqual(unmet, result.unmet, JSON.stringify(asked));
  }
});

test('POST /fleet/route on a profile without orchestration answers as its admission would', async (t) => {
  const { ask, one } = await routes(t, { name: 'neo', agents: { trinity: 2 } });
  const route = async (body: JsonObject) => (await ask('POST', '/fleet/route', body, TOKENS.reader)).body;
  const own = await route(dispatch());
  assert.deepEqual([own.chosen, own.considered[0].verdict], ['neo', 'chosen']);

  one.facts.clean = false;
  one.facts.mcp.memory = 'timeout';
  const blocked = await route(dispatch({ requirements: { required_mcp: ['memory'] } }));
  assert.deepEqual(
    [blocked.chosen, blocked.considered[0].verdict, blocked.waitable],
    [null, 'excluded', false],
    'a profile waits for peers, and not for itself',
  );
  assert.deepEqual(
    blocked.unmet.map((each: JsonObject) => each.kind),
    ['mcp', 'repo'],
  );
  assert.deepEqual((await route(dispatch({ routing: { target: 'trinity' } }))).unmet[0].kind, 'peer');
});

test('POST /fleet/route names every invalid field of a dispatch', async (t) => {
  const { ask, tasks } = await orchestrator(t);
  const wrong = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: '', priority: 'soon', token_budget: -1 },
    brief: 7,
  };
  const { status, body } = await ask('POST', '/fleet/route', wrong);
  assert.equal(status, 400);
  assert.equal(body.error.code, 'INVALID_PARAMS');
  const paths = body.error.fields.map(({ path }: { path: string }) => path);
  assert.deepEqual(paths.sort(), ['brief', 'task.priority', 'task.task_id', 'task.token_budget']);
  for (const odd of [[], 'text', 7, null, {}])
    assert.equal((await ask('POST', '/fleet/route', odd)).status, 400, JSON.stringify(odd));
  assert.equal(tasks(), 0);
});
