import {
  type AdmittedTask,
  type Budget,
  encodeDispatch,
  type JsonObject,
  negotiate,
  PROTOCOL_VERSION,
  type TaskDispatch,
} from '@hermes-fleet/protocol';
import type { PeerProfile } from '../peers/profile.ts';
import type { RoutingPolicy } from '../routing/policy.ts';

/**
 * The dispatch for a peer: the caller's contract under our own task id, with the way it came, the chosen target and a
 * slice of what is left of the budget (design 1, Who executes). What we do not know in it travels on.
 */
export function payloadFor(
  task: AdmittedTask,
  peer: PeerProfile,
  { self, versions }: Pick<RoutingPolicy, 'self' | 'versions'>,
  budget: Budget,
): JsonObject {
  const { dispatch } = task;
  const { tokenBudget: _asked, ...contract } = dispatch.task;
  const remaining = budget.remaining();
  const relayed: TaskDispatch = {
    ...dispatch,
    protocolVersion: negotiate(versions, peer.announce?.protocolVersions ?? []) ?? PROTOCOL_VERSION,
    task: {
      ...contract,
      taskId: task.id,
      ...(Number.isFinite(remaining) ? { tokenBudget: remaining } : {}),
      parent: { taskId: dispatch.task.taskId, profile: self },
      rootId: dispatch.task.rootId ?? dispatch.task.taskId,
      path: [...(dispatch.task.path ?? []), self],
    },
    routing: { ...dispatch.routing, target: peer.name },
  };
  return encodeDispatch(relayed);
}
