import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { McpServerConfigSchema } from './index.ts';

describe('McpServerConfigSchema', () => {
  for (const entry of [
    { command: 'npx', args: ['server'], env: { A: 'b' }, cwd: '/srv', disabled: true },
    { command: 'server' },
    { command: 'server', scope: 'trader:decide', tools: ['decide'] },
    { url: 'http://127.0.0.1:9000/mcp', scope: 'read', tools: [] },
    { url: 'http://127.0.0.1:9000/mcp', headers: { authorization: 'Bearer t' }, disabled: false },
  ]) {
    it(`takes ${JSON.stringify(entry)}`, () => {
      assert.deepEqual(JSON.parse(JSON.stringify(McpServerConfigSchema.parse(entry))), entry);
    });
  }

  for (const [entry, path, reason] of [
    [{}, ['command'], /is required, unless url is set/],
    [{ command: 'a', url: 'http://a/' }, ['command'], /excludes url/],
    [{ url: 'http://a/', args: [] }, ['args'], /servers with a command/],
    [{ url: 'http://a/', env: {} }, ['env'], /servers with a command/],
    [{ url: 'http://a/', cwd: '/' }, ['cwd'], /servers with a command/],
    [{ command: 'a', headers: {} }, ['headers'], /servers with a url/],
    [{ command: 'a', disabled: 'no' }, ['disabled'], /expected boolean/],
    [{ command: 'a', env: { A: 1 } }, ['env', 'A'], /expected string/],
    [{ command: 'a', scope: '' }, ['scope'], /Too small/],
    [{ command: 'a', tools: 'all' }, ['tools'], /expected array/],
    [{ url: 'ftp://a/' }, ['url'], /Invalid URL/],
    [{ command: 'a', argz: [] }, [], /Unrecognized key: "argz"/],
  ] as const) {
    it(`refuses ${JSON.stringify(entry)}`, () => {
      const issues = McpServerConfigSchema.safeParse(entry).error?.issues ?? [];
      assert.equal(issues.length, 1);
      assert.deepEqual(issues[0]?.path, path);
      assert.match(issues[0]?.message ?? '', reason);
    });
  }
});
