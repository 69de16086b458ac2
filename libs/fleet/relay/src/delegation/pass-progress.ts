import { EVENT_METADATA, type PeerTask } from '@hermes-fleet/a2a';
import type { Clock, RunEvent } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { isWaitingForCaller } from './question-exchange.ts';

/** The time from the first news of a worker to the event that reports the latest. */
const INTERVAL_MS = 1_000;

/** An `agent` or a `part` means that the tokens are those of a sub-agent, or that the event is not of this task. */
const WorkerEvent = z.object({
  type: z.literal('progress'),
  data: z.object({
    part: z.undefined().optional(),
    agent: z.unknown().optional(),
    // A name, and never text: it goes to NATS and to terminals.
    tool: z
      .string()
      .regex(/^[\w.:/-]{1,128}$/)
      .optional(),
    phase: z.enum(['started', 'ended']).optional(),
    spent_tokens: z.int().nonnegative().optional(),
    budget_tokens: z.int().nonnegative().nullish(),
  }),
});

type News = Pick<z.output<typeof WorkerEvent>['data'], 'tool' | 'phase' | 'spent_tokens' | 'budget_tokens'>;

export interface PassProgressOptions {
  readonly clock: Pick<Clock, 'timer'>;
  readonly signal: AbortSignal;
  readonly report: (event: RunEvent) => void;
  readonly peer: string;
}

/**
 * Reports the tool and the tokens of a worker as `progress` of the relayed task (docs/events.md#the-events): the latest of
 * each second, and before a question of the task what was not reported yet. A task that ends within a second has no such event.
 * Nothing is reported while the task does not work at the peer, after an abort of the run, and after the disposal. The tokens are the peer's word: nothing books them.
 */
export function createPassProgress({ clock, signal, report, peer }: PassProgressOptions) {
  let news: News | undefined;
  let timer: Disposable | undefined;

  function stop(): void {
    timer?.[Symbol.dispose]();
    timer = undefined;
  }

  function tell(): void {
    timer = undefined;
    const data = { peer, ...news };
    news = undefined;
    if (!signal.aborted) report({ type: 'progress', data });
  }

  return {
    /** Takes note of a snapshot of the task from the worker's stream. */
    observe(task: Pick<PeerTask, 'state' | 'updateMetadata'>): void {
      if (task.state !== 'working') {
        // Told before the question, because a report after it would say that the task works.
        const isPending = timer !== undefined && isWaitingForCaller(task);
        stop();
        if (isPending) tell();
        return;
      }
      const more = newsIn(task);
      if (!more) return;
      news = { ...news, ...more };
      timer ??= clock.timer(tell, INTERVAL_MS);
    },
    [Symbol.dispose]: stop,
  };
}

/** What an event of a worker says; undefined if it says nothing of use, or is not valid. */
function newsIn({ updateMetadata }: Pick<PeerTask, 'updateMetadata'>): News | undefined {
  const event = WorkerEvent.safeParse(updateMetadata?.[EVENT_METADATA]);
  if (!event.success) return undefined;
  const { agent, tool, phase, spent_tokens, budget_tokens } = event.data.data;
  const news = {
    ...(tool === undefined || phase === undefined ? {} : { tool, phase }),
    ...(agent === undefined && spent_tokens !== undefined ? { spent_tokens } : {}),
    ...(agent === undefined && budget_tokens !== undefined ? { budget_tokens } : {}),
  };
  return Object.keys(news).length > 0 ? news : undefined;
}
