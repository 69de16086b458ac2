import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { announceOf } from '@hermes-fleet/peers/testing';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { decodeResult, encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import { freePort } from '../testing/free-port.ts';
import { dispatching } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { DONE } from '../testing/scripts.ts';
import type { ProfileOptions } from '../testing/test-profile.ts';
import { handshakeIn, sendHandshake } from '../testing/wire.ts';

const fixture = (path: string): JsonObject =>
  JSON.parse(
    readFileSync(new URL(`../../../core/protocol/fixtures/${path}.json`, import.meta.url), 'utf8'),
  ) as JsonObject;

/** Accepts an error that names exactly this field. */
const naming = (field: string) => (error: unknown) => {
  assert.ok(error instanceof FleetError && error.code === 'INVALID_PARAMS');
  assert.deepEqual(
    error.fields.map(({ path }) => path),
    [field],
  );
  return true;
};

const ports = async (names: readonly string[]): Promise<Record<string, number>> =>
  Object.fromEntries(await Promise.all(names.map(async (name) => [name, await freePort()] as const)));

/** An orchestrator that also works itself, and a worker, on real ports. */
async function pair(t: TestContext, worker: Pick<ProfileOptions, 'script' | 'versions'>) {
  const agents = await ports(['switch', 'neo', 'morpheus']);
  const neo = await profile(t, { name: 'neo', agents, ...worker });
  await neo.serve();
  const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
  await orchestrator.serve();
  orchestrator.announcer.start();
  await orchestrator.heard('neo');
  return { orchestrator, neo };
}

function without(object: unknown, ...keys: string[]): JsonObject {
  assert.ok(isJsonObject(object));
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

describe('a newer minor version', () => {
  it('passes through a hop in a dispatch and in its result, and no unknown field is lost', async (t) => {
    const asked = fixture('2.1/task-dispatch');
    const answer = decodeResult(fixture('2.1/task-result'));
    const { orchestrator, neo } = await pair(t, { script: async () => answer });
    const reply = await sendHandshake(orchestrator, {
      ...asked,
      routing: { ...without(asked.routing), target: 'neo' },
    });

    const [remote = ''] = neo.runs;
    const seen = neo.task(remote).dispatch;
    const rewritten = ['task_id', 'token_budget', 'conversation', 'parent', 'root_id', 'root_caller', 'path'];
    assert.deepEqual(without(seen.task, ...rewritten), without(asked.task, ...rewritten));
    assert.equal(
      JSON.stringify(without(seen, 'protocol_version', 'task', 'routing')),
      JSON.stringify(without(asked, 'protocol_version', 'task', 'routing')),
    );
    assert.deepEqual(without(seen.routing, 'target', 'when_full', 'accept_until'), asked.routing);
    assert.equal(seen.protocol_version, '2.0');

    const result = handshakeIn(reply.result, 'TASK_RESULT');
    const told = fixture('2.1/task-result');
    const metered = ['protocol_version', 'task_id', 'tokens_spent', 'usage', 'attempts', 'executed_by'];
    assert.deepEqual(without(result, ...metered, 'duration_ms'), without(told, ...metered, 'duration_ms'));
    assert.equal(result.task_id, asked.task && isJsonObject(asked.task) ? asked.task.task_id : '');
    assert.equal(result.protocol_version, '2.0');
  });

  it('is recorded in an announce with its unknown fields, also after a restart', async (t) => {
    const agents = await ports(['switch', 'morpheus']);
    const orchestrator = await profile(t, { name: 'switch', agents });
    await orchestrator.serve();
    const wire = fixture('2.1/session-announce');
    const reply = await sendHandshake(orchestrator, wire, 'morpheus');
    const answer = handshakeIn(reply.result, 'SESSION_ANNOUNCE');
    assert.deepEqual([answer.protocol_version, answer.protocol_versions], ['2.0', ['2.0']]);
    const recorded = (): string => {
      const announce = orchestrator.peers.get('morpheus')?.announce;
      return announce ? JSON.stringify(encodeAnnounce(announce)) : 'nothing';
    };
    assert.equal(recorded(), JSON.stringify(wire));
    await orchestrator.crash();
    await orchestrator.restart();
    assert.equal(recorded(), JSON.stringify(wire));
  });

  it('may announce an unknown health state, which does not count as healthy', async (t) => {
    const agents = await ports(['switch', 'morpheus']);
    const fleet = { orchestrate: true };
    const orchestrator = await profile(t, { name: 'switch', agents, fleet });
    await orchestrator.serve();
    const wire = { ...fixture('2.1/session-announce'), mcp_health: { memory: 'ok', weather: 'degraded' } };
    await sendHandshake(orchestrator, wire, 'morpheus');
    const requirements = { required_mcp: ['weather'] };
    const data = { requirements, routing: { target: 'morpheus', on_blocked: 'fail' } };
    const { status, unmet } = await orchestrator.result(await orchestrator.send(dispatching({}, data)));
    assert.deepEqual(
      [status, unmet?.map(({ kind, name, transient }) => [kind, name, transient])],
      ['blocked', [['mcp', 'weather', true]]],
    );
  });

  it('may report an unknown verification, which is passed on as a claim', async (t) => {
    const evidence = [{ kind: 'formal_proof', detail: 'qed', proof_lines: 12 }];
    const answer = decodeResult({ ...fixture('2.1/task-result'), evidence });
    const { orchestrator, neo } = await pair(t, { versions: ['2.1'], script: async () => answer });
    const id = await orchestrator.send(dispatching({}, { routing: { target: 'neo' } }));
    await orchestrator.result(id);
    assert.deepEqual(neo.task(neo.runs[0] ?? '').result?.evidence, evidence);
    assert.deepEqual(orchestrator.task(id).result?.evidence, [
      { kind: 'claimed', detail: 'qed', proof_lines: 12 },
    ]);
  });

  for (const [field, data] of [
    ['task.priority', { task: { task_id: 't', priority: 'background' } }],
    ['task.reply_schema', { task: { task_id: 't', reply_schema: 'xml' } }],
    ['routing.on_blocked', { routing: { on_blocked: 'escalate' } }],
  ] as const)
    it(`may not require something unknown in a dispatch: ${field} is refused`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(neo.send(dispatching({}, { protocol_version: '2.1', ...data })), naming(field));
    });
});

describe('another major version', () => {
  it('blocks a dispatch for that alone, whatever else it contains', async (t) => {
    const neo = await profile(t);
    await neo.serve();
    neo.facts.clean = false;
    const reply = await sendHandshake(neo, fixture('3.0/task-dispatch'));
    const result = handshakeIn(reply.result, 'TASK_RESULT');
    const { unmet, status, blocked_reason, tokens_spent, protocol_version } = result;
    assert.deepEqual(unmet, [
      {
        kind: 'version',
        name: '3.0',
        detail: 'handshake version 3.0 is not supported here, only 2.0',
        transient: false,
      },
    ]);
    assert.deepEqual(
      [status, blocked_reason, tokens_spent, protocol_version],
      ['blocked', 'handshake version 3.0 is not supported here, only 2.0', 0, '2.0'],
    );
    assert.doesNotThrow(() => decodeResult(result));
    assert.deepEqual(neo.runs, []);
  });

  for (const version of ['1.0', '1.9', '3.0', '20.0'])
    it(`${version} is blocked before its fields are judged, also for a caller without the scope`, async (t) => {
      const neo = await profile(t);
      const data = { protocol_version: version, task: { task_id: 'x', priority: 7 }, brief: null };
      const id = await neo.send(dispatching({}, data), { name: 'reader', scopes: new Set() });
      const { unmet, taskId } = await neo.result(id);
      assert.deepEqual([taskId, unmet?.map(({ kind }) => kind)], ['x', ['version']]);
    });

  for (const version of ['3', 'three', 3, null, ''])
    it(`${JSON.stringify(version)} is not a version: the field is named`, async (t) => {
      const neo = await profile(t);
      await assert.rejects(
        neo.send(dispatching({}, { protocol_version: version })),
        naming('protocol_version'),
      );
    });

  it('in an announce is answered with ours, and its sender gets no work for that reason', async (t) => {
    const agents = await ports(['switch', 'morpheus']);
    const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
    await orchestrator.serve();
    const reply = await sendHandshake(orchestrator, fixture('3.0/session-announce'), 'morpheus');
    const answer = handshakeIn(reply.result, 'SESSION_ANNOUNCE');
    assert.deepEqual([answer.protocol_version, answer.protocol_versions], ['2.0', ['2.0']]);
    const judged = async () => {
      const data = { routing: { target: 'morpheus', on_blocked: 'queue' } };
      const result = await orchestrator.result(await orchestrator.send(dispatching({}, data)));
      return [result.status, result.unmet?.map(({ kind, transient }) => [kind, transient])];
    };
    assert.deepEqual(await judged(), ['blocked', [['version', false]]]);
    await orchestrator.crash();
    await orchestrator.restart();
    assert.deepEqual(await judged(), ['blocked', [['version', false]]]);
  });

  it('in an announce from a stranger leaves nothing behind', async (t) => {
    const neo = await profile(t);
    await neo.serve();
    const reply = await sendHandshake(neo, fixture('3.0/session-announce'));
    assert.equal(handshakeIn(reply.result, 'SESSION_ANNOUNCE').protocol_version, '2.0');
    assert.deepEqual(neo.peers.list(), []);
  });

  it('in an announce from a peer that also supports ours is answered in ours, and changes nothing known', async (t) => {
    const agents = await ports(['switch', 'morpheus']);
    const orchestrator = await profile(t, { name: 'switch', agents });
    await orchestrator.serve();
    const known = encodeAnnounce(announceOf('morpheus'));
    await sendHandshake(orchestrator, known, 'morpheus');
    const reply = await sendHandshake(orchestrator, fixture('3.0/session-announce.both-in-3.0'), 'morpheus');
    assert.equal(handshakeIn(reply.result, 'SESSION_ANNOUNCE').protocol_version, '2.0');
    const announce = orchestrator.peers.get('morpheus')?.announce;
    assert.ok(announce);
    assert.deepEqual(encodeAnnounce(announce), known);
  });

  it('does no harm when it is listed beside ours', async (t) => {
    const agents = await ports(['switch', 'morpheus']);
    const orchestrator = await profile(t, { name: 'switch', agents });
    await orchestrator.serve();
    await sendHandshake(orchestrator, fixture('3.0/session-announce.both'), 'morpheus');
    assert.deepEqual(orchestrator.peers.get('morpheus')?.announce?.protocolVersions, ['3.0', '2.1', '2.0']);
  });
});

it('prose becomes a dispatch of the highest supported version', async (t) => {
  const neo = await profile(t, { versions: ['2.0', '3.0'], script: async () => DONE });
  const id = await neo.send({ text: 'hello' });
  assert.equal((await neo.result(id)).protocolVersion, '3.0');
  assert.equal(neo.task(id).dispatch.protocol_version, '3.0');
});

for (const [asked, spoken, answered] of [
  ['2.0', ['2.0'], '2.0'],
  ['2.0', ['2.1', '2.0'], '2.0'],
  ['2.1', ['2.1', '2.0'], '2.1'],
  ['2.7', ['2.1', '2.0'], '2.1'],
  ['3.4', ['2.0', '2.1'], '2.1'],
] as const)
  it(`a dispatch of ${asked} to a peer with ${spoken} is answered in ${answered}, announce and result`, async (t) => {
    const neo = await profile(t, { versions: spoken });
    await neo.serve();
    const [message] = dispatching({}, { protocol_version: asked }).data ?? [];
    assert.ok(isJsonObject(message?.data ?? null));
    const reply = await sendHandshake(neo, message?.data as JsonObject);
    assert.equal(handshakeIn(reply.result, 'TASK_RESULT').protocol_version, answered);
    assert.equal(handshakeIn(reply.result, 'SESSION_ANNOUNCE').protocol_version, answered);
  });
