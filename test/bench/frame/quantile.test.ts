import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, p99Of, quantile, spread } from './quantile.ts';

test('a quantile is the sample of the nearest rank, in any order of the samples', () => {
  const samples = Array.from({ length: 1_000 }, (_, at) => 1_000 - at);
  assert.equal(quantile(samples, 0.99), 990);
  assert.equal(quantile(samples, 0.5), 500);
  assert.equal(quantile(samples, 0), 1);
  assert.equal(quantile(samples, 1), 1_000);
  assert.equal(quantile([10, 9], 0.99), 10, 'numbers are compared as numbers');
  assert.equal(samples[0], 1_000, 'the samples keep their order');
});

test('there is no quantile without samples', () => {
  assert.ok(Number.isNaN(median([])));
});

test('there is no quantile if a sample could not be measured, and no p99 of fewer than 1,000 samples', () => {
  assert.ok(Number.isNaN(quantile([Number.NaN, 1], 1)));
  const samples = Array.from({ length: 1_000 }, (_, at) => at);
  assert.equal(p99Of(samples), 989);
  assert.ok(Number.isNaN(p99Of(samples.slice(1))));
});

test('the spread is the distance of the quartiles as a share of the median', () => {
  assert.equal(spread([8, 9, 10, 11, 12, 13, 100]), (13 - 9) / 11);
  assert.equal(spread([5]), 0);
  assert.equal(spread([0, 0, 0]), 0);
});
