import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { createProblems } from './problems.ts';

const invalid = (...paths: string[]): FleetError =>
  new FleetError('CONFIG_INVALID', 'the file is wrong', {
    fields: paths.map((path) => ({ path, reason: 'is wrong' })),
  });
const raise = (error: unknown) => (): never => {
  throw error;
};

test('problems of several files are one error, each with its location', () => {
  const problems = createProblems('neo');
  assert.equal(
    problems.attempt(() => 7),
    7,
  );
  assert.equal(problems.attempt(raise(invalid('a', 'b'))), undefined);
  problems.attempt(raise(invalid('c')), (path) => `file:3 ${path}`);
  problems.attempt(raise(invalid()));
  problems.add([{ path: 'd', reason: 'is missing' }]);
  const error = problems.error();
  assert.equal(error.code, 'CONFIG_INVALID');
  assert.equal(error.message, 'the configuration of neo has 5 problems');
  assert.deepEqual(
    error.fields.map(({ path, reason }) => `${path}: ${reason}`),
    ['a: is wrong', 'b: is wrong', 'file:3 c: is wrong', 'neo: the file is wrong', 'd: is missing'],
  );
});

test('a single problem is reported in the singular, and other errors are rethrown', () => {
  const problems = createProblems('neo');
  assert.throws(() => problems.attempt(raise(new FleetError('STORE_UNAVAILABLE', 'disk full'))), /disk full/);
  assert.throws(() => problems.attempt(raise(new TypeError('boom'))), /boom/);
  assert.deepEqual(problems.found, []);
  problems.attempt(raise(invalid('a')));
  assert.equal(problems.error().message, 'the configuration of neo has a problem');
});
