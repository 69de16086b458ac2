import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anthropicServer, type MessagesRequest } from '../../testing/anthropic-server.ts';
import { makeAgent, makeContext, makeTask } from '../../testing/harness.ts';

const env = { read: () => 'the-key' };

/** Where a request has breakpoints, and the text that precedes each of them. */
function cached({ tools = [], system, messages }: MessagesRequest): { place: string; prefix: string }[] {
  const found: { place: string; prefix: string }[] = [];
  let prefix = '';
  const look = (place: string, block: unknown): void => {
    const { cache_control: mark, ...rest } = Object(block);
    prefix += JSON.stringify(rest);
    if (mark === undefined) return;
    assert.deepEqual(mark, { type: 'ephemeral' });
    found.push({ place, prefix });
  };
  for (const tool of tools) look('tools', tool);
  for (const block of Array.isArray(system) ? system : [system]) look('system', block);
  for (const [index, { content }] of messages.entries())
    for (const block of typeof content === 'string' ? [content] : content) look(`message ${index}`, block);
  return found;
}

async function requestsOf(t: Parameters<typeof anthropicServer>[0], config: { prompt_cache?: boolean }) {
  const usage = {
    input_tokens: 4,
    output_tokens: 10,
    cache_read_input_tokens: 700,
    cache_creation_input_tokens: 60,
  };
  const server = await anthropicServer(t, (turn) =>
    turn < 4 ? { calls: [['list_files', {}]], usage } : { text: 'Listed.', usage },
  );
  const agent = await makeAgent(t, { model: 'claude-haiku-4-5', base_url: server.url, ...config }, { env });
  const context = makeContext({ limit: 100_000 });
  const result = await agent.executor.run(makeTask('List.'), context);
  assert.equal(result.status, 'done', JSON.stringify(result));
  return { requests: server.requests, usage: context.budget.usage(), spent: context.budget.spent() };
}

test('each call marks what precedes it, and begins with what the call before has marked', async (t) => {
  const { requests } = await requestsOf(t, {});
  const all = requests.map(cached);
  assert.deepEqual(
    all.map((each) => each.map(({ place }) => place)),
    [
      ['system', 'message 0'],
      ['system', 'message 0', 'message 2'],
      ['system', 'message 2', 'message 4'],
      ['system', 'message 4', 'message 6'],
    ],
  );
  for (const [index, each] of all.entries()) {
    const before = all[index - 1]?.at(-1)?.prefix;
    if (before !== undefined)
      assert.ok(
        each.some(({ prefix }) => prefix === before),
        `call ${index + 1}`,
      );
  }
});

test('what the provider read from its cache and wrote to it is metered, and counted apart', async (t) => {
  const { usage, spent } = await requestsOf(t, {});
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source } = usage;
  assert.deepEqual(
    { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, source, spent },
    {
      inputTokens: 16,
      outputTokens: 40,
      cacheReadTokens: 2_800,
      cacheWriteTokens: 240,
      source: 'metered',
      spent: 56,
    },
  );
});

test('nothing is marked with prompt_cache: false', async (t) => {
  const { requests } = await requestsOf(t, { prompt_cache: false });
  assert.deepEqual(requests.flatMap(cached), []);
});
