import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LifecycleEvent } from '@hermes-fleet/protocol';
import { eventMaker } from '../../testing/events.ts';
import { readTaskEvent, type TaskEvent } from './event.ts';
import { projectTask, type TaskFacts } from './project-task.ts';

type Step = readonly [LifecycleEvent, Record<string, unknown>?];

/** The facts of a task of neo after these events, and the tokens that each of them books. */
function after(steps: readonly Step[], caller = 'operator'): { task: TaskFacts; booked: number[] } {
  const neo = eventMaker('neo');
  let task: TaskFacts | undefined;
  const booked: number[] = [];
  for (const [type, data] of steps) {
    const { event, subject } = neo(type, { id: 'a', caller }, data);
    const read = readTaskEvent(event, subject) as TaskEvent;
    const change = projectTask(task, read);
    task = change.task;
    if (change.booking) booked.push(change.booking.tokens);
  }
  assert.ok(task);
  return { task, booked };
}

const STATES: readonly (readonly [string, readonly Step[], string])[] = [
  ['accepted', [['submitted']], 'submitted'],
  ['admitted', [['submitted'], ['queued', { lane: 'own' }]], 'queued'],
  ['waiting', [['queued', { waiting: true, reason: 'mcp' }]], 'waiting'],
  ['set aside', [['started'], ['queued', { paused: true }]], 'paused'],
  ['running', [['started', { model: 'm', model_tier: 'haiku' }]], 'running'],
  ['asking', [['started'], ['input_required', { number: 1 }]], 'input_required'],
  ['answered', [['input_required'], ['answered']], 'queued'],
  ['resumed', [['started'], ['resumed']], 'running'],
  [
    'delegated',
    [
      ['queued', { waiting: true }],
      ['delegated', { peer: 'x' }],
    ],
    'running',
  ],
  [
    'an event of a part',
    [['input_required'], ['progress', { part: 'p', tool: 't', phase: 'started' }]],
    'input_required',
  ],
  [
    'an alert',
    [
      ['queued', { waiting: true }],
      ['alert', { reason: 'waiting_too_long' }],
    ],
    'waiting',
  ],
];
for (const [what, steps, state] of STATES)
  test(`a task is ${state} after: ${what}`, () => assert.equal(after(steps).task.state, state));

test('the end of a task is its last event, whatever comes later', () => {
  const ended = after([['started'], ['done', { tokens_spent: 5 }]]);
  for (const type of LifecycleEvent.options)
    assert.deepEqual(
      after([['started'], ['done', { tokens_spent: 5 }], [type, { tokens_spent: 9 }]]),
      ended,
      type,
    );
});

test('tokens are booked as they are spent, and corrected by the end', () => {
  const usage = { input_tokens: 8, output_tokens: 2 };
  const { task, booked } = after([
    ['started', { model: 'm', model_tier: 'haiku' }],
    ['progress', { step: 1, spent_tokens: 10, model: 'm', usage }],
    ['progress', { step: 2, spent_tokens: 20, model: 'm', usage }],
    [
      'done',
      {
        tokens_spent: 19,
        own_tokens: 17,
        delegated_tokens: 2,
        usage: { input_tokens: 13, output_tokens: 4 },
      },
    ],
  ]);
  assert.deepEqual(booked, [10, 10, -3]);
  const { ownTokens, delegatedTokens, spentTokens, counts, hasCounts } = task;
  assert.deepEqual(
    [ownTokens, delegatedTokens, spentTokens, counts.input, counts.output, hasCounts],
    [17, 2, 19, 13, 4, true],
  );
});

test('a task entered unless it has a parent', () => {
  const entered = (data: Record<string, unknown>, caller?: string) =>
    after([['submitted', data]], caller).task.entered;
  assert.equal(entered({ root_id: 'r', root_caller: 'operator' }), true);
  assert.equal(entered({ root_id: 'r' }, 'switch'), true);
  assert.equal(entered({ root_id: 'r', parent_task_id: 'r', parent_profile: 'switch' }, 'switch'), false);
});
