import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfigSchema } from '../config/config-yaml.ts';
import { matchHosts, parseTarget } from './allowed-hosts.ts';

const match = (allow: string[], authority: string, allowInternal: string[] = []) => {
  const target = parseTarget(authority);
  return target === undefined ? 'no target' : matchHosts({ allow, allowInternal })(target);
};

test('an entry names a host with the ports of the web, or with its own port, or what is below a domain', () => {
  const allow = [
    'packages.example.org',
    'Git.Example:8443',
    '*.pythonhosted.org',
    '192.0.2.7',
    '[2001:db8::1]',
  ];
  for (const authority of [
    ...[
      'packages.example.org:443',
      'packages.example.org:80',
      'PACKAGES.example.org.:443',
      'git.example:8443',
    ],
    ...['files.pythonhosted.org:443', 'a.b.pythonhosted.org:80', '192.0.2.7:443', '[2001:DB8:0::1]:443'],
  ])
    assert.equal(match(allow, authority), 'public', authority);
  for (const authority of [
    ...['packages.example.org:22', 'git.example:443', 'pythonhosted.org:443', 'evilpythonhosted.org:443'],
    ...['packages.example.org.evil.example:443', 'example.org:443', '192.0.2.8:443', '[2001:db8::2]:443'],
  ])
    assert.equal(match(allow, authority), undefined, authority);
});

test('every notation of an address is that address, and what is no host and port is no target', () => {
  for (const authority of ['127.1:80', '0x7f.0.0.1:80', '2130706433:80', '127.0.0.1:80'])
    assert.equal(match([], authority, ['127.0.0.1']), 'internal', authority);
  for (const authority of [
    '',
    'a',
    'a:',
    'a:0',
    'a:65536',
    ':80',
    'a:80/x',
    'u@a:80',
    'a b:80',
    '::1:80',
    '[::1]',
  ])
    assert.equal(match(['a', '*.a'], authority), 'no target', authority);
});

test('config.yaml takes hosts, and says what an entry may be', () => {
  const parse = (network: object) => {
    const parsed = AgentConfigSchema.safeParse({ tools: { shell: { network } } });
    return parsed.success ? parsed.data.tools.shell.network : JSON.stringify(parsed.error.issues);
  };
  const allow = ['a.example', 'b.example:8443', '*.c.example', '[::1]:80'];
  assert.deepEqual(parse({ allow }), { allow, allow_internal: [] });
  assert.deepEqual(parse({ allow_internal: ['npm.corp'] }), { allow: [], allow_internal: ['npm.corp'] });
  for (const entry of [
    '',
    '*',
    'https://a.example',
    'a.example/x',
    'a.example:0',
    '*.10.0.0.1',
    'a b',
    '*.*.a',
  ])
    assert.match(String(parse({ allow: [entry] })), /must be host, host:port, \*\.domain/, entry);
  assert.match(String(parse({ allow: [] })), /names no host; name one, or use none/);
  assert.match(String(parse({ alow: ['a'] })), /alow/);
});
