import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_METADATA } from '@hermes-fleet/a2a';
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { createPassProgress } from './pass-progress.ts';

function setUp() {
  const clock = manualClock();
  const told: JsonValue[] = [];
  const ending = new AbortController();
  const report = (event: RunEvent): void =>
    void told.push(event.type === 'progress' ? event.data : event.type);
  const progress = createPassProgress({ clock, signal: ending.signal, report, peer: 'neo' });
  const says = (data: JsonValue, state = 'working', type = 'progress'): void =>
    progress.observe({ state, updateMetadata: { [EVENT_METADATA]: { seq: 1, type, data } } });
  return { clock, told, ending, progress, says };
}

test('the latest of a second is reported, at most once a second, with the name of the peer', () => {
  const { clock, told, says } = setUp();
  says({ step: 1, tool: 'terminal', phase: 'started', spent_tokens: 10, budget_tokens: 900 });
  says({ step: 1, tool: 'terminal', phase: 'ended', ok: true, duration_ms: 3, spent_tokens: 10 });
  says({ step: 2, spent_tokens: 25, budget_tokens: 900, peer: 'someone' });
  clock.advance(999);
  assert.deepEqual(told, []);
  clock.advance(1);
  const first = { peer: 'neo', tool: 'terminal', phase: 'ended', spent_tokens: 25, budget_tokens: 900 };
  assert.deepEqual(told, [first]);
  clock.advance(5_000);
  assert.deepEqual(told, [first], 'nothing new');
  says({ tool: 'mcp__memory__read', phase: 'started' });
  clock.advance(999);
  assert.equal(told.length, 1);
  says({ spent_tokens: 30, budget_tokens: null });
  clock.advance(1);
  assert.deepEqual(told.slice(1), [
    { peer: 'neo', tool: 'mcp__memory__read', phase: 'started', spent_tokens: 30, budget_tokens: null },
  ]);
  says({ spent_tokens: 31 });
  clock.advance(1_000);
  assert.deepEqual(
    told.slice(2),
    [{ peer: 'neo', spent_tokens: 31 }],
    'and what was reported is not repeated',
  );
});

test('nothing is reported after the end and after an abort, and no timer is left', () => {
  const one = setUp();
  one.says({ spent_tokens: 1 });
  one.progress[Symbol.dispose]();
  assert.equal(one.clock.timers, 0);
  const other = setUp();
  other.says({ spent_tokens: 1 });
  other.ending.abort();
  for (const { clock, told } of [one, other]) {
    clock.advance(1_000);
    assert.deepEqual(told, []);
    assert.equal(clock.timers, 0);
  }
});

test('what is known of a task is told before it waits for its caller, and nothing while it does', () => {
  const { clock, told, says } = setUp();
  says({ tool: 'terminal', phase: 'ended', spent_tokens: 7 });
  says({ number: 1 }, 'input_required', 'input_required');
  assert.equal(clock.timers, 0);
  const before = { peer: 'neo', tool: 'terminal', phase: 'ended', spent_tokens: 7 };
  assert.deepEqual(told, [before]);
  says({ number: 1 }, 'input_required', 'input_required');
  clock.advance(60_000);
  assert.deepEqual(told, [before]);
  says({ spent_tokens: 8 });
  clock.advance(1_000);
  assert.deepEqual(told, [before, { peer: 'neo', spent_tokens: 8 }]);
  says({ spent_tokens: 9 }, 'completed');
  assert.equal(clock.timers, 0);
});

test('a sub-agent tells its tool, and not its tokens, which are not those of the task', () => {
  const { clock, told, says } = setUp();
  says({ agent: 'reviewer', tool: 'read', phase: 'started', spent_tokens: 5, budget_tokens: 50 });
  clock.advance(1_000);
  assert.deepEqual(told, [{ peer: 'neo', tool: 'read', phase: 'started' }]);
});

test('what is not valid is not passed on', () => {
  const { clock, told, says, progress } = setUp();
  const invalid: JsonObject[] = [
    { tool: 'the secret is 42', phase: 'started' },
    { tool: 'a\u001b[2J', phase: 'started' },
    { tool: 'x'.repeat(129), phase: 'started' },
    { tool: '', phase: 'started' },
    { tool: 7, phase: 'started' },
    { tool: 'terminal', phase: 'dancing' },
    { tool: 'terminal' },
    { phase: 'ended' },
    { spent_tokens: -1 },
    { spent_tokens: 1.5 },
    { spent_tokens: 1e300 },
    { spent_tokens: '9' },
    { spent_tokens: null },
    { spent_tokens: 5, budget_tokens: -4 },
    { spent_tokens: 5, budget_tokens: 'all' },
    { part: 'p-1', tool: 'terminal', phase: 'started', spent_tokens: 5 },
    { state: 'working', text: 'x', output: 'y' },
  ];
  for (const data of invalid) says(data);
  says([]);
  says(null);
  says({ tool: 'terminal', phase: 'started' }, 'working', 'text');
  const odd: (JsonObject | undefined)[] = [
    undefined,
    {},
    { [EVENT_METADATA]: 'x' },
    { [EVENT_METADATA]: [] },
  ];
  for (const updateMetadata of odd) progress.observe({ state: 'working', updateMetadata });
  assert.equal(clock.timers, 0);
  says({ tool: 'terminal', phase: 'started', text: 'x', input: { a: 1 }, output: 'y', ok: true });
  clock.advance(1_000);
  assert.deepEqual(told, [{ peer: 'neo', tool: 'terminal', phase: 'started' }]);
});
