import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type Opened, shutdownSteps } from './shutdown-steps.ts';

test('decisions end before the runtime, the runtime ends before the outboxes, and the files close last', async () => {
  const said: string[] = [];
  const say = (what: string) => async (): Promise<void> => void said.push(what);
  const relay = (what: string) => ({
    state: () => ({ connected: true, lastError: undefined }),
    async flush() {
      said.push(`flush ${what}`);
      return true;
    },
    close: say(`close ${what}`),
  });
  const disposable = (what: string) => ({ [Symbol.dispose]: () => void said.push(what) });
  const opened: Opened = {
    log: silentLog,
    gateway: { stop: async (graceMs) => void said.push(`gateway ${graceMs}`) },
    announcer: { close: say('farewell') },
    retention: { close: say('retention') },
    a2a: { closeStreams: say('streams') },
    app: { close: say('listener') },
    intake: { close: say('intake') },
    decisions: { close: () => void said.push('decisions') },
    runtime: { close: say('runtime') },
    bus: relay('events'),
    controlBus: { relay: relay('control'), close: say('close audit') },
    backlog: disposable('gauge'),
    ledger: { close: say('ledger') },
    store: { close: say('control store') },
    ownership: disposable('lock'),
  };
  const run = async (o: Opened): Promise<string[]> => {
    said.length = 0;
    for (const step of shutdownSteps(o, () => void said.push('leave'), 7))
      await step.run(new AbortController().signal);
    return [...said];
  };
  assert.deepEqual(await run(opened), [
    ...[
      'leave',
      'farewell',
      'retention',
      'gateway 7',
      'streams',
      'listener',
      'intake',
      'decisions',
      'runtime',
    ],
    ...['flush events', 'flush control', 'close events', 'close control'],
    ...['gauge', 'ledger', 'control store', 'lock'],
  ]);
  const alone = await run({
    ...opened,
    bus: undefined,
    controlBus: { relay: undefined, close: say('close audit') },
  });
  assert.deepEqual(alone.slice(-6), ['runtime', 'close audit', 'gauge', 'ledger', 'control store', 'lock']);
});
