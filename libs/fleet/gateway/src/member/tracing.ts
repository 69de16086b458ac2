import type { Log } from '@hermes-fleet/protocol/ports';
import { type OpenTracing, openTracing } from '@hermes-fleet/service';
import { version } from './version.ts';

/** Opens a member's traces (docs/traces.md); undefined where they are off. `opened` closes them if the start fails. */
export async function openMemberTracing(
  name: string,
  env: NodeJS.ProcessEnv,
  log: Log,
  opened: AsyncDisposableStack,
): Promise<OpenTracing | undefined> {
  const tracing = await openTracing(env, { name, version, log });
  opened.defer(async () => tracing?.close());
  return tracing;
}
