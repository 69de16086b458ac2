import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CloudEvent,
  hasEnded,
  LifecycleEvent,
  TASK_EVENTS,
  TASK_STATES,
  TERMINAL_EVENTS,
} from './task-states-and-events.ts';

const event = {
  specversion: '1.0',
  id: 'neo:01976f3e:7',
  source: '/profiles/neo',
  type: 'dev.hermes-fleet.task.done.v1',
  subject: 'task-1',
  time: '2026-05-31T21:00:00.000Z',
  datacontenttype: 'application/json',
  data: { task_id: 'abc-123' },
};

describe('CloudEvent', () => {
  it('keeps unknown fields', () => {
    const extended = { ...event, traceparent: '00-a-b-01', fleetext: 1 };
    assert.deepEqual(CloudEvent.parse(extended), extended);
  });

  for (const [field, value] of [
    ['specversion', '0.3'],
    ['id', ''],
    ['source', ''],
    ['type', 'task.done'],
    ['subject', ''],
    ['time', 'yesterday'],
    ['datacontenttype', 'text/plain'],
    ['data', 'text'],
  ] as const) {
    it(`rejects ${field} ${JSON.stringify(value)}`, () => {
      const paths = CloudEvent.safeParse({ ...event, [field]: value }).error?.issues.map((i) =>
        i.path.join('.'),
      );
      assert.deepEqual(paths, [field]);
    });
  }
});

it('an event has a result if the state that it leads to is an end, in the ledger and in the console', () => {
  const ends = new Set<string>(LifecycleEvent.options.filter((event) => 'result' in TASK_EVENTS[event]));
  for (const event of LifecycleEvent.options) {
    const { ledger, console: shown } = TASK_EVENTS[event];
    const hasResult = ends.has(event);
    assert.equal(ledger !== null && hasEnded(TASK_STATES[ledger].a2a), hasResult, event);
    assert.equal(shown !== null && ends.has(shown), hasResult, event);
    assert.equal(TERMINAL_EVENTS.has(event), hasResult, event);
  }
});
