import assert from 'node:assert/strict';
import { test } from 'node:test';
import { continueTrace } from './trace.ts';

const FRESH = '01890a5dac96774bbcceb302099a8057';
const digits = (count: number): string => FRESH.slice(-count);
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const OWN = 'bcceb302099a8057';

test('a valid traceparent is continued with a new span', () => {
  const continued = (flags: string) => ({
    traceId: TRACE,
    spanId: OWN,
    traceparent: `00-${TRACE}-${OWN}-${flags}`,
  });
  assert.deepEqual(continueTrace(`00-${TRACE}-${SPAN}-01`, digits), continued('01'));
  assert.deepEqual(continueTrace(`00-${TRACE}-${SPAN}-00`, digits), continued('00'));
  assert.deepEqual(continueTrace(`00-${TRACE}-${SPAN}-03`, digits), continued('01'));
  assert.deepEqual(continueTrace(`cc-${TRACE}-${SPAN}-01-what-comes`, digits), continued('01'));
});

test('anything else starts a trace', () => {
  const fresh = {
    traceId: FRESH,
    spanId: OWN,
    traceparent: `00-${FRESH}-${OWN}-00`,
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
    assert.deepEqual(continueTrace(bad, digits), fresh, bad);
  }
});

test('the spans of one trace differ', () => {
  const first = continueTrace(undefined);
  const second = continueTrace(first.traceparent);
  assert.equal(second.traceId, first.traceId);
  assert.notEqual(second.spanId, first.spanId);
});

test('the ids of many traces are hex digits, and all differ', () => {
  const traces = Array.from({ length: 1000 }, () => continueTrace(undefined));
  for (const { traceparent } of traces) assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  const ids = traces.flatMap(({ traceId, spanId }) => [traceId.slice(0, 16), traceId.slice(16), spanId]);
  assert.equal(new Set(ids).size, ids.length);
});
