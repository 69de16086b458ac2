import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from '@hermes-fleet/net';
import { createAuthority, EXPIRED, type TestCertificate } from '@hermes-fleet/net/testing';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { cli } from '../support/joining.ts';
import { startProfile } from '../support/lone-profile.ts';
import { freeOffset } from '../support/ports.ts';
import { dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const OPERATOR_SCOPES = ['announce', 'dispatch', 'read', 'join', 'operate'];

test('a worker joins over TLS, both sides with certificates of their own, and each fault is named before', async (t) => {
  const authority = createAuthority(t);
  const own = authority.issue('switch');
  const files = { cert_file: own.certFile, key_file: own.keyFile };
  const orchestrator = await startProfile(t, {
    fleet: { orchestrate: true, response_handler: 'echo', tls: { ca_file: authority.caFile, ...files } },
    server: { tls: { ...files, client_ca_file: authority.caFile, client_cert: 'required' } },
    callers: { operator: { token_env: 'OPERATOR_TOKEN', scopes: OPERATOR_SCOPES } },
  });
  const caller = authority.issue('operator');
  const send = createClient('configured', { tls: { current: () => ({ ...caller, ca: authority.ca }) } });
  // biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
  const api = async (path: string, body?: object): Promise<any> => {
    const reply = await send(`${orchestrator.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${orchestrator.token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    return reply.json();
  };

  let stop = async (): Promise<void> => undefined;
  const root = tempDir(t, { closeFirst: () => stop() });
  const dir = join(root, 'worker');
  const port = 9219 + (await freeOffset());
  const { token } = await api('/fleet/join-tokens', {
    name: 'worker-7',
    endpoints: [`https://localhost:${port}`],
  });
  assert.ok(token);
  writeFileSync(join(root, 'token'), token, { mode: 0o600 });
  const worker = authority.issue('worker-7');
  const client = {
    FLEET_CA_FILE: authority.caFile,
    FLEET_CERT_FILE: worker.certFile,
    FLEET_KEY_FILE: worker.keyFile,
  };
  const joinWith = (env: Record<string, string>, { certFile, keyFile }: TestCertificate = worker) =>
    cli(
      [
        ...['join', orchestrator.url, '--token-file', join(root, 'token'), '--dir', dir],
        ...['--endpoint', `https://localhost:${port}`, '--cert-file', certFile, '--key-file', keyFile],
      ],
      env,
    );
  stop = async () => void (await cli(['leave', '--dir', dir, '--now']));

  const { FLEET_CA_FILE } = client;
  for (const [what, attempt, words] of [
    ['an unknown issuer', joinWith({}), /unknown issuer: put the certificate of its CA into FLEET_CA_FILE/],
    [
      'no client certificate',
      joinWith({ FLEET_CA_FILE }),
      /requires a client certificate: set FLEET_CERT_FILE/,
    ],
    [
      'an expired certificate of the worker',
      joinWith(client, authority.issue('old', { valid: EXPIRED })),
      /--cert-file: .*expired/,
    ],
  ] as const) {
    const refused = await attempt;
    assert.equal(refused.code, 1, `${what}: ${refused.stderr}`);
    assert.match(refused.stderr, words, what);
    assert.ok(!existsSync(dir), what);
  }
  for (const [what, certificate, words] of [
    [
      'a wrong name',
      authority.issue('elsewhere', { names: 'DNS:elsewhere.example' }),
      /server\.tls\.cert_file: .* is not for localhost, .* but for DNS:elsewhere\.example/,
    ],
    [
      'an issuer that the orchestrator does not know',
      createAuthority(t, 'Other CA').issue('worker-7'),
      /switch does not reach worker-7 at https:\S+: its certificate is from an unknown issuer/,
    ],
  ] as const) {
    const refused = await joinWith(client, certificate);
    assert.equal(refused.code, 1, `${what}: ${refused.stderr}`);
    assert.match(refused.stderr, words, what);
    assert.deepEqual((await api('/fleet/workers')).workers, [], what);
  }

  const joined = await joinWith(client);
  assert.equal(joined.code, 0, joined.stderr);
  assert.match(joined.stdout, /worker-7 is a worker of switch: live at https:/);
  assert.match(joined.stdout, /in both directions, 0 failed/);
  const task = dispatch({
    brief: runbook('a.txt', 'over TLS', 'cat a.txt'),
    task: { token_budget: 20_000 },
    routing: { target: 'worker-7' },
  });
  const { result } = await api('/jsonrpc', {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: message(task),
  });
  assert.equal(resultOf(result.task).status, 'done');

  // The worker remembers the files: the command needs no environment now.
  const left = await cli(['leave', '--dir', dir]);
  assert.equal(left.code, 0, left.stderr);
  assert.match(left.stdout, /worker-7 has left switch; its gateway stopped/);
  assert.deepEqual((await api('/fleet/workers')).workers, []);
});
