import type { RoutingPolicy } from '@hermes-fleet/peers';
import { type PeerProfile, takesProse } from '@hermes-fleet/peers';
import { renderDispatchText } from '@hermes-fleet/prose';
import {
  type AdmittedTask,
  type Budget,
  encodeDispatch,
  type JsonObject,
  negotiate,
  PROTOCOL_VERSION,
  type TaskDispatch,
} from '@hermes-fleet/protocol';
import type { Delegation } from './state.ts';

/**
 * What a peer is sent: the caller's contract under our own task id, with the way it came, the chosen target and a slice
 * of what is left of the budget (design 1, Who executes). What we do not know in it travels on. A prose peer gets the
 * same contract as text (design 2, Prose peers).
 */
export function payloadFor(
  task: AdmittedTask,
  peer: PeerProfile,
  policy: Pick<RoutingPolicy, 'self' | 'versions'>,
  budget: Budget,
  now: number,
): Pick<Delegation, 'payload' | 'prose' | 'slice'> {
  const remaining = budget.remaining();
  const slice = Number.isFinite(remaining) ? remaining : undefined;
  const relayed = relayedDispatch(task, peer, policy, slice);
  const prose = takesProse(peer, now);
  const payload: JsonObject = prose ? proseOf(relayed, peer) : encodeDispatch(relayed);
  return { payload, ...(prose ? { prose } : {}), ...(slice === undefined ? {} : { slice }) };
}

/** The address stays with the text: after a restart the card that told it has not been read yet. */
function proseOf(relayed: TaskDispatch, { endpoint }: PeerProfile): JsonObject {
  return { text: renderDispatchText(relayed), ...(endpoint ? { url: endpoint.url } : {}) };
}

function relayedDispatch(
  { id, dispatch }: AdmittedTask,
  peer: PeerProfile,
  { self, versions }: Pick<RoutingPolicy, 'self' | 'versions'>,
  slice: number | undefined,
): TaskDispatch {
  const { tokenBudget: _asked, ...contract } = dispatch.task;
  return {
    ...dispatch,
    protocolVersion: negotiate(versions, versionsOf(peer)) ?? PROTOCOL_VERSION,
    task: {
      ...contract,
      taskId: id,
      ...(slice === undefined ? {} : { tokenBudget: slice }),
      parent: { taskId: dispatch.task.taskId, profile: self },
      rootId: dispatch.task.rootId ?? dispatch.task.taskId,
      path: [...(dispatch.task.path ?? []), self],
    },
    routing: { ...dispatch.routing, target: peer.name },
  };
}

/** What the peer says that it speaks: in its announce, else in its agent card. */
function versionsOf({ announce, card }: PeerProfile): readonly string[] {
  if (announce) return announce.protocolVersions ?? [announce.protocolVersion];
  return card?.versions ?? [];
}
