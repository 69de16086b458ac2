import {
  type A2AClient,
  type CallOptions,
  type PeerEndpoint,
  type PeerTask,
  peerErrorCode,
} from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { type Endpoint, isReset } from '../world/network.ts';
import type { Worker } from './worker.ts';
import type { World } from './world.ts';

/** A worker on the network. */
export interface WorkerEndpoint extends Endpoint {
  readonly worker: Worker | undefined;
}

/**
 * The orchestrator's client: its calls go over the simulated network, and fail as those of the real client do. All of its
 * connections are kept ones: a call that one of them has lost is sent again at once.
 */
export function relayClient(
  { network, defect }: Pick<World, 'network' | 'defect'>,
  from: Endpoint,
  workers: ReadonlyMap<string, WorkerEndpoint>,
): A2AClient {
  const missing = (): never => {
    throw new FleetError('UNSUPPORTED_OPERATION', 'the simulated network does not carry this call');
  };
  const at = ({ name }: PeerEndpoint): WorkerEndpoint => {
    const to = workers.get(name);
    if (to) return to;
    throw new FleetError('PEER_UNREACHABLE', `no worker is called ${name}`);
  };
  const serving = ({ name, worker }: WorkerEndpoint): Worker => {
    if (worker) return worker;
    throw new FleetError('SHUTTING_DOWN', `${name} is not up`);
  };
  async function call<T>(
    peer: PeerEndpoint,
    { timeoutMs, signal, onResend }: CallOptions,
    serve: (worker: Worker) => T | Promise<T>,
  ): Promise<T> {
    const to = at(peer);
    const once = (): Promise<T> =>
      network.call({ from, to, timeoutMs, signal }, async () => serve(serving(to)));
    try {
      return await once().catch((error: unknown) => {
        if (!(error instanceof FleetError) || !isReset(error)) throw error;
        if (defect !== 'lost-copy') onResend?.();
        return once();
      });
    } catch (error) {
      throw asRefusal(peer.name, error);
    }
  }
  return {
    async send(peer, { data = {}, contextId = '' }, options) {
      return { kind: 'task', task: await call(peer, options, (worker) => worker.accept(data, contextId)) };
    },
    getTask: (peer, id, options) => call(peer, options, (worker) => worker.get(id)),
    cancelTask: (peer, id, options) => call(peer, options, (worker) => worker.cancel(id)),
    async *watch(peer, id, { idleTimeoutMs, signal }) {
      const to = at(peer);
      const arrived: PeerTask[] = [];
      let failure: unknown;
      let wake = (): void => undefined;
      const fail = (error: unknown): void => {
        failure = error;
        wake();
      };
      const onAbort = (): void => fail(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      using _stream = network.stream<PeerTask>(
        { from, to, idleMs: idleTimeoutMs },
        (stream) => serving(to).watch(id, stream),
        {
          onValue(task) {
            arrived.push(task);
            wake();
          },
          onBreak: fail,
        },
      );
      try {
        for (;;) {
          const next = arrived.shift();
          if (next) {
            yield next;
            if (next.terminal) return;
          } else if (failure !== undefined) throw failure;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    stream: missing,
    inspectTask: missing,
    listTasks: missing,
    file: missing,
    card: missing,
    fetch: missing,
    discover: missing,
  };
}

/** An error that the peer answered with, as the client shows it: PEER_REFUSED with the peer's code as its cause. */
function asRefusal(peer: string, error: unknown): unknown {
  if (!(error instanceof FleetError) || error.code === 'PEER_UNREACHABLE' || peerErrorCode(error))
    return error;
  const retryable = error.httpStatus === 503 || error.httpStatus === 429;
  return new FleetError('PEER_REFUSED', `peer "${peer}" refused (${error.code})`, {
    retryable,
    cause: error,
  });
}
