import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { openTerminal } from '../../../../test/support/terminal.ts';
import { profileStub } from '../../testing/profile-stub.ts';

const MAIN = resolve(import.meta.dirname, '../main.ts');
const TASK = { id: 't-1', contextId: 'c-1', status: { state: 'TASK_STATE_WORKING' } };

test('without a brief, an editor opens on a terminal, and its text is the brief', async (t) => {
  const answer = { jsonrpc: '2.0', id: 1, result: { task: TASK } };
  const stub = await profileStub(t, { '/jsonrpc': { body: answer } });
  const at = ['--detach', '--dir', stub.dir, '--reach', `switch=${stub.url}`];
  const open = (editor: NodeJS.ProcessEnv) =>
    openTerminal(t, [process.execPath, MAIN, 'send', ...at], {
      ...process.env,
      VISUAL: '',
      EDITOR: '',
      ...editor,
    });
  const written = open({ EDITOR: "printf 'Fix the test' >" });
  assert.equal(await written.ended, 0, written.screen());
  const { params } = JSON.parse(stub.asked.at(-1)?.text ?? '');
  assert.equal(params.message.parts[0].data.brief, 'Fix the test');
  const calls = stub.asked.length;
  for (const [editor, says] of [
    [{ EDITOR: 'true' }, /the brief is empty: nothing was sent/],
    [{ VISUAL: 'false', EDITOR: 'true' }, /the editor ended with 1: nothing was sent/],
    [{}, /send takes a brief, - for stdin, or a variable EDITOR/],
  ] as const) {
    const refused = open(editor);
    assert.equal(await refused.ended, 2, refused.screen());
    assert.match(refused.screen(), says);
  }
  assert.equal(stub.asked.length, calls);
});
