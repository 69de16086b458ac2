import { type A2AClient, type PeerTask, peerErrorCode } from '@hermes-fleet/a2a/client';
import { FleetError } from '@hermes-fleet/protocol';
import { oneArgument } from '../command-line/option-values.ts';
import { fleetClient, type Reachable, type ReachValues, reachable } from '../running/reachable.ts';
import { listTasks } from './list-tasks.ts';

const CALL_MS = 15_000;
/** Stands for the id of the caller's task that changed last. */
const LATEST = 'latest';

/**
 * Asks one profile after the other for a task of the operator, or the one agent for a task. When none has it, throws the
 * first refusal for another reason, else PEER_UNREACHABLE when none answers, else TASK_NOT_FOUND.
 */
export async function findTask(
  client: A2AClient,
  among: readonly Reachable[],
  wanted: string,
): Promise<{ readonly at: Reachable; readonly task: PeerTask }> {
  const isOfFleet = among.some(({ target }) => target !== undefined);
  const id = wanted === LATEST && isOfFleet ? await latestOf(among) : wanted;
  const silent: string[] = [];
  let refusal: FleetError | undefined;
  for (const at of among) {
    try {
      return { at, task: await client.getTask(at.endpoint, id, { timeoutMs: CALL_MS }) };
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      if (error.code === 'PEER_UNREACHABLE' && at.target === undefined) throw error;
      if (error.code === 'PEER_UNREACHABLE') silent.push(at.name);
      else if (peerErrorCode(error) !== 'TASK_NOT_FOUND') refusal ??= error;
    }
  }
  if (refusal) throw refusal;
  const names = among.map(({ name }) => name).join(', ');
  if (silent.length === among.length) throw new FleetError('PEER_UNREACHABLE', `no answer of ${names}`);
  const rest = silent.length === 0 ? '' : `; ${silent.join(', ')} did not answer`;
  throw new FleetError('TASK_NOT_FOUND', `${names}: no such task of yours: ${id}${rest}`);
}

/** The task that the one argument of a command names, with the client that found it. Throws UsageError, and as `findTask`. */
export async function namedTask(
  name: string,
  { values, env }: { readonly values: ReachValues; readonly env: NodeJS.ProcessEnv },
  positionals: readonly string[],
) {
  const id = oneArgument(positionals, `${name} takes the id of one task`);
  const client = fleetClient();
  return { client, ...(await findTask(client, await reachable(client, values, env), id)) };
}

async function latestOf(among: readonly Reachable[]): Promise<string> {
  const { tasks } = await listTasks(among, { pageSize: 1 });
  const [latest] = tasks;
  if (latest) return latest.task.id;
  throw new FleetError('TASK_NOT_FOUND', `${among.map(({ name }) => name).join(', ')}: no task of yours`);
}
