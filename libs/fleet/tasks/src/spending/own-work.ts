import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';

/** True if the profile's own executor gets the dispatch, and not the relay. */
export function isOwnWork(
  { routing }: Pick<TaskDispatch, 'routing'>,
  profile: string,
  orchestrate: boolean,
): boolean {
  const target = routing?.target ?? 'auto';
  return target === profile || (target === 'auto' && !orchestrate);
}
