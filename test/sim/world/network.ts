import { FleetError } from '@hermes-fleet/protocol';
import type { EventLoop } from './event-loop.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';

/** One end of the network. The process behind it changes with each restart; undefined while there is none. */
export interface Endpoint {
  readonly name: string;
  readonly process: Process | undefined;
}

/** What is wrong with the network now. Faults change it. */
export interface Conditions {
  /** Shares of the messages that are lost and that arrive twice, 0 to 1. */
  loss: number;
  duplication: number;
  /** Added to every latency, ms. */
  delayMs: number;
  /** Links that carry nothing: `from>to`. */
  readonly cut: Map<string, number>;
}

export interface CallSettings {
  readonly from: Endpoint;
  readonly to: Endpoint;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A stream of values from a server to its client, in order. */
export interface Stream<T> {
  push(value: T): void;
}

export interface Network {
  readonly conditions: Conditions;
  /** Messages that were sent, lost and delivered twice. */
  readonly counts: { sent: number; lost: number; duplicated: number };
  /**
   * Calls the server, whose answer comes back over the network too. Rejects with PEER_UNREACHABLE after `timeoutMs`, at once
   * if no process listens, or when the one that serves it is killed, and with the signal's reason. A duplicated request is served
   * twice; one that reached nobody is not, because no connection was made.
   */
  call<T>(settings: CallSettings, serve: () => Promise<T>): Promise<T>;
  /**
   * Opens a stream. `onValue` gets each value in order; `onBreak` is called when the server ends, and when nothing could
   * arrive for `idleMs`.
   */
  stream<T>(
    settings: Omit<CallSettings, 'timeoutMs' | 'signal'> & { readonly idleMs: number },
    serve: (stream: Stream<T>) => Disposable,
    client: { onValue(value: T): void; onBreak(error: FleetError): void },
  ): Disposable;
}

/** The latency of a link, one way: a minimum and an exponential tail, ms. */
const LATENCY = { leastMs: 1, tailMs: 4 };

export function createNetwork(loop: EventLoop, random: Random): Network {
  const conditions: Conditions = { loss: 0, duplication: 0, delayMs: 0, cut: new Map() };
  const counts = { sent: 0, lost: 0, duplicated: 0 };

  const isCut = (from: string, to: string): boolean => (conditions.cut.get(`${from}>${to}`) ?? 0) > 0;
  const latency = (): number => LATENCY.leastMs + random.exponential(LATENCY.tailMs) + conditions.delayMs;

  /** Delivers a message after its latency. Returns false if it is lost. */
  function send(from: string, to: string, deliver: () => void, at = loop.now + latency()): boolean {
    counts.sent += 1;
    if (isCut(from, to) || (conditions.loss > 0 && random.next() < conditions.loss)) {
      counts.lost += 1;
      return false;
    }
    loop.at(at, deliver);
    return true;
  }

  function call<T>({ from, to, timeoutMs, signal }: CallSettings, serve: () => Promise<T>): Promise<T> {
    const caller = from.process;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let isOpen = true;
      const close = (settle: () => void): void => {
        if (!isOpen || !caller?.isAlive) return;
        isOpen = false;
        timer[Symbol.dispose]();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = (): void => close(() => reject(signal?.reason));
      const timer = loop.after(timeoutMs, () => close(() => reject(silent(to.name, timeoutMs))));
      signal?.addEventListener('abort', onAbort, { once: true });
      const answer = (settle: () => void): void => void send(to.name, from.name, () => close(settle));
      const arrive = (isCopy: boolean): void => {
        const server = to.process;
        if (!server?.isAlive) {
          if (!isCopy) answer(() => reject(refusedConnection(to.name)));
          return;
        }
        if (!isCopy && conditions.duplication > 0 && random.next() < conditions.duplication) {
          counts.duplicated += 1;
          send(from.name, to.name, () => arrive(true));
        }
        const killed = server.onKill(() => answer(() => reject(reset(to.name))));
        const settle = (settled: () => void): void => {
          killed[Symbol.dispose]();
          if (server.isAlive) answer(settled);
        };
        serve().then(
          (value) => settle(() => resolve(value)),
          (error) => settle(() => reject(error)),
        );
      };
      send(from.name, to.name, () => arrive(false));
    });
  }

  const stream: Network['stream'] = ({ from, to, idleMs }, serve, { onValue, onBreak }) => {
    const client = from.process;
    const resources = new DisposableStack();
    let isOpen = true;
    let isStalled = false;
    let lastAt = 0;
    const close = (): void => {
      isOpen = false;
      resources.dispose();
    };
    const fail = (error: FleetError): void => {
      if (!isOpen || !client?.isAlive) return;
      close();
      onBreak(error);
    };
    const watchIdle = (): void => {
      const timer = loop.after(idleMs, () => {
        if (isStalled || isCut(to.name, from.name)) fail(silent(to.name, idleMs));
        else if (isOpen && client?.isAlive) watchIdle();
      });
      if (isOpen) resources.use(timer);
    };
    const arrive = (): void => {
      const server = to.process;
      if (!server?.isAlive) {
        if (!send(to.name, from.name, () => fail(refusedConnection(to.name)))) isStalled = true;
        return;
      }
      if (!isOpen) return;
      const push = (value: Parameters<typeof onValue>[0]): void => {
        if (!isOpen || isStalled) return;
        lastAt = Math.max(lastAt, loop.now + latency());
        const deliver = (): void => {
          if (isOpen && client?.isAlive) onValue(value);
        };
        if (!send(to.name, from.name, deliver, lastAt)) isStalled = true;
      };
      const onKill = (): void => {
        if (!send(to.name, from.name, () => fail(reset(to.name)))) isStalled = true;
      };
      resources.use(server.onKill(onKill));
      try {
        resources.use(serve({ push }));
      } catch (error) {
        if (!send(to.name, from.name, () => fail(FleetError.from(error)))) isStalled = true;
      }
    };
    if (!send(from.name, to.name, arrive)) isStalled = true;
    watchIdle();
    if (client) resources.use(client.onKill(close));
    return { [Symbol.dispose]: close };
  };

  return { conditions, counts, call, stream };
}

const failed = (peer: string, what: string, code: string): FleetError =>
  new FleetError('PEER_UNREACHABLE', `${peer} ${what}`, { cause: Object.assign(new Error(what), { code }) });
const refusedConnection = (peer: string): FleetError =>
  failed(peer, 'refused the connection', 'ECONNREFUSED');
/** True for a connection that was open when its other end was killed. */
export const isReset = ({ cause }: FleetError): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ECONNRESET';
const reset = (peer: string): FleetError => failed(peer, 'reset the connection', 'ECONNRESET');
const silent = (peer: string, ms: number): FleetError =>
  new FleetError('PEER_UNREACHABLE', `${peer} did not answer within ${ms} ms`);
