import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MIB, post, routes } from '../../testing/routes.ts';
import { AUTHORIZATION, JSON_TYPE, startApp } from '../../testing/start-app.ts';

const INTERNAL = 'internal error; the log of this request has the details';

const cases: readonly {
  readonly name: string;
  readonly path: string;
  readonly init?: RequestInit;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly fields?: readonly { path: string; reason: string }[];
  readonly headers?: Readonly<Record<string, string>>;
}[] = [
  {
    name: 'no token',
    path: '/echo',
    init: { method: 'POST', body: '{}', headers: JSON_TYPE },
    status: 401,
    code: 'UNAUTHENTICATED',
    message: 'a token is required; send "Authorization: Bearer <token>"',
    headers: { 'www-authenticate': 'Bearer' },
  },
  {
    name: 'a wrong token',
    path: '/echo',
    init: post('{}', { authorization: 'Bearer wrong-token-0123456789' }),
    status: 401,
    code: 'UNAUTHENTICATED',
    message: 'this token is not accepted here; check which service it is for',
    headers: { 'www-authenticate': 'Bearer' },
  },
  {
    name: 'a body that is not JSON',
    path: '/echo',
    init: post('{"a'),
    status: 400,
    code: 'PARSE_ERROR',
    message: 'the body is not JSON; send one JSON value',
  },
  {
    name: 'an empty JSON body',
    path: '/echo',
    init: post(''),
    status: 400,
    code: 'PARSE_ERROR',
    message: 'the body is not JSON; send one JSON value',
  },
  {
    name: 'a body that would change prototypes',
    path: '/echo',
    init: post('{"__proto__": {"admin": true}}'),
    status: 400,
    code: 'PARSE_ERROR',
    message: 'the body is not JSON; send one JSON value',
  },
  {
    name: 'a body that is not UTF-8',
    path: '/echo',
    init: post(new Uint8Array([0x22, 0xff, 0x22])),
    status: 400,
    code: 'PARSE_ERROR',
    message: 'the body is not JSON: it is not UTF-8',
  },
  ...[101, 1_600, 500_000].map((levels) => ({
    name: `a body of ${levels} levels`,
    path: '/echo',
    init: post('['.repeat(levels) + ']'.repeat(levels)),
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'the body is nested deeper than 100 levels; send flatter JSON',
  })),
  {
    name: 'a body over the limit',
    path: '/echo',
    init: post(`"${'x'.repeat(MIB)}"`),
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: 'the body is larger than 1048576 bytes; send less',
  },
  {
    name: 'another content type',
    path: '/echo',
    init: post('{}', { 'content-type': 'text/plain' }),
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'this content type is not accepted; send application/json',
  },
  {
    name: 'no content type',
    path: '/echo',
    init: { method: 'POST', body: new Uint8Array([123, 125]), headers: AUTHORIZATION },
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'a body without content type is not accepted; send application/json',
  },
  {
    name: 'an unknown address, even without a token',
    path: '/nope?x=1',
    status: 404,
    code: 'NOT_FOUND',
    message: 'there is nothing at this address',
  },
  {
    name: 'the wrong method',
    path: '/tasks/7',
    init: { method: 'DELETE' },
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    message: 'DELETE is not allowed here; use GET or HEAD',
    headers: { allow: 'GET, HEAD' },
  },
  {
    name: 'a URL that does not decode',
    path: '/tasks/%zz',
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'the path of this URL is not valid; check its % escapes',
  },
  {
    name: 'a segment that is too long',
    path: `/tasks/${'x'.repeat(257)}`,
    init: { headers: AUTHORIZATION },
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'a segment of the path of this URL is too long',
  },
  {
    name: 'an unforeseen error',
    path: '/throw',
    init: { headers: AUTHORIZATION },
    status: 500,
    code: 'INTERNAL',
    message: INTERNAL,
  },
  {
    name: 'a catalogue error with fields',
    path: '/fleet',
    init: { headers: AUTHORIZATION },
    status: 400,
    code: 'INVALID_PARAMS',
    message: 'task.priority is wrong',
    fields: [{ path: 'task.priority', reason: 'must be low, normal, high or urgent' }],
  },
  {
    name: 'a catalogue error that may be retried later',
    path: '/busy',
    init: { headers: AUTHORIZATION },
    status: 503,
    code: 'QUEUE_FULL',
    message: 'the queue is full; try later',
    headers: { 'retry-after': '3' },
  },
  {
    name: 'wrong fields, all at once, nothing coerced or dropped',
    path: '/strict',
    init: post('{"count": "3", "list": [1], "more": true}'),
    status: 400,
    code: 'INVALID_PARAMS',
    message:
      "the body is not valid: (body): must have required property 'name'; (body): must NOT have additional properties; " +
      'count: must be integer; list[0]: must be string',
    fields: [
      { path: '', reason: "must have required property 'name'" },
      { path: '', reason: 'must NOT have additional properties' },
      { path: 'count', reason: 'must be integer' },
      { path: 'list[0]', reason: 'must be string' },
    ],
  },
];

test('every rejected request gets a catalogue error and nothing else', async (t) => {
  const { url } = await startApp(t, { routes });
  for (const { name, path, init, status, code, message, fields = [], headers = {} } of cases) {
    await t.test(name, async () => {
      const reply = await fetch(url + path, init);
      assert.deepEqual(await reply.json(), { error: { code, message, fields } });
      assert.equal(reply.status, status);
      assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
      for (const [header, value] of Object.entries(headers)) assert.equal(reply.headers.get(header), value);
    });
  }
});
