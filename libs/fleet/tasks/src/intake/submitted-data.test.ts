import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { readDispatch } from '@hermes-fleet/protocol/handshake';
import { submittedData } from './submitted-data.ts';

const data = (wire: JsonObject): JsonObject => {
  const base = { type: 'TASK_DISPATCH', protocol_version: '2.0', brief: 'CANARY-brief' };
  const task = isJsonObject(wire.task) ? wire.task : {};
  return submittedData(readDispatch({ ...base, ...wire, task: { task_id: 'k', ...task } }, ['2.0']));
};

it('the event of a submitted task says what its contract asks for', () => {
  assert.deepEqual(data({}), {
    priority: 'normal',
    budget_tokens: null,
    deadline: null,
    write: true,
    target: null,
    repository: null,
    required_mcp: [],
    required_capabilities: [],
    min_tier: null,
    min_context_window: null,
    reply_schema: null,
    on_blocked: null,
  });
  const whole = data({
    task: {
      priority: 'urgent',
      token_budget: 900,
      write: false,
      repository: { name: 'web', base: 'release/1.2', x_note: 'CANARY-field' },
      reply_schema: 'structured',
      x_note: 'CANARY-field',
    },
    deadline: '2026-05-31T21:00:00Z',
    requirements: {
      required_mcp: ['memory'],
      required_capabilities: ['file'],
      model_tier: { min: 'sonnet' },
      min_context_window: 32_000,
    },
    routing: { target: 'neo', on_blocked: 'fail' },
  });
  assert.deepEqual(whole, {
    priority: 'urgent',
    budget_tokens: 900,
    deadline: '2026-05-31T21:00:00Z',
    write: false,
    target: 'neo',
    repository: { name: 'web', base: 'release/1.2' },
    required_mcp: ['memory'],
    required_capabilities: ['file', 'repository:web'],
    min_tier: 'sonnet',
    min_context_window: 32_000,
    reply_schema: 'structured',
    on_blocked: 'fail',
  });
  assert.doesNotMatch(JSON.stringify(whole), /CANARY/);
  assert.deepEqual(data({ task: { repository: { name: 'web' } } }).repository, { name: 'web', base: null });
  const bundle = { bundle: 'ab'.repeat(32), base: 'c0'.repeat(20) };
  assert.deepEqual(data({ task: { repository: { ...bundle, token: 'CANARY-token' } } }).repository, {
    name: null,
    ...bundle,
  });
});

it('its names are bounded, and a dispatch of another version says nothing', () => {
  const many = Array.from({ length: 100 }, () => 'x'.repeat(5_000));
  const long = data({ requirements: { required_mcp: many, model_tier: { min: many.join('') } } });
  assert.ok(JSON.stringify(long).length < 3_000);
  assert.deepEqual(data({ protocol_version: '9.0' }), {});
});
