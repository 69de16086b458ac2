import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean } from './did-you-mean.ts';

const known = ['bind_host', 'bind_port', 'auth_required', 'token_env', 'callers', 'url'];

test('a misspelling finds the intended candidate', () => {
  for (const [word, meant] of [
    ['bind_prot', 'bind_port'],
    ['bindport', 'bind_port'],
    ['bind-port', 'bind_port'],
    ['BIND_PORT', 'bind_port'],
    ['auth_requird', 'auth_required'],
    ['caller', 'callers'],
    ['ulr', 'url'],
    ['port', 'bind_port'],
    ['token', 'token_env'],
  ] as const) {
    assert.equal(didYouMean(word, known), meant, word);
  }
});

test('the closest candidate wins', () => {
  assert.equal(didYouMean('bind_hort', ['bind_port', 'bind_host']), 'bind_port');
  assert.equal(didYouMean('bind_hosts', ['bind_port', 'bind_host']), 'bind_host');
});

test('anything else finds nothing', () => {
  for (const word of ['', 'x', 'nothing_alike', 'ur', 'x'.repeat(10_000)])
    assert.equal(didYouMean(word, ['callers', 'listen']), undefined);
  assert.equal(didYouMean('bind_port', []), undefined);
});
