import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isTaskServer, McpServerConfigSchema } from './index.ts';

describe('McpServerConfigSchema', () => {
  for (const entry of [
    { command: 'npx', args: ['server'], env: { A: 'b' }, cwd: '/srv', disabled: true },
    { command: 'server', scope: 'profile' },
    { command: 'server', args: [`\${WORKSPACE}`], env: { A: `\${WORKSPACE}/a` }, scope: 'task' },
    { command: 'server', scope: 'task', caller_scope: 'trader:decide', tools: ['decide'] },
    { url: 'http://127.0.0.1:9000/mcp', scope: 'profile', caller_scope: 'read', tools: [] },
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
    [{ url: 'http://a/', headers: { Host: 'b' } }, ['headers', 'Host'], /Invalid key/],
    [{ command: 'a', disabled: 'no' }, ['disabled'], /expected boolean/],
    [{ command: 'a', env: { A: 1 } }, ['env', 'A'], /expected string/],
    [{ command: 'a', caller_scope: '' }, ['caller_scope'], /Too small/],
    [{ command: 'a', scope: '' }, ['scope'], /must be task or profile/],
    [{ command: 'a', scope: 'read' }, ['scope'], /must be task or profile.*caller_scope/],
    [{ url: 'http://a/', scope: 'task' }, ['scope'], /servers with a command/],
    [
      { command: 'a', scope: 'profile', args: ['x', `\${WORKSPACE}`] },
      ['args', 1],
      /only a server of scope: task/,
    ],
    [
      { command: 'a', scope: 'profile', env: { A: `x\${WORKSPACE}` } },
      ['env', 'A'],
      /only a server of scope: task/,
    ],
    [{ command: 'a', scope: 'profile', cwd: `\${WORKSPACE}` }, ['cwd'], /only a server of scope: task/],
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

  it('gives a server without a scope one instance for each context', () => {
    assert.ok(isTaskServer(McpServerConfigSchema.parse({ command: 'server' })));
    assert.equal(isTaskServer(McpServerConfigSchema.parse({ url: 'http://127.0.0.1:9000/mcp' })), false);
  });
});
