import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { announceOf } from '@hermes-fleet/peers/testing';
import { HANDSHAKE_EXTENSION, type JsonObject } from '@hermes-fleet/protocol';
import { encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import { silentLog, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { freePort } from '../../testing/free-port.ts';
import { profile } from '../../testing/profile.ts';
import { examinePeer } from './examine-peer.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [HANDSHAKE_EXTENSION] });

/** The findings of switch's doctor about a peer: the state of each check, and the whole text. */
async function examine(
  name: string,
  url: string,
  o: { token?: string; tokenEnv?: string; versions?: readonly string[] } = {},
) {
  const findings = await examinePeer(
    {
      profile: 'switch',
      versions: o.versions ?? ['2.0'],
      client,
      clock: systemClock,
      ids: systemIds,
    },
    {
      endpoint: { name, url: `${url}/jsonrpc`, ...(o.token === undefined ? {} : { token: o.token }) },
      cardUrl: `${url}/.well-known/agent-card.json`,
      tokenEnv: o.tokenEnv,
    },
  );
  for (const { state, fix } of findings)
    if (state === 'failed') assert.ok(fix, 'a failed check says what to do');
  return {
    checks: Object.fromEntries(findings.map(({ check, state }) => [check, state])),
    said: findings.map(({ check, detail, fix }) => `${check}: ${detail} (${fix ?? ''})`).join('\n'),
  };
}

interface Stub {
  readonly card?: JsonObject | string;
  /** The answer to SendMessage: a result, or an HTTP status. */
  readonly answer?: JsonObject | number;
}

/** A scripted peer that counts its messages. */
async function stub(
  t: TestContext,
  { card, answer = 500 }: Stub,
): Promise<{ url: string; messages: string[] }> {
  const messages: string[] = [];
  const server = createServer(async (request, reply) => {
    if (request.method === 'GET') {
      if (card === undefined) return reply.writeHead(404).end('{}');
      return reply.end(typeof card === 'string' ? card : JSON.stringify(card));
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString());
    messages.push(params.message.contextId);
    if (typeof answer === 'number') return reply.writeHead(answer).end('{}');
    return reply.end(JSON.stringify({ jsonrpc: '2.0', id, result: answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return { url: `http://127.0.0.1:${address.port}`, messages };
}

const cardOf = (name: string, versions?: readonly string[]): JsonObject => ({
  name,
  description: name,
  version: '1',
  skills: [],
  defaultInputModes: [],
  defaultOutputModes: [],
  capabilities: versions
    ? { extensions: [{ uri: HANDSHAKE_EXTENSION, params: { protocol_versions: [...versions] } }] }
    : {},
  supportedInterfaces: [{ url: 'http://127.0.0.1:1', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});
const greeting = (announce: Parameters<typeof announceOf>[1], agentId = 'neo'): JsonObject => ({
  message: {
    messageId: 'm',
    role: 'ROLE_AGENT',
    parts: [{ data: encodeAnnounce(announceOf(agentId, { sentAt: new Date().toISOString(), ...announce })) }],
  },
});

test('a peer of the fleet passes every check, and gets no task', async (t) => {
  const agents = { switch: 1, neo: await freePort() };
  const neo = await profile(t, { name: 'neo', agents });
  await neo.serve();
  const { checks, said } = await examine('neo', `http://127.0.0.1:${neo.port}`, {
    token: 'token-of-switch-for-neo',
    tokenEnv: 'A_TOKEN',
  });
  assert.deepEqual(
    checks,
    Object.fromEntries(
      ['reachable', 'card', 'name', 'token', 'versions', 'identity', 'address', 'clock'].map((check) => [
        check,
        'ok',
      ]),
    ),
    said,
  );
  assert.equal(neo.ledger.list({ pageSize: 1 }).totalSize, 0);
  assert.deepEqual(neo.runs, []);
});

test('a token that is refused, missing, or without the scope is reported', async (t) => {
  const agents = { switch: 1, neo: await freePort() };
  const neo = await profile(t, { name: 'neo', agents });
  await neo.serve();
  const url = `http://127.0.0.1:${neo.port}`;
  const wrong = await examine('neo', url, { token: 'some-other-token-0123', tokenEnv: 'A_TOKEN' });
  assert.deepEqual([wrong.checks.token, wrong.checks.versions], ['failed', 'ok']);
  assert.match(
    wrong.said,
    /does not accept the token in A_TOKEN \(put the token that neo accepts from switch in A_TOKEN/,
  );
  assert.ok(!wrong.said.includes('some-other-token'));
  const none = await examine('neo', url);
  assert.match(
    none.said,
    /it wants a token \(name the variable that holds it in fleet\.agents\.neo\.token_env/,
  );
  const unset = await examine('neo', url, { tokenEnv: 'A_TOKEN' });
  assert.equal(unset.checks.token, 'skipped');
  const { url: strict } = await stub(t, { card: cardOf('neo', ['2.0']), answer: 403 });
  assert.match((await examine('neo', strict)).said, /lacks the scope announce \(add announce to the scopes/);
});

test('a peer that is unreachable, or whose card cannot be read, fails', async (t) => {
  const away = await examine('neo', `http://127.0.0.1:${await freePort()}`);
  assert.deepEqual(away.checks, { reachable: 'failed' });
  assert.match(away.said, /nobody answers at .*\(start neo, or correct fleet\.agents\.neo\)/);
  for (const card of [undefined, 'hello', '{}']) {
    const { url, messages } = await stub(t, card === undefined ? {} : { card });
    const { checks, said } = await examine('neo', url);
    assert.deepEqual(checks, { reachable: 'ok', card: 'failed' }, said);
    assert.match(said, /set fleet\.agents\.neo\.agent_card_url/);
    assert.deepEqual(messages, [], 'nothing is sent to who may not know the handshake');
  }
});

test('a peer without the handshake gets no message, and may have any name', async (t) => {
  const { url, messages } = await stub(t, { card: cardOf('Weather Agent') });
  const { checks, said } = await examine('stock', url);
  assert.deepEqual(checks, { reachable: 'ok', card: 'ok', name: 'warning', token: 'skipped' });
  assert.match(said, /might cost tokens/);
  assert.deepEqual(messages, []);
});

/** Faults of a peer: its card, its announce, the expected finding and its text. */
const WRONG: [string, Stub, string, RegExp][] = [
  [
    'another name on its card',
    { card: cardOf('trinity', ['2.0']), answer: greeting({}) },
    'name',
    /its card says "trinity", not "neo"/,
  ],
  [
    'another name in its announce',
    { card: cardOf('Hermes-Neo', ['2.0']), answer: greeting({}, 'trinity') },
    'identity',
    /announces itself as "trinity": under "neo" such announces are rejected/,
  ],
  [
    'another address in its announce',
    { card: cardOf('neo', ['2.0']), answer: greeting({ endpoint: 'http://elsewhere:9220/jsonrpc' }) },
    'address',
    /announces http:\/\/elsewhere:9220\/jsonrpc, and fleet\.agents\.neo\.url is/,
  ],
  [
    'a clock that is ahead',
    {
      card: cardOf('neo', ['2.0']),
      answer: greeting({ sentAt: new Date(Date.now() + 60_000).toISOString() }),
    },
    'clock',
    /its clock is \d\d\.\d s ahead \(set both clocks by NTP/,
  ],
  [
    'a clock that is behind',
    {
      card: cardOf('neo', ['2.0']),
      answer: greeting({ sentAt: new Date(Date.now() - 90_000).toISOString() }),
    },
    'clock',
    /its clock is \d\d\d?\.\d s behind/,
  ],
  [
    'no version in common, by its announce',
    { card: cardOf('neo', ['2.0']), answer: greeting({ protocolVersions: ['3.0'] }) },
    'versions',
    /it speaks handshake 3\.0, and this profile 2\.0 \(upgrade neo or this profile/,
  ],
  [
    'no version in common, by its card alone',
    { card: cardOf('neo', ['3.0']), answer: 401 },
    'versions',
    /it speaks handshake 3\.0/,
  ],
  [
    'no announce in its answer',
    {
      card: cardOf('neo', ['2.0']),
      answer: { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } },
    },
    'handshake',
    /answers without an announce/,
  ],
  [
    'an announce with wrong fields',
    {
      card: cardOf('neo', ['2.0']),
      answer: { message: { messageId: 'm', parts: [{ data: { type: 'SESSION_ANNOUNCE' } }] } },
    },
    'handshake',
    /worker/,
  ],
  ['an error for an answer', { card: cardOf('neo', ['2.0']), answer: 500 }, 'reachable', /HTTP 500/],
];
for (const [what, peer, check, words] of WRONG)
  test(`a peer with ${what}`, async (t) => {
    const { url, messages } = await stub(t, peer);
    const { checks, said } = await examine('neo', url);
    assert.equal(checks[check], 'failed', said);
    assert.match(said, words);
    assert.deepEqual(messages, ['handshake:hermes-neo'], 'one message, on the reserved context');
  });

test('versions that are not declared are skipped', async (t) => {
  const { url } = await stub(t, { card: cardOf('neo', []), answer: 401 });
  assert.equal((await examine('neo', url)).checks.versions, 'skipped');
});

test('a clock within five seconds is ok, and an unknown one is skipped', async (t) => {
  const near = await stub(t, {
    card: cardOf('neo', ['2.0']),
    answer: greeting({ sentAt: new Date(Date.now() + 3_000).toISOString() }),
  });
  assert.equal((await examine('neo', near.url)).checks.clock, 'ok');
  const { sentAt: _none, ...announce } = announceOf('neo');
  const mute = await stub(t, {
    card: cardOf('neo', ['2.0']),
    answer: { message: { messageId: 'm', parts: [{ data: encodeAnnounce(announce) }] } },
  });
  const { checks } = await examine('neo', mute.url);
  assert.deepEqual([checks.clock, checks.address], ['skipped', 'skipped']);
});

test("secrets in a card's address are not shown", async () => {
  const { said } = await examine('neo', `http://neo:the-right-one-0123@127.0.0.1:${await freePort()}`);
  assert.match(
    said,
    /reachable: nobody answers at http:\/\/127\.0\.0\.1:\d+\/\.well-known\/agent-card\.json/,
  );
  assert.ok(!said.includes('the-right-one'), said);
});
