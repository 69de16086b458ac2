import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { defineTool, type ToolCall, ToolError, toolParameters } from './tool.ts';

const call = (signal = new AbortController().signal): ToolCall => ({
  task: {
    id: 't',
    contextId: 'c',
    caller: { name: 'tester', scopes: new Set() },
    dispatch: { type: 'TASK_DISPATCH', protocolVersion: '2.0', task: { taskId: 't' }, brief: 'b' },
    deadlineAt: undefined,
    parts: [],
    resumes: 0,
  },
  key: '1.0',
  signal,
  stopping: new AbortController().signal,
  budget: {
    limit: undefined,
    spent: () => 0,
    remaining: () => Number.POSITIVE_INFINITY,
    reserve: () => assert.fail('spends nothing'),
    addDelegated: () => assert.fail('spends nothing'),
    delegatedTo: () => assert.fail('spends nothing'),
    usage: () => assert.fail('spends nothing'),
  },
  reportEvent: async () => {},
  park: (wait) => wait(),
  ask: () => assert.fail('asks nobody'),
  memo: { load: () => undefined, save: async () => {} },
});

const half = defineTool({
  name: 'half',
  description: 'Half of an even number.',
  mutates: false,
  inputSchema: z.strictObject({ of: z.int().describe('even') }),
  async run({ of }) {
    if (of % 2 === 1) throw new ToolError(`${of} is odd; give an even number`);
    if (of === 0) throw new RangeError('unforeseen');
    return { ok: true, output: of / 2 };
  },
});

test('a tool runs on valid input, and reports invalid input', async () => {
  assert.deepEqual(await half.run({ of: 4 }, call()), { ok: true, output: 2 });
  for (const wrong of [{}, { of: 'four' }, { or: 4 }, { of: null }, { of: [4] }, null, undefined, 'x', 4]) {
    const { ok, output } = await half.run(wrong, call());
    assert.equal(ok, false);
    assert.match(String(output), /^wrong input: /);
  }
});

test('a change is refused when every parameter given is unknown, and by a strict tool when any is', async () => {
  const make = (isStrict: boolean) =>
    defineTool({
      name: 'keep',
      description: '',
      mutates: true,
      isStrict,
      inputSchema: z.strictObject({ what: z.string().optional() }),
      run: async ({ what = 'nothing' }) => ({ ok: true, output: what }),
    });
  const said = async (isStrict: boolean, input: unknown) => (await make(isStrict).run(input, call())).output;
  assert.equal(await said(false, {}), 'nothing');
  assert.equal(await said(false, { what: 'a', why: 'b' }), 'a\n(input: unknown and ignored: why)');
  assert.equal(await said(false, { that: 'a' }), 'wrong input: unknown and ignored: that');
  assert.match(String(await said(true, { what: 'a', why: 'b' })), /^wrong input: .*why/);
});

test('a foreseen failure is a result; an unforeseen one and an abort are thrown', async () => {
  assert.deepEqual(await half.run({ of: 3 }, call()), { ok: false, output: '3 is odd; give an even number' });
  await assert.rejects(half.run({ of: 0 }, call()), RangeError);
  const reason = new Error('over');
  await assert.rejects(half.run({ of: 4 }, call(AbortSignal.abort(reason))), reason);
});

test('a tool without mutations is repeatable by default', () => {
  const make = (mutates: boolean, repeatable?: boolean) =>
    defineTool({
      name: 'x',
      description: '',
      inputSchema: z.strictObject({}),
      mutates,
      ...(repeatable === undefined ? {} : { repeatable }),
      run: async () => ({ ok: true, output: null }),
    }).repeatable;
  assert.deepEqual(
    [make(false), make(true), make(true, true), make(false, false)],
    [true, false, true, false],
  );
});

test('the schema for a model omits the dialect and meaningless bounds', () => {
  assert.deepEqual(half.parameters, {
    type: 'object',
    properties: { of: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, description: 'even' } },
    required: ['of'],
    additionalProperties: false,
  });
  const withDefault = toolParameters(z.strictObject({ n: z.int().min(1).max(5).default(2) }));
  assert.deepEqual(withDefault, {
    type: 'object',
    properties: { n: { type: 'integer', default: 2, minimum: 1, maximum: 5 } },
    additionalProperties: false,
  });
});
