import type { Read } from '@hermes-fleet/net/api';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { FLEET } from '@hermes-fleet/protocol/api';
import { fleetApi, type Target } from '../client/api.ts';

export type Decision = Read<typeof FLEET.route>;

export const routeOf = (target: Target, dispatch: JsonObject): Promise<Decision> =>
  fleetApi().call(target, FLEET.route, { body: dispatch });

/**
 * Why nobody could do a task, if it were sent now, and no wait would help; undefined where that is not known. A caller without the scope
 * `read` is not told, and may dispatch all the same.
 */
export async function blockedAt(target: Target, dispatch: JsonObject): Promise<Decision | undefined> {
  const decision = await routeOf(target, dispatch).catch((error: unknown) => {
    if (error instanceof FleetError && error.code === 'PEER_REFUSED') return undefined;
    throw error;
  });
  if (decision === undefined || decision.chosen !== null || decision.waitable) return undefined;
  return decision.unmet.some(({ transient }) => !transient) ? decision : undefined;
}

/** The chosen peer, or every unmet requirement and whether waiting can help. */
export function renderVerdict(decision: Decision): string[] {
  const { chosen, unmet } = decision;
  if (chosen !== null) return [`goes to ${chosen}`];
  return ['goes nowhere', ...unmetLines(unmet), outlookOf(decision)];
}

const unmetLines = (unmet: Decision['unmet']): string[] =>
  unmet.map(({ kind, detail }) => `  ${kind}: ${detail}`);

/** That a task was not sent, because nobody can do it. */
export const renderBlocked = ({ unmet }: Decision): string[] => [
  'nobody can do this task, so nothing was sent',
  ...unmetLines(unmet),
];

/** A profile queues a task for its peers, but not for a requirement that it lacks itself. */
function outlookOf({ waitable, unmet }: Decision): string {
  if (waitable) return 'This may pass: with on_blocked queue or reroute it waits.';
  if (unmet.length > 0 && unmet.every(({ transient }) => transient))
    return 'This may pass, but the profile does not wait for it: dispatch it again later.';
  return 'Waiting would not help.';
}
