import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERRORS, type ErrorCode, FleetError } from './errors.ts';

/** HTTP status, JSON-RPC code, retryable: callers depend on these columns. */
const table: Record<ErrorCode, readonly [number, number, boolean]> = {
  UNAUTHENTICATED: [401, -32000, false],
  FORBIDDEN: [403, -32000, false],
  CLIENT_CERTIFICATE_REQUIRED: [403, -32000, false],
  CLIENT_CERTIFICATE_REFUSED: [403, -32000, false],
  TLS_REQUIRED: [400, -32600, false],
  TOKEN_NEEDED: [403, -32000, false],
  PARSE_ERROR: [400, -32700, false],
  INVALID_REQUEST: [400, -32600, false],
  METHOD_NOT_FOUND: [404, -32601, false],
  INVALID_PARAMS: [400, -32602, false],
  DISPATCH_EXPIRED: [409, -32000, false],
  TASK_ID_CONFLICT: [409, -32602, false],
  CONTEXT_IN_USE: [409, -32000, true],
  CONTEXT_SHARED: [409, -32000, false],
  CONTEXT_MISMATCH: [400, -32602, false],
  INTERNAL: [500, -32603, true],
  TASK_NOT_FOUND: [404, -32001, false],
  NO_RESULT: [404, -32001, false],
  BUNDLE_REFUSED: [422, -32602, false],
  BUNDLE_LACKS_COMMITS: [409, -32602, false],
  TASK_NOT_CANCELABLE: [409, -32002, false],
  PUSH_NOT_SUPPORTED: [400, -32003, false],
  UNSUPPORTED_OPERATION: [400, -32004, false],
  CONTENT_TYPE_NOT_SUPPORTED: [400, -32005, false],
  VERSION_NOT_SUPPORTED: [400, -32009, false],
  NOT_FOUND: [404, -32601, false],
  METHOD_NOT_ALLOWED: [405, -32600, false],
  HEADERS_TOO_LARGE: [431, -32600, false],
  BODY_TOO_LARGE: [413, -32600, false],
  ARTIFACT_TOO_LARGE: [413, -32000, false],
  UNSUPPORTED_MEDIA_TYPE: [415, -32600, false],
  REQUEST_TIMEOUT: [408, -32000, true],
  TOO_MANY_STREAMS: [429, -32000, true],
  QUEUE_FULL: [503, -32000, true],
  SHUTTING_DOWN: [503, -32000, true],
  STORE_UNAVAILABLE: [503, -32000, true],
  CAPACITY: [503, -32000, true],
  PEER_UNREACHABLE: [502, -32000, true],
  PEER_REFUSED: [502, -32000, false],
  CONFIG_INVALID: [500, -32603, false],
  PROFILE_ALREADY_SERVED: [500, -32603, false],
  BIND_FAILED: [500, -32603, false],
  DEADLINE_EXCEEDED: [504, -32000, false],
  BUDGET_EXHAUSTED: [402, -32000, false],
  CANCELED: [499, -32000, false],
  MODEL_FAILED: [502, -32000, true],
};

describe('the error catalogue', () => {
  for (const [code, [httpStatus, jsonrpcCode, retryable]] of Object.entries(table)) {
    it(`${code}: ${httpStatus}, ${jsonrpcCode}, ${retryable ? '' : 'not '}retryable`, () => {
      const error = new FleetError(code as ErrorCode, 'm');
      assert.deepEqual(
        [error.httpStatus, error.jsonrpcCode, error.retryable],
        [httpStatus, jsonrpcCode, retryable],
      );
    });
  }

  it('has no entry outside this table', () => {
    assert.deepEqual(Object.keys(ERRORS).sort(), Object.keys(table).sort());
  });
});

describe('FleetError', () => {
  it('carries fields, cause and the delay before a retry', () => {
    const cause = new Error('disk full');
    const fields = [{ path: 'task.priority', reason: 'is unknown' }];
    const error = new FleetError('PEER_REFUSED', 'neo refused', {
      fields,
      cause,
      retryAfterS: 3,
      retryable: true,
    });
    assert.deepEqual(error.fields, fields);
    assert.equal(error.cause, cause);
    assert.equal(error.retryAfterS, 3);
    assert.equal(error.retryable, true);
    assert.equal(String(error), 'FleetError: neo refused');
    assert.ok(!('cause' in new FleetError('INTERNAL', 'm')));
  });

  it('is made from any thrown value without exposing its text', () => {
    const known = new FleetError('QUEUE_FULL', 'the queue is full');
    assert.equal(FleetError.from(known), known);
    for (const thrown of [new Error('password=hunter2'), 'hunter2', undefined]) {
      const error = FleetError.from(thrown);
      assert.equal(error.code, 'INTERNAL');
      assert.doesNotMatch(error.message, /hunter2/);
      assert.equal(error.cause, thrown);
    }
  });
});
