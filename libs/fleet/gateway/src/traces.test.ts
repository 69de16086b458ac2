import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { recordingTracing } from '@hermes-fleet/protocol/testing';
import { dispatching } from '../testing/messages.ts';
import { profile } from '../testing/profile.ts';
import { PREFERRED_FIRST, relayFleet } from '../testing/relay-fleet.ts';
import { DONE } from '../testing/scripts.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const REQUEST = `00-${TRACE}-b7ad6b7169203331-01`;

test('a rerouted task has a span for each attempt, in one trace, and its peers get theirs', async (t) => {
  const tracing = recordingTracing();
  const { orchestrator, worker } = await relayFleet(t, PREFERRED_FIRST, { tracing });
  worker('neo').facts.usable = false;
  const id = await orchestrator.send({ ...dispatching(), traceparent: REQUEST });
  assert.equal((await orchestrator.result(id)).executedBy, 'trinity');
  assert.equal(tracing.only('admit').parent, REQUEST);
  const run = tracing.only('run');
  assert.equal(run.parent, REQUEST);
  for (const peer of ['neo', 'trinity']) {
    const attempt = tracing.only(`dispatch ${peer}`);
    assert.deepEqual([attempt.kind, attempt.parent], ['client', run.traceparent]);
    const [received] = worker(peer).ledger.list({ pageSize: 10 }).tasks;
    assert.match(received?.traceparent ?? '', new RegExp(`^00-${TRACE}-`));
  }
  assert.deepEqual(
    tracing.named('route').map(({ parent, attributes }) => [parent, attributes['hermes.peer']]),
    [
      [run.traceparent, 'neo'],
      [run.traceparent, 'trinity'],
    ],
  );
  const considered = tracing.named('route').map(({ attributes }) => attributes['hermes.route.considered']);
  assert.match(String(considered[0]), /neo: chosen/);
  assert.match(String(considered[1]), /^trinity: chosen; .*,neo: excluded; .*has already refused$/);
  assert.deepEqual(tracing.named('wait for a peer'), []);
});

test('a task that waits for a peer has a span for the wait, below the search that it belongs to', async (t) => {
  const tracing = recordingTracing();
  const { orchestrator, worker, hear } = await relayFleet(t, PREFERRED_FIRST, { tracing });
  for (const name of ['neo', 'trinity']) worker(name).facts.usable = false;
  const id = await orchestrator.send({ ...dispatching(), traceparent: REQUEST });
  await orchestrator.event(id, 'queued', 2);
  // The span begins when the event is durable.
  while (tracing.named('wait for a peer').length === 0) await nextTurn();
  const wait = tracing.only('wait for a peer');
  const searches = tracing.named('route');
  assert.equal(searches.length, 3);
  assert.deepEqual([wait.isEnded, wait.parent], [false, searches[2]?.traceparent]);
  assert.deepEqual(wait.attributes['hermes.wait.for'], ['repo']);
  worker('neo').facts.usable = true;
  await hear('neo');
  assert.equal((await orchestrator.result(id)).executedBy, 'neo');
  assert.equal(tracing.only('wait for a peer').attributes['hermes.wait.outcome'], 'placed');
  assert.deepEqual(
    tracing.spans.filter(({ isEnded }) => !isEnded),
    [],
  );
});

test('a task that is handed back ends with the span of a search that says what it lacks', async (t) => {
  const tracing = recordingTracing();
  const { orchestrator, worker } = await relayFleet(t, PREFERRED_FIRST, { tracing });
  worker('neo').facts.usable = false;
  const demanding = dispatching({}, { routing: { on_blocked: 'fail' } });
  const id = await orchestrator.send({ ...demanding, traceparent: REQUEST });
  assert.equal((await orchestrator.result(id)).status, 'blocked');
  const { attributes, isEnded } = tracing.named('route')[1] ?? assert.fail();
  assert.deepEqual(
    [attributes['hermes.route.outcome'], attributes['hermes.route.unmet'], isEnded],
    ['blocked', ['repo'], true],
  );
});

test('a run that ends in an error is a span that failed', async (t) => {
  const tracing = recordingTracing();
  const script = () => Promise.reject(new FleetError('MODEL_FAILED', 'no model'));
  const made = await profile(t, { tracing, script });
  const id = await made.send({ ...dispatching(), traceparent: REQUEST });
  assert.equal((await made.result(id)).status, 'error');
  const { failure, attributes } = tracing.only('run');
  assert.deepEqual([failure, attributes['hermes.task.state']], ['model_failed', 'error']);
});

test('a task that a restart resumes goes on in its trace', async (t) => {
  const tracing = recordingTracing();
  const began = Promise.withResolvers<void>();
  const made = await profile(t, {
    tracing,
    script: () => {
      began.resolve();
      return new Promise(() => undefined);
    },
  });
  const id = await made.send({ ...dispatching(), traceparent: REQUEST });
  await began.promise;
  await made.crash();
  await made.restart(async () => DONE);
  assert.equal((await made.result(id)).status, 'done');
  assert.deepEqual(
    tracing.named('run').map(({ parent, attributes }) => [parent, attributes['hermes.task.resumes']]),
    [
      [REQUEST, 0],
      [REQUEST, 1],
    ],
  );
});
