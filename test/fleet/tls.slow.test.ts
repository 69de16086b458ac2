import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer } from 'node:https';
import { type TestContext, test } from 'node:test';
import { createA2AClient, type PeerReply } from '@hermes-fleet/a2a';
import { createClient } from '@hermes-fleet/net';
import {
  createAuthority,
  EXPIRED,
  type TestAuthority,
  type TestCertificate,
} from '@hermes-fleet/net/testing';
import { HANDSHAKE_EXTENSION, type JsonObject } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { ROOT, runProgram, until } from '../support/fleet.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { freeOffset } from '../support/ports.ts';

const TOKENS = { A_TO_B: 'token-of-switch-for-neo-0123', B_TO_A: 'token-of-neo-for-switch-0123' };
const SCOPES = ['announce', 'dispatch', 'read'];
const WRITES = 'Do this:\n```hello.txt\nhello\n```\n';

const listenerOf = ({ certFile, keyFile }: TestCertificate, { caFile }: TestAuthority) => ({
  cert_file: certFile,
  key_file: keyFile,
  client_ca_file: caFile,
  client_cert: 'required',
});
const clientOf = ({ certFile, keyFile }: TestCertificate, { caFile }: TestAuthority) => ({
  ca_file: caFile,
  cert_file: certFile,
  key_file: keyFile,
});
const addressOf = (port: number): string => `https://localhost:${port}`;

/** Peers of switch beside neo, by name: their addresses. */
type More = Readonly<Record<string, string>>;

/** Switch and neo as processes, each of which requires the other's certificate. */
async function twoProfiles(t: TestContext, authority: TestAuthority, more: More = {}) {
  const [switchPort, neoPort] = [9219 + (await freeOffset()), 9219 + (await freeOffset())];
  const certificates = { switch: authority.issue('switch'), neo: authority.issue('neo') };
  const neo = await startProfile(t, {
    name: 'neo',
    port: neoPort,
    callers: { switch: { token_env: 'A_TO_B', scopes: SCOPES } },
    server: { public_url: addressOf(neoPort), tls: listenerOf(certificates.neo, authority) },
    fleet: {
      tls: clientOf(certificates.neo, authority),
      agents: { switch: { url: addressOf(switchPort), token_env: 'B_TO_A' } },
    },
    env: TOKENS,
  });
  const agents = Object.fromEntries(Object.entries(more).map(([name, url]) => [name, { url }]));
  const orchestrator = await startProfile(t, {
    name: 'switch',
    port: switchPort,
    callers: { neo: { token_env: 'B_TO_A', scopes: SCOPES } },
    server: { public_url: addressOf(switchPort), tls: listenerOf(certificates.switch, authority) },
    fleet: {
      orchestrate: true,
      response_handler: 'echo',
      tls: clientOf(certificates.switch, authority),
      agents: { neo: { url: addressOf(neoPort), token_env: 'A_TO_B' }, ...agents },
    },
    env: TOKENS,
  });
  return { neo, switch: orchestrator, certificates };
}

/** A caller with a certificate. */
function callerOf(authority: TestAuthority, { cert, key }: TestCertificate) {
  const source = { current: () => ({ ca: authority.ca, cert, key }) };
  const client = createA2AClient({
    clock: systemClock,
    log: silentLog,
    extensions: [HANDSHAKE_EXTENSION],
    tls: source,
  });
  const get = async (profile: LoneProfile, path: string) => {
    const headers = { authorization: `Bearer ${profile.token}` };
    return createClient('configured', { tls: source })(`${profile.url}${path}`, {
      headers,
      signal: AbortSignal.timeout(20_000),
    });
  };
  const endpoint = (profile: LoneProfile) => ({
    name: 'switch',
    url: `${profile.url}/jsonrpc`,
    token: profile.token,
  });
  return { client, get, endpoint };
}

type Caller = ReturnType<typeof callerOf>;

/** Dispatches over a stream; resolves with all that was seen. */
async function dispatched(
  caller: Caller,
  to: LoneProfile,
  target: string,
  taskId: string,
): Promise<PeerReply[]> {
  const data: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: taskId, reply_schema: 'structured' },
    brief: WRITES,
    routing: { target, on_blocked: 'fail' },
  };
  const message = { messageId: taskId, data, blocking: false };
  const options = { signal: AbortSignal.timeout(60_000), idleTimeoutMs: 40_000 };
  const seen: PeerReply[] = [];
  for await (const reply of caller.client.stream(caller.endpoint(to), message, options)) seen.push(reply);
  return seen;
}

/** The TASK_RESULT at the end of a stream. */
function resultOf(replies: readonly PeerReply[]): JsonObject {
  const last = replies.at(-1);
  assert.ok(last?.kind === 'task', JSON.stringify(last));
  const result = last.task.data.find(({ type }) => type === 'TASK_RESULT');
  assert.ok(result, JSON.stringify(last));
  return result;
}

const knowsNeo = (caller: Caller, profile: LoneProfile): Promise<unknown> =>
  until(async () => {
    const { peers } = (await (await caller.get(profile, '/fleet/peers')).json()) as {
      peers: { name: string; live: boolean }[];
    };
    return peers.some(({ name, live }) => name === 'neo' && live);
  }, 'an announce of neo');

test('two profiles with mutual TLS do a dispatch, with its stream; certificates are renewed meanwhile', {
  timeout: 180_000,
}, async (t) => {
  const authority = createAuthority(t);
  const fleet = await twoProfiles(t, authority);
  const caller = callerOf(authority, authority.issue('operator'));
  await knowsNeo(caller, fleet.switch);
  const replies = await dispatched(caller, fleet.switch, 'neo', 'over-tls');
  const result = resultOf(replies);
  assert.deepEqual([result.status, result.executed_by], ['done', 'neo'], JSON.stringify(result));
  assert.ok(replies.length > 2, `only ${replies.length} events`);

  const findings = await fleet.switch.doctor();
  for (const expected of [
    /^ok certificates server: for DNS:localhost, IP Address:127\.0\.0\.1, valid for \d+ more days$/,
    /^ok certificates client: /,
    /^ok certificates own address: https:\/\/localhost:\d+ is trusted by peers/,
    /^ok neo tls: its certificate is valid$/,
    /^ok neo token: A_TO_B is accepted$/,
  ])
    assert.ok(
      findings.some((line) => expected.test(line)),
      `${expected} in\n${findings.join('\n')}`,
    );

  const metrics = await (await caller.get(fleet.switch, '/metrics')).text();
  for (const use of ['server', 'client'])
    assert.match(
      metrics,
      new RegExp(`fleet_certificate_expiry_timestamp_seconds\\{.*use="${use}".*\\} 1\\.?\\d+`),
    );

  const next = authority.issue('neo-renewed');
  copyFileSync(next.certFile, fleet.certificates.neo.certFile);
  copyFileSync(next.keyFile, fleet.certificates.neo.keyFile);
  const [again] = await Promise.all([
    dispatched(caller, fleet.switch, 'neo', 'while-renewed'),
    until(
      async () => fleet.neo.log().includes('fleet.server.tls: the renewed files are in use'),
      'the renewal',
    ),
  ]);
  assert.equal(resultOf(again).status, 'done');
  assert.equal(resultOf(await dispatched(caller, fleet.switch, 'neo', 'after-renewal')).status, 'done');
});

async function listening(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return `localhost:${address.port}`;
}

test('each fault of TLS at a peer is named, no token is spent there, and others go on', {
  timeout: 180_000,
}, async (t) => {
  const authority = createAuthority(t);
  let requests = 0;
  const answer: RequestListener = (_request, reply) => {
    requests += 1;
    reply.writeHead(500).end();
  };
  const over = async (certificate: TestCertificate): Promise<string> =>
    listening(t, createServer(certificate, answer));
  const more = {
    expired: `https://${await over(authority.issue('expired', { valid: EXPIRED }))}`,
    elsewhere: `https://${await over(authority.issue('elsewhere', { names: 'DNS:elsewhere.example' }))}`,
    foreign: `https://${await over(createAuthority(t, 'Other CA').issue('foreign'))}`,
    strict: `https://${await listening(
      t,
      createServer(
        { ...authority.issue('strict'), requestCert: true, ca: createAuthority(t, 'Third CA').ca },
        answer,
      ),
    )}`,
    plain: `https://${await listening(t, createHttp(answer))}`,
    secure: `http://${await over(authority.issue('secure'))}`,
  };
  const fleet = await twoProfiles(t, authority, more);
  const caller = callerOf(authority, authority.issue('operator'));
  const findings = (await fleet.switch.doctor()).join('\n');
  for (const [peer, fault] of [
    ['expired', 'its certificate has expired'],
    ['elsewhere', 'its certificate is for another name (DNS:elsewhere.example)'],
    ['foreign', 'its certificate is from an unknown issuer'],
    ['plain', 'it does not speak TLS'],
    ['secure', 'it speaks TLS'],
  ] as const) {
    const shown = `${more[peer]}/.well-known/agent-card.json`;
    assert.ok(findings.includes(`failed ${peer} tls: ${shown}: ${fault}`), `${peer}:\n${findings}`);
  }
  assert.equal(requests, 0, 'no request has reached them');

  await knowsNeo(caller, fleet.switch);
  const blocked = resultOf(await dispatched(caller, fleet.switch, 'expired', 'to-expired'));
  assert.deepEqual([blocked.status, blocked.tokens_spent], ['blocked', 0], JSON.stringify(blocked));
  const done = resultOf(await dispatched(caller, fleet.switch, 'auto', 'to-any'));
  assert.deepEqual([done.status, done.executed_by], ['done', 'neo'], JSON.stringify(done));
  assert.match(fleet.switch.log(), /its certificate has expired: renew it there/);
});

test('the command trusts FLEET_CA_FILE, shows FLEET_CERT_FILE, and names what is missing', {
  timeout: 120_000,
}, async (t) => {
  const authority = createAuthority(t);
  const { certFile, keyFile } = authority.issue('switch');
  const port = 9219 + (await freeOffset());
  const profile = await startProfile(t, {
    port,
    server: {
      public_url: addressOf(port),
      tls: {
        cert_file: certFile,
        key_file: keyFile,
        client_ca_file: authority.caFile,
        client_cert: 'required',
      },
    },
  });
  const operator = authority.issue('operator');
  const trusted = { FLEET_CA_FILE: authority.caFile };
  const fleet = (env: Record<string, string>) => {
    const args = ['libs/cli/src/main.ts', 'send', WRITES, '--url', profile.url, '--token-env', 'TOKEN'];
    const options = { cwd: ROOT, env: { ...process.env, ...env, TOKEN: profile.token } };
    return runProgram(process.execPath, args, options);
  };
  const all = { ...trusted, FLEET_CERT_FILE: operator.certFile, FLEET_KEY_FILE: operator.keyFile };
  const done = await fleet(all);
  assert.match(done.stdout, /status +done/);
  for (const [env, words] of [
    [{}, /its certificate is from an unknown issuer: put the certificate of its CA into FLEET_CA_FILE/],
    [trusted, /it requires a client certificate: set FLEET_CERT_FILE/],
    [{ FLEET_CA_FILE: '/nowhere.pem' }, /FLEET_CA_FILE: \/nowhere\.pem cannot be read \(ENOENT\)/],
    [{ ...trusted, FLEET_CERT_FILE: operator.certFile }, /FLEET_KEY_FILE: is required with FLEET_CERT_FILE/],
  ] as const) {
    const { stderr, code } = await fleet(env);
    assert.match(stderr, words);
    assert.equal(code, 1);
  }
});
