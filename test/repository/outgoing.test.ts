import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
/** The one package that makes HTTP clients (docs/architecture.md#outgoing-requests). */
const MAKER = /^libs\/core\/net\/src\/(?!tls\/)/;

/** Files that may do it too, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'libs/agent/loop/src/network/host-proxy.ts':
    'the proxy of commands passes their requests on over connections that it has checked and opened, and redirects back',
  'libs/core/service/src/tracing/otlp-tracing.ts':
    'the exporter of OpenTelemetry takes no client: it sends over node:http, which follows no redirect',
  'deploy/docker/healthcheck.mjs':
    'the health check of a container has no packages: it asks its own listener over node:https',
};

/** What a module may take from node:http and node:https: parts of servers, and types. */
const OF_SERVERS = /^(type .*|createServer|STATUS_CODES|createServer as \w+)$/;
const HTTP_MODULES = /^(node:)?(http|https|http2)$/;
const OTHER_CLIENTS = /^(undici|axios|got|node-fetch|ky|superagent|request|eventsource|ws)(\/|$)/;
/** Globals that send requests. `fetch` may be a name of a property or in a type. */
const GLOBALS =
  /(?<![\w$.?]|typeof )fetch\b(?!\s*\??:|-)|\bnew (?:XMLHttpRequest|EventSource|WebSocket)\b|\bglobalThis\b/g;
/** Makers of clients that take a `fetch`, and use the global one without it. */
const TAKE_FETCH =
  /\b(?:new \w*ClientTransport|create(?:Anthropic|OpenAI\w*|OpenRouter|Google\w*)|new \w+Exporter|new ClientFactory)\(/g;

/** The code without comments and texts; an expression in a template stays. */
const bare = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/[^\n]*/g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");

/** What a source does that only the maker may do. */
function faultsOf(text: string): string[] {
  const faults: string[] = [];
  for (const [, clause = '', module = ''] of text.matchAll(
    /(?:^|\n)import\s+(?!type\s)([^;'"]*?)(?:\s*from\s*)?'([^']+)'/g,
  )) {
    if (OTHER_CLIENTS.test(module)) faults.push(`imports ${module}`);
    if (!HTTP_MODULES.test(module)) continue;
    const names = /^\{([\s\S]*)\}$/
      .exec(clause.trim())?.[1]
      ?.split(',')
      .map((name) => name.trim());
    for (const name of names ?? [clause.trim()])
      if (name !== '' && !OF_SERVERS.test(name)) faults.push(`imports ${name} of ${module}`);
  }
  for (const [, module = ''] of text.matchAll(/(?:import|require)\(\s*'([^']+)'\s*\)/g))
    if (OTHER_CLIENTS.test(module) || HTTP_MODULES.test(module)) faults.push(`loads ${module}`);
  const code = bare(text);
  for (const [found] of code.matchAll(GLOBALS)) faults.push(`uses ${found}`);
  for (const match of code.matchAll(TAKE_FETCH))
    if (!/\bfetch:/.test(argumentsFrom(code, match.index + match[0].length)))
      faults.push(`gives no fetch to ${match[0].slice(0, -1)}`);
  return faults;
}

function argumentsFrom(code: string, start: number): string {
  let depth = 1;
  let end = start;
  while (end < code.length && depth > 0) {
    if (code[end] === '(') depth += 1;
    if (code[end] === ')') depth -= 1;
    end += 1;
  }
  return code.slice(start, end);
}

const sources = (): string[] =>
  globSync(['{libs,services}/**/src/**/*.ts', 'deploy/**/*.{ts,mjs}'], { cwd: ROOT }).filter(
    (file) => !/\.test\.ts$|\/testing\//.test(file) && !MAKER.test(file),
  );

test('every HTTP client is made by libs/core/net', () => {
  const files = sources();
  assert.ok(files.length > 400, `only ${files.length} files found: the search of this test is broken`);
  const found = files
    .filter((file) => !(file in EXCEPTIONS))
    .flatMap((file) => faultsOf(readFileSync(join(ROOT, file), 'utf8')).map((fault) => `${file} ${fault}`));
  assert.deepEqual(found, []);
});

test('each exception is needed', () => {
  for (const file of Object.keys(EXCEPTIONS))
    assert.notDeepEqual(faultsOf(readFileSync(join(ROOT, file), 'utf8')), [], file);
});

test('a client that is made elsewhere is found, and what only looks like one is not', () => {
  const faults = [
    'const answer = await fetch(url);',
    'const send = tls ? own : fetch;',
    'return observed ?? fetch;',
    'createAnthropic({ apiKey, fetch })(name)',
    ['const text = `$', '{await fetch(url)}`;'].join(''),
    'globalThis.fetch(url)',
    'new WebSocket(url)',
    "import { request } from 'node:https';",
    "import { createServer, request as requestHttp } from 'node:http';",
    "import http from 'node:http';",
    "import * as https from 'node:https';",
    "import { Pool } from 'undici';",
    "const { get } = await import('node:http');",
    "const http = require('node:http');",
    'new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: {} } })',
    'createOpenAICompatible({ name, baseURL })',
    'new OTLPTraceExporter({ url })',
  ];
  for (const text of faults) assert.notDeepEqual(faultsOf(text), [], text);
  const fine = [
    'await client.fetch(url, { signal });',
    'return handler?.fetch(request);',
    'const deps = { fetch: createClient() };',
    'type Send = typeof fetch;',
    'interface A { readonly fetch: TlsFetch; fetch?: Send }',
    '// fetch(url) would follow it',
    '/** As `fetch`. */',
    "const site = headers['sec-fetch-site'];",
    "import { createServer, type IncomingMessage } from 'node:http';",
    "import type { Agent } from 'node:https';",
    'createAnthropic({ apiKey, fetch: send })(name)',
    'const fetchCard = 1;',
  ];
  for (const text of fine) assert.deepEqual(faultsOf(text), [], text);
});
