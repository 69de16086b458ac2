import type { JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { askProfiles, nameSilent } from '../command-line/ask-profiles.ts';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { fleetClient, reachable } from '../command-line/reachable.ts';
import { findTask } from '../task/find-task.ts';
import { costUsage } from '../usage/tasks.ts';

/** `fleet cost`: the tokens of a task, or the ceilings on spending of each profile and what is left below them. */
export const costCommand = command(costUsage, async ({ values, positionals, env, stdout, stderr, print }) => {
  const [id, ...more] = positionals;
  if (more.length > 0) throw new UsageError('cost takes the id of one task');
  const client = fleetClient();
  const profiles = await reachable(client, values, env);
  if (id === undefined) {
    const asked = await askProfiles(profiles, (target) => callApi(target, '/fleet/spending'));
    const { answers, silent } = asked;
    if (print) print({ profiles: answers.map(({ answer }) => answer), silent });
    else printLines(stdout, renderSpending(answers.map(({ answer }) => answer)));
    if (!print) nameSilent(stderr, asked, 'not shown');
    return silent.length > 0 ? 1 : 0;
  }
  const { at } = await findTask(client, profiles, id);
  if (at.target === undefined) throw new UsageError('cost asks a profile of the fleet');
  const answer = await callApi(at.target, `/fleet/tasks/${encodeURIComponent(id)}/cost`);
  if (print) print(answer);
  else printLines(stdout, renderCost(answer));
  return 0;
});

function renderCost(cost: JsonObject): string[] {
  const budget = objectAt(cost, 'budget');
  const limit = cost.budget === null ? '' : ` of ${textAt(budget, 'token_budget')}`;
  const keys = ['kind', 'source', 'model', 'calls', 'input_tokens', 'output_tokens', 'cache_read_tokens'];
  const rows = objectsAt(cost, 'entries').map((entry) => keys.map((key) => textAt(entry, key)));
  return [
    `${textAt(cost, 'tokens_spent')}${limit} tokens, ${textAt(cost, 'delegated_tokens')} of them by peers; ${textAt(cost, 'state')}`,
    ...(rows.length === 0
      ? []
      : ['', ...columns(['kind', 'source', 'model', 'calls', 'in', 'out', 'cached'], rows)]),
  ];
}

const FIGURES = ['tokens_per_day', 'spent', 'reserved', 'left'];

/** Callers without tokens and ceiling are left out. Only own calls add up: peers count a caller's tokens too. */
function renderSpending(profiles: readonly JsonObject[]): string[] {
  const rows = profiles.flatMap((spending) => {
    const figures = (who: string, of: JsonObject): string[] => [
      textAt(spending, 'profile'),
      who,
      ...FIGURES.map((key) => textAt(of, key)),
    ];
    const callers = objectAt(spending, 'callers');
    return [
      [...figures('own calls', objectAt(spending, 'own')), textAt(spending, 'tokens_per_task_tree')],
      ...Object.keys(callers)
        .map((name) => ({ name, of: objectAt(callers, name) }))
        .filter(({ of }) => FIGURES.some((key) => typeof of[key] === 'number' && of[key] !== 0))
        .map(({ name, of }) => figures(name, of)),
    ];
  });
  const spent = profiles.reduce((sum, each) => sum + Number(objectAt(each, 'own').spent ?? 0), 0);
  const frees = profiles.map((each) => textAt(each, 'frees_at')).toSorted();
  return [
    ...columns(['profile', 'tokens of', 'per day', 'spent', 'reserved', 'left', 'per task tree'], rows),
    `own calls together: ${spent} tokens; the day ends at ${frees[0]}`,
  ];
}
