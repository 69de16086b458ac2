import type { Read } from '@hermes-fleet/net/api';
import type { JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { fleetApi, RPC_MS } from '../client/api.ts';
import { type Asked, askProfiles } from '../running/ask-profiles.ts';
import type { Reachable } from '../running/reachable.ts';

/** The fields of A2A that lists show. */
const Task = z.object({
  id: z.string(),
  contextId: z.string().optional(),
  status: z.object({ state: z.string(), timestamp: z.string().optional() }),
});
const LIST_TASKS = { method: 'ListTasks', answer: z.object({ tasks: z.array(Task) }) };

export interface ListedTask {
  readonly profile: string;
  readonly task: Read<typeof Task>;
}

export const changedAt = ({ status }: Read<typeof Task>): string => status.timestamp ?? '-';

/** The caller's tasks at all profiles that answer, the latest change first. Throws as `askProfiles`. */
export async function listTasks(
  among: readonly Reachable[],
  params: JsonObject,
): Promise<{ readonly tasks: readonly ListedTask[]; readonly asked: Asked<unknown> }> {
  const asked = await askProfiles(among, (target) =>
    fleetApi().rpc(target, LIST_TASKS, params, { timeoutMs: RPC_MS }),
  );
  const tasks = asked.answers
    .flatMap(({ profile, answer }) => answer.tasks.map((task) => ({ profile, task })))
    .toSorted((a, b) => (changedAt(a.task) < changedAt(b.task) ? 1 : -1));
  return { tasks, asked };
}
