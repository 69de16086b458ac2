import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpanStart, Tracing } from '@hermes-fleet/protocol';
import { dispatching } from './testing/messages.ts';
import { profile } from './testing/profile.ts';
import { PREFERRED_FIRST, relayFleet } from './testing/relay-fleet.ts';
import { DONE } from './testing/scripts.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const REQUEST = `00-${TRACE}-b7ad6b7169203331-01`;

interface Started extends SpanStart {
  readonly name: string;
  readonly traceparent: string;
}

/** Keeps what begins; a span continues the trace of its parent. */
function recordingTracing(): Tracing & { readonly spans: Started[] } {
  const spans: Started[] = [];
  return {
    spans,
    start(name, start = {}) {
      const id = (spans.length + 1).toString(16).padStart(16, '0');
      const traceparent = `00-${start.parent?.split('-')[1]}-${id}-01`;
      spans.push({ ...start, name, traceparent });
      return { traceparent, set: () => undefined, end: () => undefined };
    },
  };
}

test('a rerouted task has a span for each attempt, in one trace, and its peers get theirs', async (t) => {
  const tracing = recordingTracing();
  const { orchestrator, worker } = await relayFleet(t, PREFERRED_FIRST, { tracing });
  worker('neo').facts.clean = false;
  const id = await orchestrator.send({ ...dispatching(), traceparent: REQUEST });
  assert.equal((await orchestrator.result(id)).executedBy, 'trinity');
  const named = (name: string): Started => {
    const [found, ...more] = tracing.spans.filter((span) => span.name === name);
    assert.ok(found && more.length === 0, name);
    return found;
  };
  assert.equal(named('admit').parent, REQUEST);
  const run = named('run');
  assert.equal(run.parent, REQUEST);
  for (const peer of ['neo', 'trinity']) {
    const attempt = named(`dispatch ${peer}`);
    assert.deepEqual([attempt.kind, attempt.parent], ['client', run.traceparent]);
    const [received] = worker(peer).ledger.list({ pageSize: 10 }).tasks;
    assert.match(received?.traceparent ?? '', new RegExp(`^00-${TRACE}-`));
  }
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
  const runs = tracing.spans.filter(({ name }) => name === 'run');
  assert.deepEqual(
    runs.map(({ parent, attributes }) => [parent, attributes?.['hermes.task.resumes']]),
    [
      [REQUEST, 0],
      [REQUEST, 1],
    ],
  );
});
