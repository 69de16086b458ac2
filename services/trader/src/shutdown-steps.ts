import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Gateway } from '@hermes-fleet/fleet';
import type { Ledger } from '@hermes-fleet/ledger';
import { flushAndClose, type Retention } from '@hermes-fleet/member';
import type { Runtime } from '@hermes-fleet/paper';
import type { Announcer } from '@hermes-fleet/peers';
import type { Log } from '@hermes-fleet/protocol';
import type { ShutdownStep } from '@hermes-fleet/service';
import type { ControlStore } from './control/control-store.ts';
import type { RunningDecisionService } from './control/create-decision-service.ts';
import type { ControlBus } from './control-bus.ts';
import type { ControlIntake } from './transports/a2a.ts';

/** The open resources of a running trader. */
export interface Opened {
  readonly log: Log;
  readonly gateway: Pick<Gateway, 'stop'>;
  readonly announcer: Pick<Announcer, 'close'>;
  readonly retention: Retention;
  readonly a2a: { closeStreams(): Promise<void> };
  readonly app: { close(): PromiseLike<unknown> };
  readonly intake: Pick<ControlIntake, 'close'>;
  readonly desk: Pick<RunningDecisionService, 'close'>;
  readonly runtime: Pick<Runtime, 'close'>;
  readonly bus: OutboxPublisher | undefined;
  readonly controlBus: Pick<ControlBus, 'relay' | 'close'>;
  readonly backlog: Disposable;
  readonly ledger: Pick<Ledger, 'close'>;
  readonly store: Pick<ControlStore, 'close'>;
  readonly ownership: Disposable;
}

/**
 * The steps of a shutdown in their order (docs/operations.md#stop-crash-restart). Decisions in progress are answered before
 * the runtime stops, and the runtime's last snapshots are durable before the store closes. `leave` takes the trader out of
 * rotation.
 */
export function shutdownSteps(o: Opened, leave: () => void, graceMs: number): ShutdownStep[] {
  return [
    {
      name: 'leave rotation and refuse new tasks',
      run: async () => {
        leave();
        await Promise.all([o.announcer.close(), o.retention.close(), o.gateway.stop(graceMs)]);
      },
    },
    { name: 'close streams', run: () => o.a2a.closeStreams() },
    { name: 'close the listener', run: async () => void (await o.app.close()) },
    { name: 'finish the decisions in progress', run: () => o.intake.close() },
    {
      name: 'stop the runtime',
      run: async () => {
        o.desk.close();
        await o.runtime.close();
      },
    },
    {
      name: 'flush the outboxes',
      run: () => {
        const { relay, close } = o.controlBus;
        return flushAndClose([o.bus, relay ?? { flush: async () => true, close }], o.log);
      },
    },
    {
      name: 'close the stores',
      run: async () => {
        o.backlog[Symbol.dispose]();
        await Promise.all([o.ledger.close(), o.store.close()]);
        o.ownership[Symbol.dispose]();
      },
    },
  ];
}
