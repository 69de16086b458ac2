import { openConnection } from '@hermes-fleet/events/testing';
import type { CloudEvent, LifecycleEvent } from '@hermes-fleet/protocol';

/** A task event of a fleet, with its subject on NATS. */
export interface SentEvent {
  readonly subject: string;
  readonly event: CloudEvent;
}

export interface TaskScript {
  readonly profile: string;
  readonly id: string;
  readonly taskId?: string;
  readonly caller?: string;
  readonly contextId?: string;
}

/** In the past of every clock: an event cannot be later than its arrival on the bus. */
export const STARTED_AT = Date.UTC(2024, 5, 1, 12);

/** Makes the events of one profile, numbered as its ledger would, one second apart. */
export function eventMaker(profile: string, store = 'store-1', from = STARTED_AT) {
  let number = 0;
  return (
    type: LifecycleEvent,
    task: Omit<TaskScript, 'profile'>,
    data: Record<string, unknown> = {},
  ): SentEvent => {
    number += 1;
    return {
      subject: `fleet.task.${profile}.${type}`,
      event: {
        specversion: '1.0',
        id: `${profile}:${store}:${number}`,
        source: `/profiles/${profile}`,
        type: `dev.hermes-fleet.task.${type}.v1`,
        subject: task.id,
        time: new Date(from + number * 1_000).toISOString(),
        datacontenttype: 'application/json',
        data: {
          ...data,
          task_id: task.taskId ?? `name-of-${task.id}`,
          caller: task.caller ?? 'operator',
          context_id: task.contextId ?? `context-of-${task.id}`,
        },
      },
    };
  };
}

/** Publishes events in order, each acknowledged by its stream. */
export async function publish(url: string, events: readonly SentEvent[]): Promise<void> {
  const nc = await openConnection({ servers: [url], name: 'publisher' }, new AbortController().signal);
  for (const { subject, event } of events) await nc.jetstream().publish(subject, JSON.stringify(event));
  await nc.close();
}

/** A decision of the trader, numbered as its control store would. */
export function controlEvent(number: number, data: Record<string, unknown>): SentEvent {
  const status = typeof data.status === 'string' ? data.status : 'applied';
  return {
    subject: 'fleet.control.a.m',
    event: {
      specversion: '1.0',
      id: `trader:control-1:${number}`,
      source: '/services/trader',
      type: `dev.hermes-fleet.control.${status}.v1`,
      subject: `decision-${number}`,
      time: new Date(STARTED_AT + number * 1_000).toISOString(),
      datacontenttype: 'application/json',
      data: { concern_id: 'a:m', action: 'pause', run_state: 'paused', ...data },
    },
  };
}

/** The head of the trader's audit. */
export function headEvent(
  seq: number,
  hash: string,
  at: number,
  { store = 'control-1', concerns }: { store?: string; concerns?: readonly unknown[] } = {},
): SentEvent {
  return {
    subject: 'fleet.audit.trader',
    event: {
      specversion: '1.0',
      id: `trader:${store}:head:${seq}`,
      source: '/services/trader',
      type: 'dev.hermes-fleet.audit.head.v1',
      subject: 'trader',
      time: new Date(STARTED_AT + at * 1_000).toISOString(),
      datacontenttype: 'application/json',
      data: { store, seq, hash: hash.repeat(64), ...(concerns && { concerns }) },
    },
  };
}
