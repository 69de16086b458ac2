import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { ROOT, startFleet } from '../support/fleet.ts';
import { noLlamaServer, startLlamaServer } from '../support/llama/llama-server.ts';
import { scriptedGguf } from '../support/llama/scripted-gguf.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';

const WINDOW = 16_384;
const FILE = 'max.test.mjs';
const WRONG = `import assert from 'node:assert/strict';
import { test } from 'node:test';

const max = (numbers) => Math.max(0, ...numbers);

test('the largest', () => assert.equal(max([-3, -1]), -1));
`;
const RIGHT = WRONG.replace('0, ...', '...');
const ANSWER = `${FILE} passes: all numbers may be negative.`;

const calls = (name: string, args: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
/** A file tool's answer about a file with this content. */
const wrote = (content: string): string => `"bytes":${content.length}`;

const MODEL = scriptedGguf([
  { say: calls('write_file', { path: FILE, content: WRONG }) },
  { after: wrote(WRONG), say: calls('shell_exec', { command: `node --test ${FILE}` }) },
  { after: 'fail 1', say: calls('edit_file', { path: FILE, old_text: '0, ...', new_text: '...' }) },
  { after: wrote(RIGHT), say: calls('shell_exec', { command: 'node --test' }) },
  { after: 'pass 1', say: ANSWER },
]);

// llama-server answers 400 to a request with this schema as it is: no grammar can be made of such a bound.
const LONG = { type: 'object', properties: { text: { type: 'string', minLength: 3_000 } } };
const MCP_SERVER = join(ROOT, 'libs/agent/loop/testing/mcp-server.ts');
const BOUNDED = {
  command: process.execPath,
  args: [MCP_SERVER, JSON.stringify([{ name: 'long', inputSchema: LONG }])],
  scope: 'profile',
};

test('the shipped neo works over llama-server', { skip: noLlamaServer, timeout: 280_000 }, async (t) => {
  const server = await startLlamaServer(t, MODEL, WINDOW);
  const configYaml = (profile: string, shipped: string): string => {
    if (profile !== 'neo') return shipped;
    const { mcp, ...rest } = parse(shipped);
    const servers = { ...mcp.servers, bounded: BOUNDED };
    return stringify({
      ...rest,
      ...{ model: 'openai-compatible/scripted', base_url: `${server.url}/v1`, mcp: { servers } },
      tools: { shell: { readable: [dirname(MCP_SERVER)] } },
    });
  };
  // switch is there because a fleet of one has no peer to settle with.
  const fleet = await startFleet(t, ['switch', 'neo'], { configYaml, mcpServers: ['filesystem', 'memory'] });
  const run = async (brief: string) =>
    (await call(fleet.target('neo'), 'SendMessage', message(dispatch({ brief })))).body.result.task;

  await t.test(
    'it writes a file, sees the test fail, edits it and is done, with the tokens that the server counts',
    async () => {
      const task = await run('Write a test of the largest of some numbers, and make it pass.');
      const { status, text, artifacts, evidence, usage } = resultOf(task);
      assert.deepEqual([status, text, artifacts.files_changed], ['done', ANSWER, [FILE]]);
      assert.deepEqual(
        evidence.map(({ detail, exit_code }: Record<string, unknown>) => [detail, exit_code]),
        [
          [`node --test ${FILE}`, 1],
          ['node --test', 0],
        ],
      );
      const [tree = ''] = globSync(`workspaces/*/contexts/*/tree/${FILE}`, { cwd: fleet.dir });
      assert.equal(readFileSync(join(fleet.dir, tree), 'utf8'), RIGHT);
      const { input_tokens: fresh, cache_read_tokens: cached, output_tokens: output, source } = usage;
      assert.deepEqual({ fresh, cached, output, source }, { ...(await server.counts()), source: 'metered' });
      const announce = task.metadata['urn:hermes-fleet:handshake:2'];
      assert.equal(announce.worker.context_window, WINDOW, 'the window is the one that /props states');
      assert.deepEqual(announce.mcp_health, { filesystem: 'ok', memory: 'ok', bounded: 'ok' });
      assert.doesNotMatch(server.log(), /JSON schema conversion was incomplete/);
    },
  );

  await t.test('a conversation that is too long for the server ends with its own words', async () => {
    // A token each for the model, and a fraction of one for the estimate: the server is asked.
    const { status, error, tokens_spent } = resultOf(await run('largest '.repeat(1_500)));
    assert.deepEqual([status, error.code, tokens_spent], ['error', 'model_failed', 0]);
    assert.match(error.message, /does not fit the model's context window/);
    assert.match(error.message, /request \(\d+ tokens\) exceeds the available context size \(16384 tokens\)/);
  });
});
