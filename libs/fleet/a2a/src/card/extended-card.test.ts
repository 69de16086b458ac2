import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { at, OTHER_TOKEN, READ_TOKEN, serve } from '../../testing/serve.ts';
import { buildAgentCard } from './agent-card.ts';
import { CALLER_EXTENSION } from './extended-card.ts';

const METHODS = ['GetExtendedAgentCard', 'agent/getAuthenticatedExtendedCard'];
const CARD_PATH = '/.well-known/agent-card.json';

test('in both versions the extended card is the public one, and what its caller may do', async (t) => {
  const served = await serve(t, { callerView: ({ name }) => ({ limits: { streams: name.length } }) });
  const open: unknown = await (await fetch(`${served.url}${CARD_PATH}`)).json();
  assert.equal(at(open, 'capabilities', 'extendedAgentCard'), true);
  assert.equal(at(open, 'supportsAuthenticatedExtendedCard'), true);
  assert.ok(!JSON.stringify(open).includes(CALLER_EXTENSION));
  const seen: readonly [token: string, params: object][] = [
    [OTHER_TOKEN, { caller: 'other', scopes: ['announce', 'dispatch', 'read'], limits: { streams: 5 } }],
    [READ_TOKEN, { caller: 'reader', scopes: ['read'], limits: { streams: 6 } }],
  ];
  for (const method of METHODS) {
    for (const [token, params] of seen) {
      const { result } = (await served.rpc(method, {}, { token })).body;
      const [handshake, caller, ...more] = at(result, 'capabilities', 'extensions') as unknown[];
      assert.equal(at(handshake, 'uri'), HANDSHAKE_EXTENSION, method);
      assert.deepEqual([at(caller, 'uri'), at(caller, 'params')], [CALLER_EXTENSION, params], method);
      assert.deepEqual(more, []);
      assert.deepEqual(at(result, 'skills', 0, 'name'), at(open, 'skills', 0, 'name'), method);
    }
    const foreign = await served.rpc(method, {}, { token: 'nobody-knows-this-token' });
    assert.equal(foreign.status, 401, method);
    assert.ok(!foreign.text.includes('limits'), method);
  }
});

test('an agent that asks for no token declares no extended card and has none', async (t) => {
  const url = 'http://neo:9220/jsonrpc';
  const about = { identity: '# neo', version: '1', extensions: [], streaming: true };
  const served = await serve(t, {
    card: () => buildAgentCard({ ...about, url, authRequired: false }),
    callerView: () => assert.fail('nobody may see it'),
  });
  const card: unknown = await (await fetch(`${served.url}${CARD_PATH}`)).json();
  assert.equal(at(card, 'capabilities', 'extendedAgentCard'), false);
  assert.equal(at(card, 'supportsAuthenticatedExtendedCard'), false);
  for (const method of METHODS)
    assert.equal(at((await served.rpc(method)).body, 'error', 'code'), -32004, method);
});
