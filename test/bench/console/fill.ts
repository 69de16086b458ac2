import { join } from 'node:path';
import type { CloudEvent, LifecycleEvent } from '@hermes-fleet/protocol';
import { silentLog as log, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { openStore } from '@hermes-fleet/store';
import { createProjector } from '../../../services/console/src/consume/projector.ts';
import { READ_MODEL } from '../../../services/console/src/read-model/schema.ts';

const WORKERS = ['neo', 'morpheus', 'trinity'] as const;
const CALLERS = ['operator', 'nightly', 'ci', 'docs'];
/** The models of the workers. */
export const MODELS = ['model-0', 'model-1', 'model-2'] as const;
const DAY_MS = 24 * 3_600_000;
/** The tasks are spread over this time. */
const SPAN_MS = 29 * DAY_MS;
/** Events of a relayed task at its two profiles, those of a blocked one aside. */
const STEPS = 12;

interface Made {
  readonly subject: string;
  readonly event: CloudEvent;
}

/**
 * Fills a new read model with `count` tasks over the last 29 days, half of them entered and half of them their parts, and with
 * about ten events for each. One task of ten is blocked. Returns the number of events.
 */
export async function fillReadModel(dir: string, count: number): Promise<number> {
  const store = openStore({
    ...{ file: join(dir, 'console.db'), schema: READ_MODEL, profile: 'console' },
    ...{ clock: systemClock, ids: systemIds, log },
  });
  const projector = createProjector({ store, clock: systemClock, log, onApplied: () => undefined });
  const numbers = new Map<string, number>();
  const start = Date.now() - SPAN_MS;
  let events = 0;
  for (let task = 0; task < count / 2; task += 1) {
    const at = start + Math.floor((task / (count / 2)) * SPAN_MS);
    for (const made of taskEvents(task, at, numbers)) {
      events += 1;
      const { subject } = made;
      const meta = { seq: events, subject, created: 'bench', pending: 0, storedAt: Date.now() };
      await projector.push({ topic: 'tasks', event: made.event, meta });
    }
  }
  await projector.idle();
  await projector.close();
  store.close();
  return events;
}

/** The events of one task that entered at switch, and of its part at a worker. */
function taskEvents(task: number, at: number, numbers: Map<string, number>): Made[] {
  const worker = WORKERS[task % WORKERS.length] ?? 'neo';
  const [id, part] = [`s-${task}`, `w-${task}`];
  const caller = CALLERS[task % CALLERS.length] ?? 'operator';
  const root = { root_id: `name-${task}`, root_caller: caller };
  const ofPart = { ...root, parent_task_id: `name-${task}`, parent_profile: 'switch' };
  const make = (profile: string, type: LifecycleEvent, data: object): Made => {
    const number = (numbers.get(profile) ?? 0) + 1;
    numbers.set(profile, number);
    const isEntry = profile === 'switch';
    return {
      subject: `fleet.task.${profile}.${type}`,
      event: {
        ...{ specversion: '1.0', datacontenttype: 'application/json', source: `/profiles/${profile}` },
        id: `${profile}:bench:${number}`,
        type: `dev.hermes-fleet.task.${type}.v1`,
        subject: isEntry ? id : part,
        time: new Date(at + (number % 60_000)).toISOString(),
        data: {
          ...data,
          ...{
            task_id: isEntry ? `name-${task}` : id,
            caller: isEntry ? caller : 'switch',
            context_id: `c-${task}`,
          },
        },
      },
    };
  };
  const entry = (type: LifecycleEvent, data: object = {}): Made => make('switch', type, { ...root, ...data });
  const work = (type: LifecycleEvent, data: object = {}): Made => make(worker, type, { ...ofPart, ...data });
  const submitted = entry('submitted', { priority: 'normal', budget_tokens: 50_000, target: 'auto' });
  if (task % 10 === 0) {
    const unmet = [{ kind: 'mcp', name: `server-${task % 7}` }];
    return [submitted, entry('blocked', { tokens_spent: 0, reason: 'mcp', unmet, saved_tokens: 50_000 })];
  }
  const considered = WORKERS.map((peer) => ({ peer, verdict: 'eligible', score: 0.5, reasons: ['load'] }));
  const usage = {
    input_tokens: 900,
    output_tokens: 100,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 10,
  };
  const spent = 1_000 * STEPS;
  const whole = { ...usage, input_tokens: 900 * STEPS, output_tokens: 100 * STEPS };
  const model = { model: MODELS[task % 3], model_tier: ['haiku', 'sonnet', 'opus'][task % 3] };
  return [
    submitted,
    entry('queued', { lane: 'relay', priority: 'normal' }),
    entry('started', { model: 'relay', model_tier: 'none', resumes: 0 }),
    entry('delegated', { peer: worker, attempt: 1, considered }),
    work('submitted', { budget_tokens: 50_000 }),
    work('started', { ...model, resumes: 0 }),
    ...Array.from({ length: STEPS }, (_, step) =>
      work('progress', {
        step: step + 1,
        spent_tokens: 1_000 * (step + 1),
        budget_tokens: 50_000,
        usage,
        ...model,
      }),
    ),
    work('done', {
      tokens_spent: spent,
      own_tokens: spent,
      delegated_tokens: 0,
      executed_by: worker,
      usage: whole,
      ...model,
    }),
    entry('done', {
      tokens_spent: spent,
      own_tokens: 0,
      delegated_tokens: spent,
      executed_by: worker,
      attempts: 1,
    }),
  ];
}
