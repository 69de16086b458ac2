import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { base, to } from '../testing/fetching.ts';
import { checkDestination } from './guarded-fetch.ts';

test('an address is checked without a request', async () => {
  const url = 'https://hooks.example.org/a';
  assert.equal((await checkDestination(url, { ...base(), resolve: to('8.8.8.8') })).href, url);
  for (const host of ['notlocalhost', 'localhost.example'])
    await checkDestination(`https://${host}/`, { ...base(), resolve: to('8.8.8.8') });
  const internal = { ...base(), resolve: to('10.0.0.1') };
  await assert.rejects(checkDestination(url, internal), { code: 'FORBIDDEN' });
  await checkDestination(url, { ...internal, allowInternal: ['hooks.example.org:443'] });
  await assert.rejects(checkDestination('ftp://hooks.example.org', base()), { code: 'INVALID_PARAMS' });
});

test('a look-up that does not end has a deadline', async () => {
  const clock = manualClock();
  const check = checkDestination('https://hooks.example.org', {
    clock,
    signal: new AbortController().signal,
    timeoutMs: 5_000,
    resolve: () => new Promise(() => undefined),
  });
  clock.advance(5_000);
  await assert.rejects(check, { code: 'PEER_UNREACHABLE' });
});
