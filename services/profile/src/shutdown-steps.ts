import type { Agent } from '@hermes-fleet/agent';
import type { OutboxPublisher } from '@hermes-fleet/events';
import type { Gateway } from '@hermes-fleet/fleet';
import type { Ledger } from '@hermes-fleet/ledger';
import type { McpPool } from '@hermes-fleet/mcp';
import { flushAndClose, type Retention } from '@hermes-fleet/member';
import type { Announcer } from '@hermes-fleet/peers';
import type { Log } from '@hermes-fleet/protocol';
import type { ShutdownStep } from '@hermes-fleet/service';

/** Everything that a running profile has open. */
export interface Opened {
  readonly log: Log;
  readonly gateway: Pick<Gateway, 'stop'>;
  readonly announcer: Pick<Announcer, 'close'>;
  readonly retention: Retention;
  readonly a2a: { closeStreams(): Promise<void> };
  readonly app: { close(): PromiseLike<unknown> };
  readonly bus: OutboxPublisher | undefined;
  readonly backlog: Disposable;
  readonly mcp: Pick<McpPool, 'close'>;
  readonly agent: Pick<Agent, 'close'>;
  readonly ledger: Pick<Ledger, 'close'>;
  readonly ownership: Disposable;
}

/**
 * How a profile stops, in the order of design 1 (Start-up and shutdown). `leave` takes it out of rotation; tasks get
 * `graceMs` to reach a checkpoint.
 */
export function shutdownSteps(o: Opened, leave: () => void, graceMs: number): ShutdownStep[] {
  return [
    {
      name: 'leave rotation and stop tasks',
      run: async () => {
        leave();
        await Promise.all([o.announcer.close(), o.retention.close(), o.gateway.stop(graceMs)]);
      },
    },
    { name: 'close streams', run: () => o.a2a.closeStreams() },
    { name: 'close the listener', run: async () => void (await o.app.close()) },
    { name: 'flush the outbox', run: () => flushAndClose([o.bus], o.log) },
    {
      name: 'close MCP servers and the agent',
      run: async () => void (await Promise.all([o.mcp.close(), o.agent.close()])),
    },
    {
      name: 'close the ledger',
      run: async () => {
        o.backlog[Symbol.dispose]();
        await o.ledger.close();
        o.ownership[Symbol.dispose]();
      },
    },
  ];
}
