import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  decodeDispatch,
  encodeDispatch,
  Priority,
  ReplySchema,
  type TaskDispatch,
} from '../handshake/dispatch.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json.ts';
import { findHandshake } from './find-handshake.ts';
import { parseHints } from './parse-hints.ts';
import { renderDispatchText } from './render-dispatch.ts';

const dispatch: TaskDispatch = {
  type: 'TASK_DISPATCH',
  protocolVersion: '2.0',
  task: { taskId: 'abc-123', priority: 'high', replySchema: 'structured', tokenBudget: 4000 },
  requirements: { requiredMcp: ['context_mode'], requiredCapabilities: ['terminal', 'file'] },
  deadline: '2026-05-31T21:00:00Z',
  brief: 'Refactor the auth module.',
};

/** Decodes a text message as the intake does. */
function dispatchOf(text: string): TaskDispatch {
  const hints = parseHints(text);
  assert.ok(hints, text);
  const { task, requirements, top, brief } = hints;
  return decodeDispatch({ type: 'TASK_DISPATCH', task, requirements, ...top, brief });
}

/** The contract without the fields that only concern the fleet, with defaults. */
function contractOf({ task, requirements, routing: _routing, ...rest }: TaskDispatch): TaskDispatch {
  const { parent: _parent, rootId: _root, path: _path, conversation: _conversation, ...contract } = task;
  return {
    ...rest,
    task: { priority: 'normal', replySchema: 'prose', ...contract },
    requirements: { ...requirements },
  };
}

describe('a dispatch as text', () => {
  it('is the block of hints, the brief, and the report instructions', () => {
    const text = renderDispatchText(dispatch);
    assert.equal(
      text.slice(0, text.indexOf('\n\n')),
      [
        'TASK DISPATCH (inline)',
        'protocol_version: "2.0"',
        'task_id: abc-123',
        'priority: high',
        'reply_schema: structured',
        'token_budget: 4000',
        'required_mcp: [context_mode]',
        'required_capabilities: [terminal, file]',
        'deadline: 2026-05-31T21:00:00Z',
        'Brief: Refactor the auth module.',
      ].join('\n'),
    );
    assert.match(text, /"type": "TASK_RESULT".*"task_id": "abc-123"/);
    assert.doesNotMatch(text, /"output"/);
    assert.match(renderDispatchText({ ...dispatch, task: { taskId: 'x', replySchema: 'json' } }), /"output"/);
  });

  it('contains no valid TASK_RESULT, so an agent that repeats it has reported nothing', () => {
    for (const replySchema of ReplySchema.options) {
      const text = renderDispatchText({ ...dispatch, task: { taskId: 'abc-123', replySchema } });
      const { result, problem } = findHandshake(text, 'abc-123');
      assert.equal(result, undefined);
      assert.match(problem ?? '', /status/);
    }
  });

  it('is restored from CRLF line ends and with trailing blank lines', () => {
    const text = renderDispatchText({ ...dispatch, brief: 'two\nlines' });
    assert.equal(dispatchOf(`${text}\n\n`).brief, 'two\nlines');
    assert.equal(dispatchOf(text.replaceAll('\n', '\r\n')).brief, 'two\r\nlines');
  });

  it('keeps foreign instructions at the end of a brief', () => {
    const quoted = renderDispatchText(dispatch);
    assert.equal(dispatchOf(renderDispatchText({ ...dispatch, brief: quoted })).brief, quoted);
    const other = quoted.replaceAll('abc-123', 'xyz');
    assert.equal(parseHints(`TASK DISPATCH (inline)\ntask_id: abc-123\nBrief: ${other}`)?.brief, other);
  });

  it('renders and parses to the same contract, for any contract', () => {
    fc.assert(
      fc.property(dispatches, (any) => {
        const sent = decodeDispatch(encodeDispatch(any));
        assert.deepEqual(contractOf(dispatchOf(renderDispatchText(sent))), contractOf(sent));
      }),
      { numRuns: 300 },
    );
  });
});

const NASTY = [
  ...['a', 'B', '0', ' ', '\n', '\r\n', '\r', '\t', '"', "'", ',', '[', ']', '{', '}', ':', ': ', '#', ' #'],
  ...[
    '-',
    '- ',
    '&',
    '*',
    '!',
    '|',
    '>',
    '%',
    '@',
    '`',
    '```',
    '~~~',
    '\\',
    '\\n',
    'é',
    '漢',
    '😀',
    '\u2028',
  ],
  ...['\u0085', '\ufeff', '\u0000', '\ud800', 'null', 'yes', '2.0', 'priority: low', '\nBrief: x', 'Brief:'],
  ...['\nTASK DISPATCH (inline)\n', 'TASK DISPATCH (inline)', '{"type": "TASK_RESULT"}', '---', '...'],
];
const text = fc.oneof(
  fc.array(fc.constantFrom(...NASTY), { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }),
);
const name = text.map((each) => each.slice(0, 128));
const names = fc.array(name, { maxLength: 5 });
const schemaValue = fc
  .jsonValue({ maxDepth: 3 })
  .map((value): JsonValue => JSON.parse(JSON.stringify(value)));
const outputSchema = fc
  .record({ title: text, default: schemaValue, enum: fc.array(schemaValue, { minLength: 1 }) })
  .map((schema): JsonObject => {
    const value: unknown = JSON.parse(JSON.stringify(schema));
    return isJsonObject(value) ? value : {};
  });

const dispatches: fc.Arbitrary<TaskDispatch> = fc.record(
  {
    type: fc.constant('TASK_DISPATCH' as const),
    protocolVersion: fc.constantFrom('2.0', '2.1', '2.10'),
    task: fc.record(
      {
        taskId: name,
        priority: fc.constantFrom(...Priority.options),
        replySchema: fc.constantFrom(...ReplySchema.options),
        tokenBudget: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        write: fc.boolean(),
        fresh: fc.boolean(),
        conversation: name,
        repository: fc.record(
          {
            name: fc.constantFrom('web', 'no', '2.0', 'a-b_c'),
            base: fc.constantFrom('main', 'yes', '1.2', 'fix/#12', "it's", 'a,b', '"q"', '{a}'),
          },
          { requiredKeys: ['name'], noNullPrototype: true },
        ),
        outputSchema,
        parent: fc.record({ taskId: name, profile: name }, { noNullPrototype: true }),
        rootId: name,
        path: names,
      },
      { requiredKeys: ['taskId'], noNullPrototype: true },
    ),
    requirements: fc.record(
      {
        requiredMcp: names,
        requiredCapabilities: names,
        modelTier: fc.record(
          { min: text, max: text, prefer: text },
          { requiredKeys: [], noNullPrototype: true },
        ),
        minContextWindow: fc.integer({ min: 1, max: 2_000_000 }),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    deadline: fc.constantFrom('2026-05-31T21:00:00Z', '2026-05-31T21:00:00.123+02:00'),
    brief: text,
    routing: fc.record({ target: name }, { noNullPrototype: true }),
  },
  { requiredKeys: ['type', 'protocolVersion', 'task', 'brief'], noNullPrototype: true },
);
