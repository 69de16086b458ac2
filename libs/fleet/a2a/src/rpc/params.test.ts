import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../../testing/script.ts';
import { at, serve } from '../../testing/serve.ts';

interface FieldCase {
  readonly method: string;
  readonly params: object;
  readonly fields: readonly string[];
}

const part = { text: 'x' };
const sent = (more: object): object => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [part], ...more },
});

/** One more than a request may have. */
const MANY_MODES = Array(65).fill('text/plain');
const WRONG_MODES = Array(65).fill(1);
const LONG_MODE = `text/${'x'.repeat(252)}`;
const LEGACY_MESSAGE = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] };

const FIELDS: readonly FieldCase[] = [
  { method: 'SendMessage', params: {}, fields: ['message'] },
  { method: 'SendMessage', params: sent({ messageId: {} }), fields: ['message.messageId'] },
  { method: 'SendMessage', params: sent({ messageId: '' }), fields: ['message.messageId'] },
  { method: 'SendMessage', params: sent({ role: 'boss' }), fields: ['message.role'] },
  { method: 'SendMessage', params: sent({ parts: [] }), fields: ['message.parts'] },
  { method: 'SendMessage', params: sent({ parts: [{}] }), fields: ['message.parts[0]'] },
  {
    method: 'SendMessage',
    params: sent({ parts: [part, { text: 'x', data: {} }] }),
    fields: ['message.parts[1]'],
  },
  { method: 'SendMessage', params: sent({ parts: [{ text: 5 }] }), fields: ['message.parts[0].text'] },
  {
    method: 'SendMessage',
    params: sent({ contextId: 5, taskId: [] }),
    fields: ['message.contextId', 'message.taskId'],
  },
  {
    method: 'SendMessage',
    params: { ...sent({}), configuration: { returnImmediately: 'false' } },
    fields: ['configuration.returnImmediately'],
  },
  {
    method: 'SendMessage',
    params: { ...sent({}), configuration: { history_length: -1 } },
    fields: ['configuration.historyLength'],
  },
  {
    method: 'SendMessage',
    params: { ...sent({}), configuration: { acceptedOutputModes: [LONG_MODE] } },
    fields: ['configuration.acceptedOutputModes[0]'],
  },
  {
    method: 'SendStreamingMessage',
    params: { ...sent({}), configuration: { acceptedOutputModes: MANY_MODES } },
    fields: ['configuration.acceptedOutputModes'],
  },
  {
    method: 'message/send',
    params: { message: LEGACY_MESSAGE, configuration: { acceptedOutputModes: [LONG_MODE] } },
    fields: ['configuration.acceptedOutputModes[0]'],
  },
  {
    method: 'message/stream',
    params: { message: LEGACY_MESSAGE, configuration: { acceptedOutputModes: MANY_MODES } },
    fields: ['configuration.acceptedOutputModes'],
  },
  {
    method: 'SendMessage',
    params: { ...sent({}), configuration: { acceptedOutputModes: WRONG_MODES } },
    fields: ['configuration.acceptedOutputModes'],
  },
  { method: 'SendMessage', params: { ...sent({}), tenant: 'acme' }, fields: ['tenant'] },
  { method: 'GetTask', params: { id: 'x', tenant: 'acme' }, fields: ['tenant'] },
  { method: 'ListTasks', params: { tenant: 'acme' }, fields: ['tenant'] },
  { method: 'CancelTask', params: { id: 'x', tenant: 'acme' }, fields: ['tenant'] },
  { method: 'SubscribeToTask', params: { id: 'x', tenant: 'acme' }, fields: ['tenant'] },
  { method: 'GetExtendedAgentCard', params: { tenant: 'acme' }, fields: ['tenant'] },
  { method: 'SendStreamingMessage', params: sent({ parts: 'x' }), fields: ['message.parts'] },
  { method: 'GetTask', params: {}, fields: ['id'] },
  { method: 'GetTask', params: { id: '' }, fields: ['id'] },
  { method: 'GetTask', params: { id: 'x', historyLength: '3' }, fields: ['historyLength'] },
  { method: 'ListTasks', params: { pageSize: 0 }, fields: ['pageSize'] },
  { method: 'ListTasks', params: { pageSize: 101 }, fields: ['pageSize'] },
  { method: 'ListTasks', params: { status: 'RUNNING' }, fields: ['status'] },
  { method: 'ListTasks', params: { statusTimestampAfter: 'yesterday' }, fields: ['statusTimestampAfter'] },
  { method: 'ListTasks', params: { pageToken: 'nonsense' }, fields: ['page_token'] },
  {
    method: 'message/send',
    params: { message: { messageId: 'm', role: 'user', parts: [{ kind: 'odd' }] } },
    fields: ['message.parts[0].kind'],
  },
  { method: 'tasks/get', params: { id: 5 }, fields: ['id'] },
];

test('invalid parameters are -32602 with an ErrorInfo and one field violation each', async (t) => {
  const served = await serve(t);
  for (const { method, params, fields } of FIELDS) {
    const { status, body } = await served.post({ jsonrpc: '2.0', id: 1, method, params });
    const label = `${method} ${JSON.stringify(params)}`;
    assert.deepEqual([status, at(body, 'error', 'code')], [200, -32602], label);
    assert.equal(at(body, 'error', 'data', 0, 'reason'), 'INVALID_PARAMS', label);
    assert.equal(at(body, 'error', 'data', 1, '@type'), 'type.googleapis.com/google.rpc.BadRequest', label);
    const violations = at(body, 'error', 'data', 1, 'fieldViolations');
    assert.ok(Array.isArray(violations), label);
    assert.deepEqual(
      violations.map((violation) => at(violation, 'field')),
      fields,
      label,
    );
    assert.ok(
      violations.every((violation) => String(at(violation, 'description')).length > 0),
      label,
    );
  }
  assert.equal(served.ledger.list({ pageSize: 10 }).totalSize, 0);
});

test('a long list of wrong fields is cut, and the error says how many more there are', async (t) => {
  const served = await serve(t);
  const { text, body } = await served.post({
    ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
    params: sent({ parts: Array(50_000).fill({ text: 5 }) }),
  });
  const violations = at(body, 'error', 'data', 1, 'fieldViolations');
  assert.ok(Array.isArray(violations), text.slice(0, 1_000));
  assert.deepEqual([violations.length, at(violations, 19, 'field')], [20, 'message.parts[19].text']);
  assert.match(String(at(body, 'error', 'message')), /message\.parts\[19\]\.text: [^;]+; and 49980 more$/);
  assert.ok(text.length < 8_192, `${text.length} characters`);
});

test('64 accepted output modes of 256 characters are accepted', async (t) => {
  const served = await serve(t, { script: (id) => finish(served.ledger, id) });
  const acceptedOutputModes = [...MANY_MODES.slice(2), LONG_MODE.slice(0, 256)];
  const configuration = { acceptedOutputModes };
  const { body } = await served.rpc('SendMessage', { ...sent({}), configuration });
  assert.equal(at(body, 'result', 'task', 'status', 'state'), 'TASK_STATE_COMPLETED', JSON.stringify(body));
});

test('a member that is null is unset, as in ProtoJSON', async (t) => {
  const served = await serve(t, { script: (id) => finish(served.ledger, id) });
  const params = {
    ...sent({ taskId: null, metadata: null, parts: [{ text: 'x', filename: null }] }),
    metadata: null,
  };
  const { body } = await served.post({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
  assert.equal(at(body, 'result', 'task', 'status', 'state'), 'TASK_STATE_COMPLETED', JSON.stringify(body));
});
