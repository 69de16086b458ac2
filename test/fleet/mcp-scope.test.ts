import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { shell, tool } from '../support/agent-work.ts';
import { startFleet } from '../support/fleet.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

test("others' files read and overwritten: the shipped filesystem server finds nothing of another context", {
  timeout: 280_000,
}, async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo'], { mcpServers: ['filesystem'] });
  const neo = fleet.target('neo');
  const run = async (brief: string) => {
    const requirements = { required_mcp: ['filesystem'] };
    const { body } = await call(neo, 'SendMessage', message(dispatch({ brief, requirements })));
    return resultOf(body.result.task);
  };
  const victim = await run(runbook('secret.txt', 'the victim knows', 'pwd'));
  assert.equal(victim.status, 'done', JSON.stringify(victim));
  const tree = /^ +(\/.*)$/m.exec(victim.text)?.[1] ?? assert.fail(victim.text);
  const secret = join(tree, 'secret.txt');
  const workspace = join(fleet.dir, 'workspaces/neo');

  const own = await run(
    [
      tool('mcp__filesystem__write_file', { path: 'own.txt', content: 'ordinary work' }),
      shell('cat own.txt'),
    ].join('\n\n'),
  );
  assert.equal(own.status, 'done', JSON.stringify(own));
  assert.deepEqual(own.artifacts.files_changed, ['own.txt']);

  for (const [name, input] of [
    ['read_text_file', { path: secret }],
    ['write_file', { path: secret, content: 'rewritten' }],
    ['edit_file', { path: secret, edits: [{ oldText: 'knows', newText: 'forgets' }] }],
    ['list_directory', { path: dirname(tree) }],
    ['search_files', { path: workspace, pattern: '**/secret*' }],
    ['directory_tree', { path: workspace }],
    ['write_file', { path: join(workspace, 'repo/.git/hooks/pre-commit'), content: 'planted' }],
    ['write_file', { path: join(workspace, 'mcp/memory.jsonl'), content: 'planted' }],
  ] as const) {
    const attack = await run(tool(`mcp__filesystem__${name}`, input));
    assert.match(attack.text, new RegExp(`called mcp__filesystem__${name}: failed`), JSON.stringify(attack));
    assert.doesNotMatch(attack.text, /the victim knows/);
  }
  assert.equal(readFileSync(secret, 'utf8').trim(), 'the victim knows');
  const { body } = await call(
    neo,
    'SendMessage',
    message(dispatch({ brief: runbook('on.txt', 'x', 'cat on.txt') })),
  );
  assert.equal(resultOf(body.result.task).status, 'done');
});
