import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ControlResponse,
  ControlResponseWire,
  encodeControlResponse,
} from '@hermes-fleet/protocol/control';
import { refusal } from '../control/screening.ts';
import { canonical } from './canonical.ts';
import { responseRecord } from './response-record.ts';

const LEAST = refusal(undefined, [{ code: 'rate_limited', message: 'too many' }]).response;
const MOST: ControlResponse = {
  ...refusal({ decisionId: 'd', concernId: 'a:m', action: 'switch', dryRun: true }, [
    { code: 'stale_request', message: 'too old', field: 'requested_at' },
    { code: 'forbidden', message: 'no access' },
  ]).response,
  fromStrategyId: 'one',
  toStrategyId: 'two',
  riskMode: 'cautious',
  warnings: [{ code: 'override_used', message: 'override bypasses it' }],
  result: {
    effect: 'held',
    modeChange: 'applied',
    reconciled: true,
    wouldStatus: 'applied',
    canceledOrders: 3,
    inheritedPosition: '0.5',
  },
  appliedAt: '2026-01-01T00:00:00.000Z',
};

test('a response is recorded in its wire form', () => {
  for (const response of [LEAST, MOST])
    assert.deepEqual(responseRecord(response), encodeControlResponse(response));
});

test('the names of a recorded response are in canonical order', () => {
  for (const response of [LEAST, MOST])
    assert.equal(JSON.stringify(responseRecord(response)), canonical(encodeControlResponse(response)));
});

test('every name of the schema is recorded', () => {
  const { shape } = ControlResponseWire;
  const record = responseRecord(MOST);
  const [error] = MOST.errors;
  assert.ok(error);
  const pairs = [
    [record, shape],
    [record.result, shape.result.shape],
    [record.validation, shape.validation.shape],
    [responseRecord({ ...MOST, errors: [error] }).errors, [shape.errors.element.shape]],
    [record.warnings, [shape.warnings.element.shape]],
  ];
  const names = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(names) : Object.keys(value ?? {}).sort();
  for (const [recorded, schema] of pairs) assert.deepEqual(names(recorded), names(schema));
});
