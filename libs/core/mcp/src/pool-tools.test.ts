import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { hasCode } from '@hermes-fleet/protocol/testing';
import { fixture, longTimeout, now, openPool } from '../testing/harness.ts';

describe('tools', { timeout: 120_000 }, () => {
  it('that would exhaust the memory are not listed', async (t) => {
    const pool = openPool(t, { it: fixture('hoards') });
    assert.equal((await pool.probe('it', now)).state, 'ok');
    await assert.rejects(pool.listTools('it'), /is not available \(lists more than 10 MB of tools\)/);
  });

  it('are listed once per session, and again when the server reports a change', async (t) => {
    let listings = 0;
    const onOperation = (_: string, method: string): void => {
      if (method === 'tools/list') listings += 1;
    };
    const pool = openPool(t, { it: fixture('answers') }, { onOperation });
    let changes = 0;
    using _subscription = pool.onToolsChanged(() => {
      changes += 1;
    });
    const [tools] = await Promise.all([pool.listTools('it'), pool.listTools('it')]);
    await pool.listTools('it');
    assert.equal(listings, 1);
    const described = { description: 'does echo', inputSchema: { type: 'object' } };
    assert.deepEqual(tools[0], { name: 'echo', ...described, readOnly: true });
    assert.equal(tools[1]?.readOnly, false);
    await pool.callTool('it', 'grow', {}, longTimeout());
    assert.ok((await pool.listTools('it')).some(({ name }) => name === 'grown'));
    assert.deepEqual([listings, changes], [2, 1]);
  });

  it('are listed again after the server was replaced', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    await pool.callTool('it', 'grow', {}, longTimeout());
    await pool.callTool('it', 'die', {}, longTimeout());
    assert.ok((await pool.listTools('it')).every(({ name }) => name !== 'grown'));
  });

  it('of a server that is not available cannot be listed', async (t) => {
    const pool = openPool(t, { it: fixture('exits') });
    await assert.rejects(pool.listTools('it'), (error) => {
      assert.ok(hasCode('PEER_UNREACHABLE')(error));
      assert.match(String(error), /MCP server "it" is not available \(process exited with code 5\)/);
      return true;
    });
  });

  for (const [tool, expected] of [
    ['echo', { isError: false, content: '{"a":[1,{"b":"ü"}]}' }],
    ['fail', { isError: true, content: 'no such file' }],
    ['parts', { isError: false, content: 'see\n[image: image/png, 3 bytes]\ninside' }],
    [
      'unknown',
      {
        isError: true,
        content: 'tool "unknown" of MCP server "it": answered with error -32602: Unknown tool: unknown',
      },
    ],
    ['die', { isError: true, content: 'MCP server "it" is not available (process exited with code 3)' }],
  ] as const) {
    it(`${tool} returns its result as text`, async (t) => {
      const pool = openPool(t, { it: fixture('answers') });
      assert.deepEqual(await pool.callTool('it', tool, { a: [1, { b: 'ü' }] }, longTimeout()), expected);
    });
  }

  it("receive the call's meta and nothing else", async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    const meta = { on_behalf_of: 'trinity' };
    assert.deepEqual(
      [
        JSON.parse((await pool.callTool('it', 'meta', {}, { ...longTimeout(), meta })).content),
        JSON.parse((await pool.callTool('it', 'meta', {}, longTimeout())).content),
      ],
      [meta, null],
    );
  });

  it('have their results cut at 64 kB with head and tail kept', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    const { content } = await pool.callTool('it', 'big', {}, longTimeout());
    assert.ok(Buffer.byteLength(content) <= 64 * 1024);
    assert.match(content, /^first x+\n\[\d+ bytes left out\]\nx+ last$/);
  });

  it('end at their deadline with an error result', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    await pool.probe('it', now);
    const call = await pool.callTool('it', 'silence', {}, { ...longTimeout(), timeoutMs: 50 });
    assert.deepEqual(call, {
      isError: true,
      content: 'tool "silence" of MCP server "it": timeout after 50 ms',
    });
    assert.equal((await pool.probe('it', now)).state, 'ok');
  });

  it("reject with their signal's reason", async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    await pool.probe('it', now);
    const canceled = new FleetError('CANCELED', 'canceled by the caller');
    const controller = new AbortController();
    const call = pool.callTool('it', 'silence', {}, { signal: controller.signal, timeoutMs: 20_000 });
    controller.abort(canceled);
    await assert.rejects(call, canceled);
    await assert.rejects(
      pool.callTool('it', 'echo', {}, { signal: controller.signal, timeoutMs: 1 }),
      canceled,
    );
  });
});
