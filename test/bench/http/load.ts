import { once } from 'node:events';
import { join } from 'node:path';
import { startChild } from '../frame/child.ts';
import { onCore } from '../frame/machine.ts';
import type { DecisionKind } from './decision-body.ts';
import type { DispatchKind } from './request-body.ts';

/** One round of requests to one server. */
export interface LoadOrder {
  readonly url: string;
  readonly token: string;
  /** A dispatch, or a decision over a transport of the trader. */
  readonly kind: DispatchKind | DecisionKind;
  /** A text that every right answer contains. */
  readonly expect: string;
  readonly concurrency: number;
  /** The least duration, and the least number of requests, for which a round goes on until its time limit. */
  readonly ms: number;
  readonly samples: number;
  readonly limitMs: number;
}

export interface LoadResult {
  readonly count: number;
  readonly seconds: number;
  /** Latencies in ms. */
  readonly p50: number;
  readonly p99: number;
}

export type LoadReply = { readonly result: LoadResult } | { readonly error: string };

export interface LoadProcess extends AsyncDisposable {
  /** One round at a time. Rejects if an answer is not what the order expects. */
  round(order: LoadOrder): Promise<LoadResult>;
}

/** Starts the process that sends requests, on its own core. It ends with this process. */
export function startLoad(core: number | undefined): LoadProcess {
  const child = startChild({
    command: onCore(core, [process.execPath, join(import.meta.dirname, 'load-process.ts')]),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return {
    async round(order) {
      const reply = once(child.process, 'message') as Promise<[LoadReply]>;
      child.process.send(order);
      const gone = child.ended.then((end) => {
        throw new Error(`the process that sends requests does not run any more: ${end}`);
      });
      const [message] = await Promise.race([reply, gone]);
      if ('error' in message) throw new Error(message.error);
      return message.result;
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
