import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mcpPrefix, mcpToolName } from './mcp-names.ts';

test('names that every provider accepts are unchanged', () => {
  assert.equal(mcpToolName('files', 'read_text_file'), 'mcp__files__read_text_file');
  assert.equal(mcpToolName('context_mode', 'a-B_9'), 'mcp__context_mode__a-B_9');
});

test('other names become valid and stay distinct', () => {
  const names: [string, string][] = [
    ['files', 'read.file'],
    ['files', 'read/file'],
    ['files', 'x'.repeat(100)],
    ['files', `${'x'.repeat(99)}y`],
    ['a__b', 'c'],
    ['a', 'b__c'],
    ['a_', 'b'],
    ['a', '_b'],
    ['', 'b'],
    ['дом', 'b'],
    ['s'.repeat(80), 'b'],
  ];
  const safe = names.map(([server, tool]) => mcpToolName(server, tool));
  assert.equal(new Set(safe).size, names.length);
  for (const name of safe) assert.match(name, /^mcp__[a-zA-Z0-9_-]{1,59}$/);
});

test('any two tools have different names, and each name begins with the prefix of its server', () => {
  const part = fc.string({ unit: fc.constantFrom('a', '_', '-', '.', 'ü'), minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(part, part, part, part, (server, tool, otherServer, otherTool) => {
      const name = mcpToolName(server, tool);
      assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
      assert.equal(/^(mcp__.+?)__/.exec(name)?.[1], mcpPrefix(server));
      if (server === otherServer && tool === otherTool) return;
      assert.notEqual(name, mcpToolName(otherServer, otherTool));
    }),
  );
});
