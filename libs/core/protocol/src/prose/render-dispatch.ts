import type { TaskDispatch } from '../handshake/dispatch.ts';
import { reportInstructions } from './report-instructions.ts';

const HEADING = 'TASK DISPATCH (inline)';

/**
 * Renders a dispatch for a prose peer (docs/handshake.md#to-a-prose-peer): a block of hints, the brief, and the report
 * instructions. Fields that only concern the fleet (path, parent, routing, unknown fields) are omitted. `parseHints`
 * restores the contract.
 */
export function renderDispatchText({ task, requirements, deadline, ...dispatch }: TaskDispatch): string {
  const replySchema = task.replySchema ?? 'prose';
  const tier = requirements?.modelTier;
  const hints: [string, string | undefined][] = [
    ['protocol_version', word(dispatch.protocolVersion)],
    ['task_id', word(task.taskId)],
    ['priority', task.priority ?? 'normal'],
    ['reply_schema', replySchema],
    ['token_budget', json(task.tokenBudget)],
    ['write', json(task.write)],
    ['fresh', json(task.fresh)],
    ['required_mcp', list(requirements?.requiredMcp)],
    ['required_capabilities', list(requirements?.requiredCapabilities)],
    ['model_tier', tier && map({ min: tier.min, max: tier.max, prefer: tier.prefer })],
    ['min_context_window', json(requirements?.minContextWindow)],
    ['output_schema', json(task.outputSchema)],
    ['deadline', deadline],
  ];
  const block = hints.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  const head = [HEADING, ...block, `Brief: ${dispatch.brief}`].join('\n');
  return `${head}\n\n${reportInstructions(task.taskId, replySchema)}`;
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
/** Words that YAML may not read as text. */
const SPECIAL = /^(?:true|false|yes|no|on|off|null|y|n)$/i;

function word(text: string): string {
  return PLAIN.test(text) && !SPECIAL.test(text) ? text : JSON.stringify(text);
}

function list(names: readonly string[] | undefined): string | undefined {
  return names && `[${names.map(word).join(', ')}]`;
}

function map(fields: Readonly<Record<string, string | undefined>>): string {
  const known = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}: ${word(value)}`],
  );
  return `{${known.join(', ')}}`;
}

function json(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
