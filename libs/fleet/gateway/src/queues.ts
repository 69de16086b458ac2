import { createRelay, homeOf, relaySettings } from '@hermes-fleet/relay';
import { createScheduler, createTaskQueue, Lane, type TaskQueueOptions } from '@hermes-fleet/tasks';
import type { GatewayOptions } from './gateway-options.ts';

type RelayOptions = Parameters<typeof createRelay>[0];

export interface QueuesOptions
  extends Pick<RelayOptions, 'peers' | 'client' | 'clock' | 'log' | 'random' | 'onGivenUp' | 'tracing'>,
    Pick<TaskQueueOptions, 'runner' | 'onChange' | 'onExpired'>,
    Pick<GatewayOptions, 'profile' | 'config' | 'ledger' | 'metrics' | 'agent'> {
  readonly versions: readonly string[];
}

/** The profile's tasks: one scheduler for the own ones, for those that the relay has at peers, and for parts of the own. */
export function createQueues(options: QueuesOptions) {
  const { profile, versions, config, ledger, clock, log, metrics, runner, onChange, onExpired } = options;
  const { limits, queue } = config.fleet;
  const scheduler = createScheduler({ clock, log, ageingMs: queue.ageing_s * 1000 });
  const lanes = {
    own: new Lane({ name: 'own', places: limits.max_concurrent_tasks, depth: limits.queue_depth }),
    relay: new Lane({ name: 'relay', places: limits.max_relayed_tasks, depth: queue.max_waiting }),
    // A part may be what another relayed task needs to end.
    parts: new Lane({ name: 'parts', places: Number.POSITIVE_INFINITY, depth: queue.max_waiting }),
  };
  const relay = createRelay({
    ...options,
    ...relaySettings(config, profile, versions),
    scheduler,
    lane: lanes.relay,
    parts: lanes.parts,
    repositoryTokenOf: ledger.contexts.repositoryToken,
    homeOf: (task) => homeOf(ledger.contexts, task),
    conversationOf: ({ caller, contextId, dispatch }) =>
      ledger.contexts.conversationName(caller.name, contextId, dispatch.task.conversation),
  });
  const shared = { scheduler, runner, clock, onChange, onExpired };
  const { questionWaits } = runner;
  /** The age in seconds of what has waited longest. */
  const ageOf = (now: number, ...since: readonly (number | undefined)[]): number =>
    (now - Math.min(now, ...since.map((at = now) => at))) / 1000;
  metrics.read({
    fleet_tasks_in_flight: () => lanes.own.running + lanes.relay.running,
    fleet_queue_depth: () => [
      [{ queue: 'own' }, lanes.own.waiting],
      [{ queue: 'waiting' }, lanes.relay.waiting + lanes.parts.waiting],
      [{ queue: 'input' }, questionWaits.size],
    ],
    fleet_queue_oldest_age_seconds: () => [
      [{ queue: 'own' }, ageOf(clock.monotonic(), lanes.own.waitingSince)],
      [{ queue: 'waiting' }, ageOf(clock.monotonic(), lanes.relay.waitingSince, lanes.parts.waitingSince)],
      [{ queue: 'input' }, ageOf(clock.now(), questionWaits.since)],
    ],
  });
  return {
    scheduler,
    relay,
    own: createTaskQueue({ ...shared, name: 'own', lane: lanes.own, executor: options.agent.executor }),
    relayed: createTaskQueue({
      ...shared,
      name: 'relay',
      lane: lanes.relay,
      executor: relay,
      assignsPlaces: true,
    }),
  };
}
