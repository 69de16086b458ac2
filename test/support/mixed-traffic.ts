import { randomUUID } from 'node:crypto';
import { shell, tool } from './agent-work.ts';
import { until } from './fleet.ts';
import { call, type DispatchOptions, dispatch, message, resultOf, runbook, type Target } from './rpc.ts';

/** Markup in a brief and in a result. It must stay text wherever it is shown. */
export const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>';

/** A task of the traffic, and how far it comes without a further word. */
interface Planned extends DispatchOptions {
  readonly taskId: string;
  readonly comes: 'done' | 'blocked' | 'error' | 'canceled' | 'running' | 'input_required';
}

const work = (file: string, content: string): string =>
  runbook(file, content, `cat ${file}`, `wc -l ${file}`);
const lasts = shell('sleep 240');
const asks = tool('ask_caller', { question: 'Which region?' });
const halves = [
  tool('fleet_peers', {}),
  tool('fleet_send', { agent: 'neo', brief: work('half.md', 'The first half.'), write: false }),
  tool('delegate', { agent: 'morpheus', brief: shell('echo the second half') }),
  shell('echo both halves'),
].join('\n\n');
const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
const budget = (token_budget: number, priority = 'normal') => ({ token_budget, priority });
const requires = (...required_mcp: readonly string[]) => ({ required_mcp });

/** One task of every kind, and several that are blocked for different reasons. */
const planned = (): readonly Planned[] => [
  { taskId: 'release-notes', comes: 'done', brief: work('notes.md', 'Notes.'), task: budget(60_000) },
  {
    taskId: 'port-parser-tests',
    comes: 'done',
    brief: work('parser.md', MARKUP),
    task: budget(40_000, 'low'),
    deadline: inMinutes(30),
  },
  {
    taskId: 'review-ledger',
    comes: 'done',
    brief: work('review.md', 'A review.'),
    requirements: { model_tier: { min: 'opus' }, ...requires('filesystem') },
    task: budget(90_000, 'urgent'),
  },
  {
    taskId: 'both-halves',
    comes: 'done',
    brief: halves,
    task: budget(900_000),
    routing: { target: 'switch' },
  },
  { taskId: 'failing-check', comes: 'error', brief: shell('test -e no-such-file'), task: budget(50_000) },
  {
    taskId: 'open-issue',
    comes: 'blocked',
    brief: 'Open it.',
    requirements: requires('github'),
    task: budget(30_000),
  },
  {
    taskId: 'triage-issues',
    comes: 'blocked',
    brief: 'Sort them.',
    requirements: requires('github', 'jira'),
    task: budget(80_000),
  },
  {
    taskId: 'train-model',
    comes: 'blocked',
    brief: 'Train it.',
    requirements: { required_capabilities: ['gpu'] },
    task: budget(500_000),
  },
  {
    taskId: 'whole-archive',
    comes: 'blocked',
    brief: 'Read it.',
    requirements: { min_context_window: 2_000_000 },
    task: budget(150_000),
  },
  { taskId: 'one-token', comes: 'blocked', brief: 'Answer.', task: budget(1) },
  {
    taskId: 'too-late',
    comes: 'error',
    brief: shell('sleep 60'),
    task: budget(20_000),
    deadline: inMinutes(0.1),
  },
  {
    taskId: 'not-needed',
    comes: 'canceled',
    brief: lasts,
    task: budget(20_000),
    routing: { target: 'morpheus' },
  },
  {
    taskId: 'which-region',
    comes: 'input_required',
    brief: asks,
    task: budget(25_000, 'high'),
    deadline: inMinutes(45),
  },
  {
    taskId: 'nightly-build',
    comes: 'running',
    brief: lasts,
    task: budget(40_000, 'high'),
    deadline: inMinutes(4),
  },
];

/**
 * Sends tasks of every kind to a fleet, and decisions to its trader, as the operator. Resolves with the A2A ids at switch
 * by task_id, when each task has come as far as it comes.
 */
export async function sendMixedTraffic(
  target: (profile: string) => Target,
): Promise<ReadonlyMap<string, string>> {
  const entry = target('switch');
  const sent = await Promise.all([
    ...planned().map((task) => sendOne(entry, task)),
    decide(target('trader')),
  ]);
  return new Map(sent.filter((pair) => pair !== undefined));
}

async function sendOne(entry: Target, { comes, ...options }: Planned): Promise<[string, string]> {
  const params = message(dispatch({ routing: { target: 'auto' }, ...options }), { returnImmediately: true });
  const { body } = await call(entry, 'SendMessage', params);
  const id: string | undefined = body.result?.task.id;
  if (id === undefined) throw new Error(`${options.taskId}: ${JSON.stringify(body)}`);
  const get = async () => (await call(entry, 'GetTask', { id })).body.result;
  const reaches = (state: string): Promise<void> =>
    until(async () => (await get()).status.state === `TASK_STATE_${state}`, `${options.taskId}: ${state}`);
  if (comes === 'running' || comes === 'canceled') await reaches('WORKING');
  if (comes === 'canceled') await call(entry, 'CancelTask', { id });
  if (comes === 'input_required') await reaches('INPUT_REQUIRED');
  if (comes !== 'running' && comes !== 'input_required')
    await until(async () => {
      const result = resultOf(await get());
      if (result !== undefined && (result.error?.code ?? result.status) !== comes && result.status !== comes)
        throw new Error(`${options.taskId} is not ${comes}: ${JSON.stringify(result)}`);
      return result !== undefined;
    }, `${options.taskId} to be ${comes}`);
  return [options.taskId, id];
}

/** A decision that is applied, its copy, and one that is refused. */
async function decide(trader: Target): Promise<undefined> {
  const { strategies } = (await call(trader, 'list_strategies', {})).body.result;
  const of = (status: string) =>
    strategies.find((strategy: { status: string }) => strategy.status === status);
  const [active, standby] = [of('active'), of('standby')];
  const decision = {
    decision_id: randomUUID(),
    concern_id: `${standby.account_id}:${standby.market_symbol}`,
    account_id: standby.account_id,
    market_symbol: standby.market_symbol,
    action: 'switch',
    target_strategy_id: standby.id,
    expected_active_strategy_id: active.id,
    reason: 'the range is left',
    confidence: 0.8,
    requested_at: new Date().toISOString(),
  };
  const refused = { ...decision, decision_id: randomUUID(), requested_at: new Date().toISOString() };
  for (const [sent, expected] of [
    [decision, 'applied'],
    [decision, 'noop'],
    [refused, 'rejected'],
  ] as const) {
    const { body } = await call(trader, 'apply_control_decision', sent);
    if (body.result?.status !== expected) throw new Error(`not ${expected}: ${JSON.stringify(body)}`);
  }
  return undefined;
}
