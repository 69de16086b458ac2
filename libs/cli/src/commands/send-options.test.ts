import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openTerminal } from '../../../../test/support/terminal.ts';
import { objectAt, objectsAt } from '../client/fields.ts';
import { fleet, profileStub, type Stub } from '../testing/profile-stub.ts';

const MAIN = resolve(import.meta.dirname, '../main.ts');
const TASK = { id: 't-1', contextId: 'c-1', status: { state: 'TASK_STATE_WORKING' } };

/** A switch that accepts every task. */
const accepting = (t: TestContext): Promise<Stub> =>
  profileStub(t, { '/jsonrpc': { body: { jsonrpc: '2.0', id: 1, result: { task: TASK } } } });

const reach = ({ dir, url }: Stub): string[] => ['--detach', '--dir', dir, '--reach', `switch=${url}`];

/** The message that came last, and the TASK_DISPATCH in it. */
function lastSent({ asked }: Stub) {
  const message = objectAt(objectAt(asked.at(-1)?.body ?? {}, 'params'), 'message');
  const parts = objectsAt(message, 'parts');
  return { message, parts, dispatch: objectAt(parts[0] ?? {}, 'data') };
}

test('the options of send are the contract, the files and the context of the message', async (t) => {
  const stub = await accepting(t);
  const [csv, schema] = [join(stub.dir, 'report.csv'), join(stub.dir, 'schema.json')];
  writeFileSync(csv, 'a,b');
  writeFileSync(schema, '{"type":"object"}');
  const contract = [
    '--budget',
    '40000',
    '--priority',
    'high',
    '--mcp',
    'memory,filesystem',
    '--capability',
    'shell_exec',
  ];
  const more = [
    '--tier-min',
    'sonnet',
    '--to',
    'neo',
    '--task-id',
    'mine',
    '--read-only',
    '--deadline',
    '2030-01-01T00:00:00Z',
  ];
  const given = [...contract, ...more, '--file', csv, '--schema', schema, '--context', 'c-1'];
  const { code, stdout, stderr } = await fleet(['send', 'Sum it up', ...given, ...reach(stub)]);
  assert.deepEqual([code, stdout], [0, 'task t-1 in context c-1\nto see it: fleet watch t-1\n'], stderr);
  const { message, parts, dispatch } = lastSent(stub);
  assert.equal(message.contextId, 'c-1');
  assert.deepEqual(parts.slice(1), [
    { raw: Buffer.from('a,b').toString('base64'), filename: 'report.csv', mediaType: 'text/csv' },
  ]);
  assert.deepEqual(dispatch, {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: {
      task_id: 'mine',
      priority: 'high',
      token_budget: 40_000,
      write: false,
      reply_schema: 'json',
      output_schema: { type: 'object' },
    },
    requirements: {
      required_mcp: ['memory', 'filesystem'],
      required_capabilities: ['shell_exec'],
      model_tier: { min: 'sonnet' },
    },
    deadline: '2030-01-01T00:00:00.000Z',
    brief: 'Sum it up',
    routing: { target: 'neo' },
  });
});

test('without a brief, an editor opens on a terminal, and its text is the brief', async (t) => {
  const stub = await accepting(t);
  const open = (editor: NodeJS.ProcessEnv) =>
    openTerminal(t, [process.execPath, MAIN, 'send', ...reach(stub)], {
      ...process.env,
      VISUAL: '',
      EDITOR: '',
      ...editor,
    });
  const written = open({ EDITOR: "printf 'Fix the test' >" });
  assert.equal(await written.ended, 0, written.screen());
  assert.equal(lastSent(stub).dispatch.brief, 'Fix the test');
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
