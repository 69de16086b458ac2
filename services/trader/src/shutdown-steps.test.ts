import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type Opened, shutdownSteps } from './shutdown-steps.ts';

test('decisions end before the runtime, the runtime ends before the outboxes, and the files close last', async () => {
  const closed: string[] = [];
  const closing = (what: string) => async (): Promise<void> => void closed.push(what);
  const relay = (what: string) => ({
    state: () => ({ connected: true, lastError: undefined }),
    async flush() {
      closed.push(`flush ${what}`);
      return true;
    },
    close: closing(`close ${what}`),
  });
  const disposable = (what: string) => ({ [Symbol.dispose]: () => void closed.push(what) });
  const opened: Opened = {
    log: silentLog,
    gateway: { stop: async (graceMs) => void closed.push(`gateway ${graceMs}`) },
    announcer: { close: closing('farewell') },
    retention: { close: closing('retention') },
    push: { stop: closing('push') },
    a2a: { closeStreams: closing('streams') },
    app: { close: closing('listener') },
    intake: { close: closing('intake') },
    decisions: { close: async () => void closed.push('decisions') },
    books: { close: closing('books') },
    breakers: { close: closing('breakers') },
    runtime: { close: closing('runtime') },
    bus: relay('events'),
    controlBus: { relay: relay('control'), close: closing('close audit') },
    ledger: { close: closing('ledger') },
    store: { close: closing('control store') },
    ownership: disposable('lock'),
  };
  const run = async (o: Opened): Promise<string[]> => {
    closed.length = 0;
    for (const step of shutdownSteps(o, () => void closed.push('leave'), 7))
      await step.run(new AbortController().signal);
    return [...closed];
  };
  assert.deepEqual(await run(opened), [
    ...[
      'leave',
      'farewell',
      'retention',
      'gateway 7',
      'push',
      'streams',
      'listener',
      'intake',
      'breakers',
      'decisions',
      'books',
      'runtime',
    ],
    ...['flush events', 'flush control', 'close events', 'close control'],
    ...['ledger', 'control store', 'lock'],
  ]);
  const alone = await run({
    ...opened,
    bus: undefined,
    controlBus: { relay: undefined, close: closing('close audit') },
  });
  assert.deepEqual(alone.slice(-5), ['runtime', 'close audit', 'ledger', 'control store', 'lock']);
});
