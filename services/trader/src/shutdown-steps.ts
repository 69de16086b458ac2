import type { OutboxPublisher } from '@hermes-fleet/events';
import {
  closeConnections,
  closeStores,
  flushAndClose,
  leaveRotation,
  type ServingMember,
} from '@hermes-fleet/gateway/member';
import type { Runtime } from '@hermes-fleet/market';
import type { ShutdownStep } from '@hermes-fleet/service';
import type { BookKeeper } from './books/book-keeper.ts';
import type { Breakers } from './breakers/breakers.ts';
import type { ControlStore } from './control/control-store.ts';
import type { RunningDecisionService } from './control/create-decision-service.ts';
import type { ControlBus } from './control-bus.ts';
import type { ControlIntake } from './transports/a2a.ts';

/** Everything that a running trader has open. */
export interface Opened extends ServingMember {
  readonly intake: Pick<ControlIntake, 'close'>;
  readonly decisions: Pick<RunningDecisionService, 'close'>;
  readonly books: Pick<BookKeeper, 'close'>;
  readonly breakers: Pick<Breakers, 'close'>;
  readonly runtime: Pick<Runtime, 'close'>;
  readonly bus: OutboxPublisher | undefined;
  readonly controlBus: Pick<ControlBus, 'relay' | 'close'>;
  readonly store: Pick<ControlStore, 'close'>;
}

/**
 * The steps of the trader's shutdown, in order (docs/architecture.md). Decisions in progress are answered before the
 * runtime stops, and the runtime's last snapshots are on disk before the store closes.
 */
export function shutdownSteps(opened: Opened, leave: () => void, graceMs: number): ShutdownStep[] {
  const { intake, decisions, books, breakers, runtime, bus, controlBus, ledger, store, log } = opened;
  const { relay = { flush: async () => true, close: controlBus.close } } = controlBus;
  return [
    { name: 'leave rotation and refuse new tasks', run: () => leaveRotation(opened, leave, graceMs) },
    ...closeConnections(opened),
    { name: 'finish the decisions in progress', run: () => intake.close() },
    {
      name: 'stop the runtime',
      run: async () => {
        // A decision of a breaker that hangs in its activation ends when the decision service closes.
        await Promise.all([breakers.close(), decisions.close()]);
        await books.close();
        await runtime.close();
      },
    },
    { name: 'flush the outboxes', run: () => flushAndClose([bus, relay], log) },
    { name: 'close the stores', run: () => closeStores([ledger, store], opened.ownership) },
  ];
}
