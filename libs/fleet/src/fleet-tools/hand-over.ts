import {
  type AdmittedTask,
  type Log,
  type RunContext,
  type RunOutcome,
  type ToolCall,
  ToolError,
  type ToolResult,
  type Unmet,
} from '@hermes-fleet/protocol';
import { parked } from './parked.ts';
import { type Ask, partDispatch, partTask } from './part.ts';
import { partBudget, type Slice, sliceOf } from './part-budget.ts';
import { checkpointIn, readMemo } from './part-memo.ts';
import { partResult } from './part-result.ts';
import type { PeerWork } from './peer-work.ts';
import { needScope } from './scope.ts';

export interface HandOverOptions {
  readonly profile: string;
  /** Asked at each call: the gateway is put together after its agent. */
  readonly work: () => PeerWork;
  /** Whether it may look for a peer itself; else each part needs a name. */
  readonly orchestrates: boolean;
  /** How many parts may be with peers at a time. */
  readonly maxAtATime: number;
  readonly log: Log;
}

/** Work for a peer, and the tokens that it may spend at most. */
export interface Handed extends Ask {
  readonly tokenBudget?: number | undefined;
}

export type HandOver = (handed: Handed, call: ToolCall) => Promise<ToolResult>;

/**
 * Hands a part of a run's work to a peer, under the same handshake as any task: routed by what peers announced, admitted
 * there, inside a slice of the run's budget and its deadline, once however often the run is interrupted (design 2). The
 * run waits without its slot, and what the peer spent is counted. The result says what became of it; a ToolError says why
 * it was not even tried. Throws the reasons of the call's signals.
 */
export function createHandOver(o: HandOverOptions): HandOver {
  let atPeers = 0;
  return async (handed, call) => {
    const { task } = call;
    needScope(task.caller, 'dispatch');
    if (handed.agent === 'auto' && !o.orchestrates)
      throw new ToolError(`${o.profile} does not look for peers: name one; fleet_peers lists them`);
    const begun = readMemo(call.memo);
    if (!begun && atPeers >= o.maxAtATime)
      throw new ToolError(
        `${atPeers} pieces of work of ${o.profile} are with peers, as many as may be: do it yourself`,
      );
    const slice = begun ?? sliceOf(call.budget, handed.tokenBudget);
    const part = partTask(task, call.key, o.profile, partDispatch(task, handed, slice.limit));
    const fields = { task_id: task.id, part: part.id, agent: handed.agent, on_behalf_of: task.caller.name };
    o.log.info(fields, begun ? 'work with a peer is taken up again' : 'work is handed to a peer');
    atPeers += 1;
    try {
      const budget = partBudget(call.budget, slice);
      const unmet = begun ? [] : await o.work().judge(part.dispatch, task.caller);
      const outcome = unmet.length > 0 ? refused(unmet) : await runPart(o, part, call, slice);
      call.signal.throwIfAborted();
      const tokens_spent = budget.spent();
      o.log.info({ ...fields, status: outcome.status, tokens_spent }, 'work with a peer has ended');
      return partResult(outcome, tokens_spent);
    } finally {
      atPeers -= 1;
    }
  };
}

function runPart(
  { work }: HandOverOptions,
  part: AdmittedTask,
  call: ToolCall,
  slice: Slice,
): Promise<RunOutcome> {
  const { stopping } = call;
  // Letting go costs nothing: the peer goes on, and the next start asks it.
  const signal = AbortSignal.any([call.signal, stopping]);
  return parked(call, (ask) => {
    const context: RunContext = {
      signal,
      stopping,
      ask,
      budget: partBudget(call.budget, slice),
      report: (event) =>
        call.report(event.type === 'text' ? event : { ...event, data: { ...event.data, part: part.id } }),
      park: (wait) => wait(),
      checkpoint: checkpointIn(call.memo, slice),
    };
    return work().run(part, context);
  });
}

function refused(unmet: readonly Unmet[]): RunOutcome {
  return {
    status: 'blocked',
    nextSteps: [],
    blockedReason: unmet.map(({ detail }) => detail).join('; '),
    artifacts: { filesChanged: [] },
    unmet: [...unmet],
  };
}
