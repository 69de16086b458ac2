import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command as ParserNode } from 'commander';
import { flag, usage } from './command.ts';
import { attach } from './parse.ts';

test('an option that begins with no- is there when it is given, and not otherwise', async () => {
  const found: unknown[] = [];
  for (const args of [[], ['--no-open']]) {
    const node = new ParserNode('console');
    attach(
      node,
      usage('console', 'open', { options: { 'no-open': flag('open nothing') } }),
      async (parse) => {
        found.push(parse().values);
      },
    );
    await node.parseAsync(args, { from: 'user' });
  }
  assert.deepEqual(found, [{}, { 'no-open': true }]);
});
