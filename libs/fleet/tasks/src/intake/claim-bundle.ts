import { FleetError, invalidParams } from '@hermes-fleet/protocol';
import type { Reading } from '@hermes-fleet/protocol/handshake';
import type { Caller, RepositoryBundles } from '@hermes-fleet/protocol/ports';

export type Claims = Pick<RepositoryBundles, 'sent' | 'use'>;

/**
 * Keeps the checkout that a task works on as long as its context. A dispatch of an orchestrator has a token for it instead, and keeps
 * nothing here. Throws BUNDLE_REFUSED for a bundle that the caller has not sent or that is gone, and INVALID_PARAMS for fields that
 * do not fit it.
 */
export async function claimBundle(
  bundles: Claims | undefined,
  reading: Reading,
  { name: caller }: Caller,
  contextId: string,
): Promise<void> {
  const repository = reading.kind === 'dispatch' ? reading.dispatch.task.repository : undefined;
  if (repository?.bundle === undefined || repository.token !== undefined) return;
  const { bundle, base, name } = repository;
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
