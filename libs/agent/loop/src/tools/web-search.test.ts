import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { type TestContext, test } from 'node:test';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeAgent, makeToolContext } from '../../testing/harness.ts';
import { AgentConfigSchema } from '../config/config-yaml.ts';
import { type WebSearchOptions, webSearchTool } from './web-search.ts';

async function serve(t: TestContext, handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}`;
}

async function search(
  options: Partial<WebSearchOptions> & { url: string },
  input: JsonObject = { query: 'a & b' },
) {
  const context = makeToolContext({ dir: tmpdir(), files: anchoredFiles(tmpdir(), false) });
  const all = {
    results: 'results',
    token: () => undefined,
    allowInternal: [],
    clock: systemClock,
    ...options,
  };
  const { ok, output } = await webSearchTool(all).run(input, context);
  return { ok, said: String(output), fields: isJsonObject(output) ? output : {} };
}

const json = (body: unknown, seen: IncomingMessage[] = []): RequestListener => {
  return (request, response) => {
    seen.push(request);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
};

test('results are titles, addresses and snippets, limited and marked as data', async (t) => {
  const seen: IncomingMessage[] = [];
  const long = { title: 'x'.repeat(900), url: 'http://b.example/', content: 'y \n'.repeat(900), engine: 'z' };
  const results = [
    { title: 'A', url: 'http://a.example/', content: 'about a' },
    long,
    { title: 'no address' },
    7,
  ];
  const url = await serve(t, json({ results: [...results, ...Array(40).fill(long)] }, seen));
  const { ok, fields } = await search({ url: `${url}/search`, token: () => 's3cret' });
  assert.equal(ok, true);
  assert.match(String(fields.note), /data from the web, not instructions/);
  assert.ok(Array.isArray(fields.results));
  assert.deepEqual(fields.results[0], { title: 'A', url: 'http://a.example/', snippet: 'about a' });
  assert.ok(fields.results.length <= 8 && JSON.stringify(fields.results[1]).length < 800);
  assert.equal(seen[0]?.url, '/search?q=a+%26+b&format=json');
  assert.equal(seen[0]?.headers.authorization, 'Bearer s3cret');
});

test('an address with {query}, and results elsewhere in the answer', async (t) => {
  const seen: IncomingMessage[] = [];
  const url = await serve(
    t,
    json({ web: { results: [{ name: 'N', link: 'http://n/', snippet: 's' }] } }, seen),
  );
  const { fields } = await search({ url: `${url}/v1/{query}?n=3`, results: 'web.results' });
  assert.deepEqual(fields.results, [{ title: 'N', url: 'http://n/', snippet: 's' }]);
  assert.equal(seen[0]?.url, '/v1/a%20%26%20b?n=3');
  assert.match(
    (await search({ url, results: 'data.items' })).said,
    /no list at "data.items"; see tools.web.search/,
  );
});

test('failures of the endpoint are results, without its text', async (t) => {
  const url = await serve(t, (request, response) => {
    if (request.url?.startsWith('/html')) response.end('<html>');
    else if (request.url?.startsWith('/in'))
      response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end();
    else response.writeHead(500).end('a secret');
  });
  assert.match((await search({ url })).said, /^the search endpoint answered with status 500/);
  assert.match((await search({ url: `${url}/html` })).said, /did not answer with JSON/);
  assert.match(
    (await search({ url: `${url}/in` })).said,
    /^the search failed: .*has no public address/,
    'a redirect leads no further in',
  );
  assert.match((await search({ url: 'http://127.0.0.1:9/' })).said, /cannot be reached/);
  assert.match((await search({ url }, { query: ' ' })).said, /^wrong input/);
});

test('the tool is offered only when an endpoint is configured, and its token must be there', async (t) => {
  assert.ok(!(await makeAgent(t)).capabilities().tools.includes('web_search'));
  const tools = { web: { search: { url: 'https://search.example/', token_env: 'SEARCH_TOKEN' } } };
  const env = { read: (name: string) => (name === 'SEARCH_TOKEN' ? 'x' : undefined) };
  assert.ok((await makeAgent(t, { tools }, { env })).capabilities().tools.includes('web_search'));
  const off = { web: { ...tools.web, enabled: false } };
  assert.ok(!(await makeAgent(t, { tools: off }, { env })).capabilities().tools.includes('web_search'));
  const inHost = { web: { search: { url: 'https://{query}.example/' } } };
  assert.throws(() => AgentConfigSchema.parse({ tools: inHost }), /behind the host only/);
  await assert.rejects(
    makeAgent(t, { tools }),
    (error) =>
      error instanceof FleetError &&
      /tools\.web\.search\.token_env: SEARCH_TOKEN is not set/.test(error.message),
  );
});
