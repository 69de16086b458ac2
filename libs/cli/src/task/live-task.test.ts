import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_METADATA, type PeerTask } from '@hermes-fleet/a2a/client';
import type { JsonObject } from '@hermes-fleet/protocol';
import { duration, type LiveTask, lineOf, nextView } from './live-task.ts';

const task = (state: string, event?: JsonObject): PeerTask => ({
  id: 't-1',
  contextId: 'c-1',
  state,
  terminal: false,
  text: '',
  statusText: '',
  data: [],
  artifacts: [],
  metadata: {},
  ...(event === undefined ? {} : { updateMetadata: { [EVENT_METADATA]: event } }),
});

const event = (type: string, data: JsonObject): JsonObject => ({ seq: 1, type, data });

/** The lines of a view after each update, 12 s after its start. */
function linesOf(
  updates: readonly PeerTask[],
  options: { deadlineMs?: number; width?: number } = {},
): string[] {
  let view: LiveTask | undefined;
  return updates.map((each) => {
    view = nextView(view, each);
    return lineOf(view, { elapsedMs: 12_000, width: 120, colours: false, ...options });
  });
}

test('the events of a task become lines: state, peer, tool, tokens against budget, time against deadline', () => {
  const updates = [
    task('submitted'),
    task('working', event('queued', { waiting: true, reason: 'capacity' })),
    task('working', event('queued', { waiting: true, reason: 'repo', detail: 'neo: working tree is dirty' })),
    task('working', event('delegated', { peer: 'neo', attempt: 1 })),
    task('working', event('rerouted', { from: 'neo', to: 'trinity' })),
    task('working', event('progress', { spent_tokens: 1000, budget_tokens: 4000 })),
    task('working', event('progress', { tool: 'shell_exec', phase: 'started', spent_tokens: 2000 })),
    task('working', event('progress', { tool: 'shell_exec', phase: 'ended', spent_tokens: 9000 })),
    task('working', event('progress', { part: 'p-1', tool: 'other', spent_tokens: 1 })),
    task('completed', event('done', { tokens_spent: 3000 })),
  ];
  assert.deepEqual(linesOf(updates, { deadlineMs: 600_000 }), [
    'submitted   12 s of 10 min',
    'working     waits for capacity  12 s of 10 min',
    'working     waits for repo: neo: working tree is dirty  12 s of 10 min',
    'working     at neo  12 s of 10 min',
    'working     at trinity  12 s of 10 min',
    'working     at trinity  ███░░░░░░░ 1000/4000 tokens  12 s of 10 min',
    'working     at trinity  shell_exec  █████░░░░░ 2000/4000 tokens  12 s of 10 min',
    'working     at trinity  ██████████ 9000/4000 tokens  12 s of 10 min',
    'working     at trinity  ██████████ 9000/4000 tokens  12 s of 10 min',
    'completed   at trinity  ████████░░ 3000/4000 tokens  12 s of 10 min',
  ]);
});

test('a relayed task shows the tool and the tokens of its worker, until another worker has it', () => {
  const said = { peer: 'neo', tool: 'terminal', phase: 'started', spent_tokens: 40, budget_tokens: 400 };
  const updates = [
    task('working', event('delegated', { peer: 'neo' })),
    task('working', event('progress', said)),
    task('working', event('rerouted', { from: 'neo', to: 'trinity' })),
  ];
  assert.deepEqual(linesOf(updates), [
    'working     at neo  12 s',
    'working     at neo  terminal  █░░░░░░░░░ 40/400 tokens  12 s',
    'working     at trinity  █░░░░░░░░░ 40/400 tokens  12 s',
  ]);
});

test('odd events and odd text change nothing and stay on their line', () => {
  const odd = [
    task('wor\u001b[2Jking'),
    task('working', { type: 'progress' }),
    task('working', event('progress', { tool: 7, spent_tokens: 'many', budget_tokens: -4 })),
    task('working', event('later version', { peer: 'x' })),
    task('working', event('delegated', { peer: 'n\r\neo' })),
  ];
  assert.deepEqual(linesOf(odd), [
    'wor\ufffd[2Jking  12 s',
    'working     12 s',
    'working     12 s',
    'working     12 s',
    'working     at n\ufffd\ufffdeo  12 s',
  ]);
});

test('a line is never wider than its terminal, with and without colours', () => {
  const view: LiveTask = { id: 't', contextId: 'c', state: 'working', spent: 0, tool: 'x'.repeat(200) };
  const options = { elapsedMs: 0, width: 40 };
  assert.equal(lineOf(view, { ...options, colours: false }).length, 39);
  const coloured = lineOf(view, { ...options, colours: true });
  assert.ok(coloured.startsWith('\u001b[36mworking   \u001b[0m  x'));
  assert.equal(coloured.length, 39 + '\u001b[36m\u001b[0m'.length);
});

test('a duration has its two largest units', () => {
  const seconds = [0, 59.4, 60, 61, 3600, 3660, 90_000];
  assert.deepEqual(
    seconds.map((s) => duration(s * 1000)),
    ['0 s', '59 s', '1 min', '1 min 1 s', '1 h', '1 h 1 min', '25 h'],
  );
});
