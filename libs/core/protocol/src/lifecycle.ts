import { z } from 'zod';

/** The lifecycle events of a task that are published on NATS (docs/events.md). */
export const LifecycleEvent = z.enum([
  'submitted',
  'blocked',
  'queued',
  'started',
  'progress',
  'delegated',
  'rerouted',
  'input_required',
  'answered',
  'artifact',
  'resumed',
  'alert',
  'done',
  'partial',
  'error',
  'canceled',
]);
export type LifecycleEvent = z.infer<typeof LifecycleEvent>;

/** Events that end a task. A task has exactly one of them, as its last event. */
export const TERMINAL_EVENTS: ReadonlySet<string> = new Set<LifecycleEvent>([
  'blocked',
  'done',
  'partial',
  'error',
  'canceled',
]);

/** A lifecycle event on NATS: CloudEvents 1.0, JSON format. Never contains a brief or a model's text. */
export const CloudEvent = z.looseObject({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string().min(1),
  type: z.string().regex(/^dev\.hermes-fleet\.[a-z]+\.[a-z_]+\.v\d+$/),
  subject: z.string().min(1),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  traceparent: z.string().optional(),
  data: z.record(z.string(), z.unknown()),
});
export type CloudEvent = z.infer<typeof CloudEvent>;
