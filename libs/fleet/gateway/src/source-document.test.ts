import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { route } from '@hermes-fleet/peers';
import { NOW, POLICY, peerOf } from '@hermes-fleet/peers/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import {
  decodeAnnounce,
  decodeDispatch,
  decodeResult,
  encodeAnnounce,
} from '@hermes-fleet/protocol/handshake';
import { freePort } from '../testing/free-port.ts';
import { profile } from '../testing/profile.ts';
import { DONE, type Script } from '../testing/scripts.ts';
import { handshakeIn, sendHandshake } from '../testing/wire.ts';

/** The three examples of the source document, byte for byte. */
const source = (name: string): JsonObject =>
  JSON.parse(
    readFileSync(new URL(`../../../core/protocol/fixtures/2.0/${name}.source.json`, import.meta.url), 'utf8'),
  ) as JsonObject;

/** Work with the outcome and tokens of the source document's TASK_RESULT. */
const asTheSourceSays: Script = async (_task, { budget }) => {
  const { nextSteps, artifacts, tokensSpent } = decodeResult(source('task-result'));
  const call = await budget.reserve({ inputTokens: 3_000, maxOutputTokens: 500 });
  await call.settle({ inputTokens: 3_000, outputTokens: tokensSpent - 3_000, source: 'metered' });
  return { ...DONE, nextSteps, artifacts };
};

/** switch and the source document's worker, which has context_mode. */
async function pair(t: Parameters<typeof profile>[0]) {
  const agents = { switch: await freePort(), 'claude-code': await freePort() };
  const worker = await profile(t, { name: 'claude-code', agents, script: asTheSourceSays });
  worker.facts.mcp.context_mode = 'ok';
  await worker.serve();
  const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
  await orchestrator.serve();
  return { orchestrator, worker };
}

describe('the examples of the source document, unchanged', () => {
  it('the announce is authorized for its worker, kept whole, and answered with ours', async (t) => {
    const { orchestrator } = await pair(t);
    const reply = await sendHandshake(orchestrator, source('session-announce'), 'claude-code');
    assert.equal(handshakeIn(reply.result, 'SESSION_ANNOUNCE').protocol_version, '2.0');
    const kept = orchestrator.peers.get('claude-code')?.announce;
    assert.deepEqual(kept && encodeAnnounce(kept), source('session-announce'));
  });

  it('after that announce the dispatch goes to that worker, unless it asks for more', () => {
    const announce = decodeAnnounce(source('session-announce'));
    const dispatch = decodeDispatch(source('task-dispatch'));
    const to = (changed: typeof announce, asked = dispatch) =>
      route(asked, [peerOf('claude-code', { announce: changed })], POLICY, NOW);
    assert.equal(to(announce).chosen, 'claude-code');

    const trek = { ...dispatch, requirements: { requiredMcp: ['trek'] } };
    assert.match(to(announce, trek).unmet[0]?.detail ?? '', /"trek" is not healthy \(timeout\)/);
    const dirty = { ...announce.session, repoState: { branch: 'main', clean: false } };
    assert.equal(to({ ...announce, session: dirty }).unmet[0]?.kind, 'repo');
    const haiku = { ...dispatch, requirements: { modelTier: { max: 'haiku' } } };
    assert.equal(to(announce, haiku).unmet[0]?.kind, 'tier');
  });

  it('the dispatch is read whole: today only its deadline and missing abilities are unmet', async (t) => {
    const { worker } = await pair(t);
    const unmet = async () => {
      const reply = await sendHandshake(worker, source('task-dispatch'));
      const result = decodeResult(handshakeIn(reply.result, 'TASK_RESULT'));
      assert.deepEqual([result.status, result.taskId, result.tokensSpent], ['blocked', 'abc-123', 0]);
      return result.unmet?.map(({ kind, name }) => `${kind} ${name}`);
    };
    assert.deepEqual(await unmet(), ['deadline 2026-05-31T21:00:00Z']);
    worker.facts.mcp.context_mode = 'timeout';
    assert.deepEqual(await unmet(), ['deadline 2026-05-31T21:00:00Z', 'mcp context_mode']);
    assert.deepEqual(worker.runs, []);
  });

  it("before its deadline, the dispatch is routed, and its result equals the source's, field by field", async (t) => {
    const { orchestrator, worker } = await pair(t);
    await orchestrator.peers.record(await worker.gateway.freshAnnounce(), { name: 'claude-code' });
    const deadline = new Date(Date.now() + 3_600_000).toISOString();
    const reply = await sendHandshake(orchestrator, { ...source('task-dispatch'), deadline });
    const result = handshakeIn(reply.result, 'TASK_RESULT');
    const wanted = source('task-result');
    const told = Object.fromEntries(Object.keys(wanted).map((key) => [key, result[key]]));
    assert.deepEqual(told, wanted);
    assert.equal(result.executed_by, 'claude-code');
  });
});
