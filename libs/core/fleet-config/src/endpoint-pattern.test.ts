import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allowedEndpoint, endpointPatternProblem } from './endpoint-pattern.ts';

/** Pattern, endpoint, and the allowed address, if any. */
const TABLE: [pattern: string, endpoint: string, allowed: string | undefined][] = [
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230', 'http://127.0.0.1:9230/jsonrpc'],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230/jsonrpc', 'http://127.0.0.1:9230/jsonrpc'],
  ['http://127.0.0.1:*', 'HTTP://127.0.0.1:9230/', 'http://127.0.0.1:9230/jsonrpc'],
  ['http://127.0.0.1:*', 'http://127.0.0.1', 'http://127.0.0.1/jsonrpc'],
  ['http://127.0.0.1:*', 'http://0x7f.1:9230', 'http://127.0.0.1:9230/jsonrpc'],
  ['http://127.0.0.1:*', 'https://127.0.0.1:9230', undefined],
  ['http://127.0.0.1:*', 'http://localhost:9230', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.2:9230', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1.evil.example:9230', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230@evil.example', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230@evil.example:80/', undefined],
  ['http://127.0.0.1:*', 'http://evil.example@127.0.0.1:9230', undefined],
  ['http://127.0.0.1:*', 'http://@127.0.0.1:9230', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230\\@evil.example', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230/jsonrpc?to=evil', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230/jsonrpc#evil', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230?', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230/other', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:9230/jsonrpc/../admin', undefined],
  ['http://127.0.0.1:*', 'http://127.0.0.1:92\n30', undefined],
  ['http://127.0.0.1:*', 'http://[::1]:9230', undefined],
  ['http://127.0.0.1:*', 'http://[::ffff:127.0.0.1]:9230', undefined],
  ['http://127.0.0.1:*', 'not an address', undefined],
  ['http://[::1]:*', 'http://[0:0:0:0:0:0:0:1]:9230', 'http://[::1]:9230/jsonrpc'],
  ['http://[::1]:*', 'http://[::2]:9230', undefined],
  ['http://[::1]:9230', 'http://127.0.0.1:9230', undefined],
  [
    'http://*.workers.internal:9230',
    'http://w1.workers.internal:9230',
    'http://w1.workers.internal:9230/jsonrpc',
  ],
  [
    'http://*.workers.internal:9230',
    'http://W1.Workers.INTERNAL:9230',
    'http://w1.workers.internal:9230/jsonrpc',
  ],
  ['http://*.workers.internal:9230', 'http://w1.workers.internal:9231', undefined],
  ['http://*.workers.internal:9230', 'http://workers.internal:9230', undefined],
  ['http://*.workers.internal:9230', 'http://a.b.workers.internal:9230', undefined],
  ['http://*.workers.internal:9230', 'http://w1.workers.internal.:9230', undefined],
  ['http://*.workers.internal:9230', 'http://w1.workers.internal.evil.example:9230', undefined],
  ['http://*.workers.internal:9230', 'http://evil.example/.workers.internal:9230', undefined],
  ['http://*.workers.internal:9230', 'https://w1.workers.internal:9230', undefined],
  ['https://*.workers.internal', 'https://w1.workers.internal', 'https://w1.workers.internal/jsonrpc'],
  ['https://*.workers.internal', 'https://w1.workers.internal:443', 'https://w1.workers.internal/jsonrpc'],
  ['https://*.workers.internal', 'https://w1.workers.internal:8443', undefined],
  ['https://*.workers.internal', 'http://w1.workers.internal:443', undefined],
  ['http://*:9230', 'http://tank:9230', 'http://tank:9230/jsonrpc'],
  ['http://*:9230', 'http://localhost:9230', undefined],
  ['http://*:9230', 'http://[::1]:9230', undefined],
  ['http://*:9230', 'http://2130706433:9230', undefined],
  ['http://*.*.*.*:9230', 'http://169.254.169.254:9230', undefined],
  ['http://*.*:9230', 'http://a.localhost:9230', undefined],
  ['http://10.0.0.*:9230', 'http://10.0.0.7:9230', 'http://10.0.0.7:9230/jsonrpc'],
  ['http://10.0.0.*:9230', 'http://10.0.0.com:9230', undefined],
  ['http://10.0.0.*:9230', 'http://10.0.1.7:9230', undefined],
  ['http://*.0.0.1:9230', 'http://127.0.0.1:9230', undefined],
  ['http://*.0.0.0:9230', 'http://0.0.0.0:9230', undefined],
  ['http://127.0.0.*:9230', 'http://127.0.0.9:9230', 'http://127.0.0.9:9230/jsonrpc'],
  ['http://gate:9230/a2a/tank', 'http://gate:9230/a2a/tank/jsonrpc', 'http://gate:9230/a2a/tank/jsonrpc'],
  ['http://gate:9230/a2a/tank', 'http://gate:9230/a2a/tan', undefined],
  ['http://gate:9230/a2a/tank', 'http://gate:9230/', undefined],
];

describe('an endpoint pattern', () => {
  for (const [pattern, endpoint, allowed] of TABLE)
    it(`${pattern} ${allowed ? 'allows' : 'does not allow'} ${JSON.stringify(endpoint)}`, () => {
      assert.equal(endpointPatternProblem(pattern), undefined);
      assert.equal(allowedEndpoint(endpoint, ['https://nobody.example', pattern]), allowed);
    });

  it('allows nothing if there is none', () =>
    assert.equal(allowedEndpoint('http://tank:9230', []), undefined));

  const wrong: [string, RegExp][] = [
    ['http://127.0.0.1:*@evil', /without user, query and fragment/],
    ['http://user:pw@127.0.0.1:1', /without user/],
    ['*', /must be an address/],
    ['ftp://tank:1', /must be an address/],
    ['*://tank:1', /must be an address/],
    ['http://tank:1?x', /must be an address/],
    ['http://tank:1#x', /must be an address/],
    ['http://tank:99999', /port/],
    ['http://tank:0', /port/],
    ['http://tank:9*', /must be an address/],
    ['http://w*.internal:1', /invalid host/],
    ['http://**.internal:1', /invalid host/],
    ['http://*..internal:1', /invalid host/],
    ['http://127.1:9230', /compared as 127\.0\.0\.1/],
    ['http://[0:0::1]:9230', /compared as \[::1\]/],
    ['http://999.0.0.1:9230', /invalid host/],
  ];
  for (const [pattern, reason] of wrong)
    it(`must not be ${pattern}`, () => assert.match(endpointPatternProblem(pattern) ?? '', reason));
});
