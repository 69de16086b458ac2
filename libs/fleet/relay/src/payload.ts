import { type PeerProfile, type RoutingPolicy, takesProse } from '@hermes-fleet/peers';
import { type JsonObject, negotiate, PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import { encodeDispatch, spokenVersions, type TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask, Budget } from '@hermes-fleet/protocol/ports';
import { renderDispatchText } from '@hermes-fleet/protocol/prose';
import type { Delegation } from './delegation/delegation.ts';

/** What the payload says beyond the caller's contract. */
export interface PayloadTerms {
  /** The task may wait at the peer for a slot. */
  readonly mayQueue: boolean;
  /** The name of the caller's conversation at peers. */
  readonly conversation: string;
  /** Another peer did the context's last task, so whatever conversation this one has is out of date. */
  readonly isMoved: boolean;
}

/**
 * Builds the payload for a peer: the caller's contract under our own task ID, with the path so far, the chosen target and
 * a slice of the remaining budget (docs/handshake.md#task_dispatch). Unknown fields are passed on. A prose peer gets the
 * same contract as text (docs/handshake.md#to-a-prose-peer).
 */
export function payloadFor(
  task: AdmittedTask,
  peer: PeerProfile,
  policy: Pick<RoutingPolicy, 'self' | 'versions'>,
  budget: Pick<Budget, 'remaining'>,
  now: number,
  terms: PayloadTerms,
): Pick<Delegation, 'payload' | 'prose' | 'slice'> {
  const remaining = budget.remaining();
  const slice = Number.isFinite(remaining) ? remaining : undefined;
  const relayed = relayedDispatch(task, peer, policy, slice, terms);
  const prose = takesProse(peer, now);
  const payload: JsonObject = prose ? proseOf(relayed, peer) : encodeDispatch(relayed);
  return { payload, ...(prose ? { prose } : {}), ...(slice === undefined ? {} : { slice }) };
}

/** Keeps the address with the text: after a restart the agent card has not been read yet. */
function proseOf(relayed: TaskDispatch, { endpoint }: PeerProfile): JsonObject {
  return { text: renderDispatchText(relayed), ...(endpoint ? { url: endpoint.url } : {}) };
}

function relayedDispatch(
  { id, dispatch, caller, rootCaller = caller.name }: AdmittedTask,
  peer: PeerProfile,
  { self, versions }: Pick<RoutingPolicy, 'self' | 'versions'>,
  slice: number | undefined,
  { mayQueue, conversation, isMoved }: PayloadTerms,
): TaskDispatch {
  const { tokenBudget: _asked, rootCaller: _said, repository, ...contract } = dispatch.task;
  // Each hop sets its own, by the clock of the next.
  const { acceptUntil: _ours, ...routing } = dispatch.routing ?? {};
  return {
    ...dispatch,
    protocolVersion: negotiate(versions, versionsOf(peer)) ?? PROTOCOL_VERSION,
    task: {
      ...contract,
      ...(repository === undefined ? {} : { repository: withoutToken(repository) }),
      taskId: id,
      ...(slice === undefined ? {} : { tokenBudget: slice }),
      ...(isMoved ? { fresh: true } : {}),
      conversation,
      parent: { taskId: dispatch.task.taskId, profile: self },
      rootId: dispatch.task.rootId ?? dispatch.task.taskId,
      ...(rootCaller === null ? {} : { rootCaller }),
      path: [...(dispatch.task.path ?? []), self],
    },
    routing: { ...routing, target: peer.name, whenFull: mayQueue ? 'queue' : 'refuse' },
  };
}

/** The token that this profile got opens the checkout at its own caller only. */
const withoutToken = ({ token: _own, ...repository }: NonNullable<TaskDispatch['task']['repository']>) =>
  repository;

/** The versions in the peer's announce, or else in its agent card. */
function versionsOf({ announce, card }: PeerProfile): readonly string[] {
  return announce ? spokenVersions(announce) : (card?.versions ?? []);
}
