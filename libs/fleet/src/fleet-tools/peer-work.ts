import type { RoutingDecision } from '@hermes-fleet/peers';
import type {
  AdmittedTask,
  Caller,
  RunContext,
  RunOutcome,
  TaskDispatch,
  Unmet,
} from '@hermes-fleet/protocol';

/** How a run of a profile's own agent has peers do a part of its work; the gateway has it. */
export interface PeerWork {
  /** Routed, sent, followed and waited for, as a relayed task is (design 1, Who executes). */
  run(part: AdmittedTask, context: RunContext): Promise<RunOutcome>;
  /** What stands against handing it on, whatever peers can do: scope, path, deadline. Empty when nothing does. */
  judge(dispatch: TaskDispatch, caller: Caller): Promise<Unmet[]>;
  /** Where routing would send it now. */
  decide(dispatch: TaskDispatch): Promise<RoutingDecision>;
}
