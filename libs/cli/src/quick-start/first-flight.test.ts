import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { decodeDispatch } from '@hermes-fleet/protocol/handshake';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { curlCommand, firstFlight, renderWelcome } from './first-flight.ts';

const at = (value: JsonValue | undefined, ...path: (string | number)[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)];
    return isJsonObject(inner) ? inner[key] : undefined;
  }, value);
const dataOf = (request: JsonValue): JsonValue | undefined => at(request, 'message', 'parts', 0, 'data');

test('the first request is a valid dispatch to auto with the given id', () => {
  const request = firstFlight('flight-7');
  assert.equal(at(request, 'message', 'messageId'), 'flight-7');
  const dispatch = decodeDispatch(dataOf(request));
  assert.equal(dispatch.task.taskId, 'flight-7');
  assert.equal(dispatch.routing?.target, 'auto');
});

test('fields of it can be replaced', () => {
  const dispatch = decodeDispatch(dataOf(firstFlight('x', { required_mcp: ['nope'], token_budget: 1 })));
  assert.deepEqual([dispatch.requirements?.requiredMcp, dispatch.task.tokenBudget], [['nope'], 1]);
});

test('the curl command is one line, and a shell passes its URL, token and file unchanged', (t) => {
  const dir = tempDir(t, { prefix: "it's a flight-" });
  const script = 'process.stdout.write(JSON.stringify(process.argv.slice(2)))';
  writeFileSync(join(dir, 'curl.cjs'), script);
  writeFileSync(
    join(dir, 'curl'),
    `#!/bin/sh\nexec '${process.execPath}' "$(dirname "$0")/curl.cjs" "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const request = "/it's a checkout/first.json";
  const command = curlCommand('http://127.0.0.1:9219/jsonrpc', 'echo secret', request);
  assert.doesNotMatch(command, /\n/);
  const shell = spawnSync('sh', ['-c', command], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dir}:${process.env.PATH}` },
  });
  assert.equal(shell.status, 0, shell.stderr);
  const args: string[] = JSON.parse(shell.stdout);
  assert.ok(args.includes('http://127.0.0.1:9219/jsonrpc'));
  assert.ok(args.includes('Authorization: Bearer secret'));
  assert.equal(args[args.indexOf('-d') + 1], `@${request}`);
});

test('the welcome names every address and sends the request to switch', () => {
  const text = renderWelcome({
    addresses: [
      { name: 'neo', url: 'http://127.0.0.1:9220' },
      { name: 'switch', url: 'http://127.0.0.1:9219' },
    ],
    request: '/a b/r.json',
    tokenCommand: 'make -s token',
  });
  assert.match(text, /neo +http:\/\/127\.0\.0\.1:9220/);
  assert.match(text, /curl -sS http:\/\/127\.0\.0\.1:9219\/jsonrpc/);
  assert.match(text, /\$\(make -s token\).* '@\/a b\/r\.json'/);
  assert.doesNotMatch(text, /browser/);
});

test('the welcome has the link to the console, where there is one', () => {
  const consoleLink = 'http://127.0.0.1:9224/login?code=abc';
  const addresses = [{ name: 'switch', url: 'http://127.0.0.1:9219' }];
  const text = renderWelcome({ addresses, request: '/r.json', tokenCommand: 'x', consoleLink });
  assert.match(
    text,
    /in a browser.* make console prints another:\n\n {2}http:\/\/127\.0\.0\.1:9224\/login\?code=abc\n/,
  );
});
