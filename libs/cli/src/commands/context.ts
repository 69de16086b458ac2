import type { JsonObject } from '@hermes-fleet/protocol';
import { objectsAt, textAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/options.ts';
import { printLines } from '../command-line/output.ts';
import { findProfile, requireFleet } from '../command-line/running-fleet.ts';
import { contextDeleteUsage } from '../usage/fleet.ts';

const MODES = ['keep', 'delete'];

/**
 * `fleet context delete <context-id>`: deletes a context of the operator, here and at the peers that did work of it
 * (docs/operations.md#delete-a-context). The exit code is 1 if something is left that nobody will delete.
 */
export const contextDeleteCommand = command(
  contextDeleteUsage,
  async ({ values, positionals, stdin, stdout, print }) => {
    const [contextId, ...rest] = positionals;
    if (!contextId || rest.length > 0) throw new UsageError('context delete takes the id of one context');
    if (contextId === '.' || contextId === '..')
      throw new UsageError(`no URL can name the context "${contextId}": only the retention removes it`);
    const { results = 'keep' } = values;
    if (!MODES.includes(results)) throw new UsageError(`--results must be keep or delete, not "${results}"`);
    return requireFleet(async () => {
      const { target } = await findProfile(values, stdin);
      const path = `/fleet/contexts/${encodeURIComponent(contextId)}?results=${results}`;
      const answer = await callApi(target, path, undefined, 'DELETE');
      if (print) print(answer);
      else printLines(stdout, render(target.name, answer));
      const left = objectsAt(answer, 'peers').filter(
        ({ state }) => state !== 'deleted' && state !== 'pending',
      );
      return left.length === 0 ? 0 : 1;
    });
  },
);

const RESULT_TEXTS: Readonly<Record<string, string>> = {
  none: 'it has no result',
  merged: 'its result is merged, and its branch is deleted',
  kept: 'its result is not merged, and its branch is kept',
  deleted: 'its result is deleted',
  pending: 'its files, or what it left in the ledger, are not removed yet',
};

function render(profile: string, answer: JsonObject): string[] {
  const result = textAt(answer, 'result');
  const files = answer.files === true ? 'its files are removed; ' : '';
  const peers = objectsAt(answer, 'peers');
  const isPending = result === 'pending' || peers.some(({ state }) => state === 'pending');
  return [
    `${profile}: context ${textAt(answer, 'context_id')}: tasks deleted: ${textAt(answer, 'tasks')}; ${files}${RESULT_TEXTS[result] ?? result}`,
    ...peers.map((peer) => {
      const detail = peer.detail === undefined ? '' : `: ${textAt(peer, 'detail')}`;
      return `  ${textAt(peer, 'peer')}: ${textAt(peer, 'state')}${detail}`;
    }),
    ...(isPending ? [`${profile} goes on with what is pending; the same command shows how far it is`] : []),
  ];
}
