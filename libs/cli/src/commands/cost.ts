import type { Read } from '@hermes-fleet/net/api';
import { FLEET } from '@hermes-fleet/protocol/api';
import { fleetApi } from '../client/api.ts';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import { type Cell, columns } from '../command-line/output.ts';
import { costUsage } from '../command-specs/tasks.ts';
import { askProfiles, nameSilent } from '../running/ask-profiles.ts';
import { fleetClient, reachable } from '../running/reachable.ts';
import { findTask } from '../task/find-task.ts';

/** `fleet cost`: the tokens of a task, or the ceilings on spending of each profile and what is left below them. */
const costCommand = command(costUsage, async ({ values, positionals, env, stderr, print, show }) => {
  const [id, ...more] = positionals;
  if (more.length > 0) throw new UsageError('cost takes the id of one task');
  const client = fleetClient();
  const profiles = await reachable(client, values, env);
  if (id === undefined) {
    const asked = await askProfiles(profiles, (target) => fleetApi().call(target, FLEET.spending));
    const { answers, silent } = asked;
    show({ profiles: answers.map(({ answer }) => answer), silent }, renderSpending);
    if (!print) nameSilent(stderr, asked, 'not shown');
    return silent.length > 0 ? 1 : 0;
  }
  const { at, task } = await findTask(client, profiles, id);
  if (at.target === undefined) throw new UsageError('cost asks a profile of the fleet');
  show(await fleetApi().call(at.target, FLEET.cost, { params: { id: task.id } }), renderCost);
  return 0;
});

export const commands = [costCommand];

const COST_HEAD = ['kind', 'source', 'model', 'calls', 'in', 'out', 'cached'];

function renderCost(cost: Read<typeof FLEET.cost>): string[] {
  const { budget, tokens_spent, delegated_tokens, state, entries } = cost;
  const limit = budget === null ? '' : ` of ${budget.token_budget}`;
  const rows = entries.map((each) => [
    ...[each.kind, each.source, each.model, each.calls],
    ...[each.input_tokens, each.output_tokens, each.cache_read_tokens],
  ]);
  return [
    `${tokens_spent}${limit} tokens, ${delegated_tokens} of them by peers; ${state}`,
    ...(rows.length > 0 ? ['', ...columns(COST_HEAD, rows)] : []),
  ];
}

type Spending = Read<typeof FLEET.spending>;

/** Callers without tokens and ceiling are left out. Only own calls add up: peers count a caller's tokens too. */
function renderSpending({ profiles }: { readonly profiles: readonly Spending[] }): string[] {
  const rows = profiles.flatMap(({ profile, own, callers, tokens_per_task_tree }) => {
    const figures = (who: string, of: Spending['own']): Cell[] => [
      ...[profile, who],
      ...[of.tokens_per_day, of.spent, of.reserved, of.left],
    ];
    const active = Object.entries(callers).filter(
      ([, of]) => of.tokens_per_day || of.spent || of.reserved || of.left,
    );
    return [
      [...figures('own calls', own), tokens_per_task_tree],
      ...active.map(([name, of]) => figures(name, of)),
    ];
  });
  const spent = profiles.reduce((sum, { own }) => sum + own.spent, 0);
  const frees = profiles.map(({ frees_at }) => frees_at).toSorted();
  return [
    ...columns(['profile', 'tokens of', 'per day', 'spent', 'reserved', 'left', 'per task tree'], rows),
    `own calls together: ${spent} tokens; the day ends at ${frees[0]}`,
  ];
}
