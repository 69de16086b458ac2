import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InFlight } from './in-flight.ts';

test('the cursor advances over contiguous runs only, in whatever order acknowledgements arrive', () => {
  const inFlight = new InFlight();
  const [a, b, c, d] = [3, 5, 6, 9].map((seq) => inFlight.send(seq));
  assert.ok(a && b && c && d);
  assert.equal(inFlight.acknowledge(b), undefined);
  assert.equal(inFlight.acknowledge(c), undefined);
  assert.deepEqual(inFlight.acknowledge(a), { upTo: 6, count: 3 });
  assert.equal(inFlight.acknowledge(a), undefined);
  assert.equal(inFlight.size, 1);
  assert.deepEqual(inFlight.acknowledge(d), { upTo: 9, count: 1 });
  assert.equal(inFlight.unacknowledged, 0);
});

test('the window counts from the oldest event without an acknowledgement', () => {
  const inFlight = new InFlight();
  inFlight.send(1);
  inFlight.acknowledge(inFlight.send(2));
  assert.equal(inFlight.size, 2);
  assert.equal(inFlight.unacknowledged, 1);
});
