import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemIds } from '@hermes-fleet/protocol';
import { continueTrace } from './trace.ts';

const ids = { uuid: () => '01890a5d-ac96-774b-bcce-b302099a8057' };
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const OWN = 'bcceb302099a8057';

test('a valid traceparent is continued with a new span', () => {
  const continued = (flags: string) => ({
    traceId: TRACE,
    spanId: OWN,
    traceparent: `00-${TRACE}-${OWN}-${flags}`,
  });
  assert.deepEqual(continueTrace(`00-${TRACE}-${SPAN}-01`, ids), continued('01'));
  assert.deepEqual(continueTrace(`00-${TRACE}-${SPAN}-00`, ids), continued('00'));
  assert.deepEqual(continueTrace(`00-${TRACE}-${SPAN}-03`, ids), continued('01'));
  assert.deepEqual(continueTrace(`cc-${TRACE}-${SPAN}-01-what-comes`, ids), continued('01'));
});

test('anything else starts a trace', () => {
  const fresh = {
    traceId: '01890a5dac96774bbcceb302099a8057',
    spanId: OWN,
    traceparent: `00-01890a5dac96774bbcceb302099a8057-${OWN}-00`,
  };
  for (const bad of [
    undefined,
    '',
    'garbage',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-${'x'.repeat(300)}`,
  ]) {
    assert.deepEqual(continueTrace(bad, ids), fresh, bad);
  }
});

test('the spans of one trace differ', () => {
  const first = continueTrace(undefined, systemIds);
  const second = continueTrace(first.traceparent, systemIds);
  assert.equal(second.traceId, first.traceId);
  assert.notEqual(second.spanId, first.spanId);
});
