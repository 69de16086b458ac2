import { FleetError, invalidParams } from '@hermes-fleet/protocol';
import type { Reading, TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { Caller, RepositoryBundles } from '@hermes-fleet/protocol/ports';

export type Claims = Pick<RepositoryBundles, 'sent' | 'use'>;

type Repository = NonNullable<TaskDispatch['task']['repository']>;

/** The checkout that a dispatch brings to this profile; one of an orchestrator has a token for it instead, and keeps nothing here. */
export function claimedBy(reading: Reading): (Repository & { readonly bundle: string }) | undefined {
  const repository = reading.kind === 'dispatch' ? reading.dispatch.task.repository : undefined;
  if (repository?.bundle === undefined || repository.token !== undefined) return undefined;
  return { ...repository, bundle: repository.bundle };
}

/**
 * Keeps the checkout that a task works on as long as its context. Throws BUNDLE_REFUSED for a bundle that the caller has not sent or
 * that is gone, and INVALID_PARAMS for fields that do not fit it.
 */
export async function claimBundle(
  bundles: Claims | undefined,
  { bundle, base, name }: Repository & { readonly bundle: string },
  { name: caller }: Caller,
  contextId: string,
): Promise<void> {
  if (bundles === undefined)
    throw new FleetError('BUNDLE_REFUSED', 'this profile takes no checkouts: name a configured repository');
  const sent = (await bundles.sent(caller)).find((each) => each.bundle === bundle);
  if (sent !== undefined && sent.commit !== base)
    throw invalidParams('task.repository.base', `must be ${sent.commit}, the commit of the bundle`);
  if (sent?.repository !== undefined && sent.repository !== name)
    throw invalidParams(
      'task.repository.name',
      `must be "${sent.repository}", which has the rest of the history of the bundle`,
    );
  await bundles.use(caller, bundle, contextId);
}
