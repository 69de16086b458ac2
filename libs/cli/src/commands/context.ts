import type { Read } from '@hermes-fleet/net/api';
import { FLEET } from '@hermes-fleet/protocol/api';
import { fleetApi } from '../client/api.ts';
import { command } from '../command-line/command.ts';
import { oneArgument, UsageError } from '../command-line/option-values.ts';
import { contextDeleteUsage } from '../command-specs/fleet.ts';
import { findProfile } from '../running/running-fleet.ts';

const MODES = ['keep', 'delete'];

/**
 * `fleet context delete <context-id>`: deletes a context of the operator, here and at the peers that did work of it
 * (docs/operations.md#delete-a-context). The exit code is 1 if something is left that nobody will delete.
 */
const contextDeleteCommand = command(contextDeleteUsage, async ({ values, positionals, env, show }) => {
  const id = oneArgument(positionals, 'context delete takes the id of one context');
  if (id === '.' || id === '..')
    throw new UsageError(`no URL can name the context "${id}": only the retention removes it`);
  const { results = 'keep' } = values;
  if (!MODES.includes(results)) throw new UsageError(`--results must be keep or delete, not "${results}"`);
  const target = await findProfile(values, env);
  const answer = await fleetApi().call(target, FLEET.deleteContext, { params: { id }, query: { results } });
  show(answer, () => render(target.name, answer));
  return answer.peers.every(({ state }) => state === 'deleted' || state === 'pending') ? 0 : 1;
});

export const commands = [contextDeleteCommand];

const RESULT_TEXTS: Readonly<Record<string, string>> = {
  none: 'it has no result',
  merged: 'its result is merged, and its branch is deleted',
  kept: 'its result is not merged, and its branch is kept',
  deleted: 'its result is deleted',
  pending: 'its files, or what it left in the ledger, are not removed yet',
};

function render(profile: string, answer: Read<typeof FLEET.deleteContext>): string[] {
  const { context_id, tasks, files, result, peers } = answer;
  const isPending = result === 'pending' || peers.some(({ state }) => state === 'pending');
  return [
    `${profile}: context ${context_id}: tasks deleted: ${tasks}; ${files ? 'its files are removed; ' : ''}${RESULT_TEXTS[result] ?? result}`,
    ...peers.map(
      ({ peer, state, detail }) => `  ${peer}: ${state}${detail === undefined ? '' : `: ${detail}`}`,
    ),
    ...(isPending ? [`${profile} goes on with what is pending; the same command shows how far it is`] : []),
  ];
}
