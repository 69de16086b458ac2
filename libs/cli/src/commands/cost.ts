import type { JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { fleetClient, REACH_OPTIONS, reachable } from '../command-line/reachable.ts';
import { findTask } from '../task/find-task.ts';

const { url: _, 'token-env': __, ...FLEET } = REACH_OPTIONS;

/** `fleet cost`: the tokens of a task, or the ceilings on spending of a profile and what is left below them. */
export const costCommand = command({
  name: 'cost',
  summary: 'print the tokens of a task, or what is left of the ceilings on spending',
  args: '[id]',
  options: FLEET,
  examples: ['cost 01a20cd2-…', 'cost --profile neo'],
  run: async ({ values, positionals, env, print }) => {
    const [id, ...more] = positionals;
    if (more.length > 0) throw new UsageError('cost takes the id of one task');
    const client = fleetClient();
    const profiles = await reachable(client, values, env);
    const at = id === undefined ? profiles[0] : (await findTask(client, profiles, id)).at;
    if (at?.target === undefined) throw new UsageError('cost asks a profile of the fleet');
    const path = id === undefined ? '/fleet/spending' : `/fleet/tasks/${encodeURIComponent(id)}/cost`;
    const answer = await callApi(at.target, path);
    if (print) print(answer);
    else printLines(id === undefined ? renderSpending(answer) : renderCost(answer));
    return 0;
  },
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

function renderSpending(spending: JsonObject): string[] {
  const figures = (name: string, of: JsonObject): string[] => [
    name,
    ...['tokens_per_day', 'spent', 'reserved', 'left'].map((key) => textAt(of, key)),
  ];
  const callers = objectAt(spending, 'callers');
  return [
    ...columns(
      ['who', 'per day', 'spent', 'reserved', 'left'],
      [
        figures(textAt(spending, 'profile'), objectAt(spending, 'own')),
        ...Object.keys(callers).map((name) => figures(name, objectAt(callers, name))),
      ],
    ),
    `a tree of tasks may spend ${textAt(spending, 'tokens_per_task_tree')}; the day ends at ${textAt(spending, 'frees_at')}`,
  ];
}
