import type { CloudEvent } from '@hermes-fleet/protocol';
import { LifecycleEvent } from '@hermes-fleet/protocol';
import { textIn, timeIn } from './fields.ts';

/** A numbered event of one store: the numbers of a store increase, with gaps. */
export interface Numbered {
  /** The sender and the ID of its store. */
  readonly source: string;
  readonly number: number;
  /** Ms since the epoch. */
  readonly at: number;
}

/** A task event, of which only `data` is not checked. */
export interface TaskEvent extends Numbered {
  readonly profile: string;
  /** The A2A task ID at the profile. */
  readonly id: string;
  readonly type: LifecycleEvent;
  readonly traceId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event that is not projected: it is counted, and the reason is shown. */
export interface Unusable {
  readonly unusable: string;
}

const ID = /^([^:]{1,100}):([^:]{1,100}):(\d{1,15})$/;
const TRACE = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Reads a task event (docs/events.md#the-body). The subject on NATS proves the profile: its user alone may publish there. */
export function readTaskEvent(event: CloudEvent, subject: string): TaskEvent | Unusable {
  const [, , profile = '', name = ''] = subject.split('.');
  const type = LifecycleEvent.safeParse(name);
  if (!type.success || event.type !== `dev.hermes-fleet.task.${name}.v1`)
    return { unusable: 'an unknown type of event' };
  const numbered = readNumbered(event, profile);
  if ('unusable' in numbered) return numbered;
  const id = textIn(event.subject);
  if (id === null || id !== event.subject) return { unusable: 'a task ID that is too long' };
  const traceId = TRACE.exec(event.traceparent ?? '')?.[1] ?? null;
  return { ...numbered, profile, id, type: type.data, traceId, data: event.data };
}

/** Reads the number of an event of `sender`. */
export function readNumbered(event: CloudEvent, sender: string): Numbered | Unusable {
  const [, owner, store, number] = ID.exec(event.id) ?? [];
  if (owner === undefined || owner !== sender) return { unusable: 'an event ID that is not of its sender' };
  const at = timeIn(event.time);
  if (at === null) return { unusable: 'an unreadable time' };
  return { source: `${owner}:${store}`, number: Number(number), at };
}
