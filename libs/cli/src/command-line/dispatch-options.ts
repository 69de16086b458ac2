import { randomUUID } from 'node:crypto';
import { FleetError, type JsonObject, PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import { decodeDispatch } from '@hermes-fleet/protocol/handshake';
import type { Values } from './command.ts';
import { invalidOptions } from './field-errors.ts';
import { definedFields, wholeNumber } from './options.ts';
import { DISPATCH_OPTIONS } from './shared-options.ts';

/** The options by the fields of a dispatch; `send` and `route` name the target differently. */
const optionOfField = (target: string): Readonly<Record<string, string>> => ({
  'task.task_id': 'task-id',
  'task.priority': 'priority',
  'task.token_budget': 'budget',
  'requirements.required_mcp': 'mcp',
  'requirements.required_capabilities': 'capability',
  'requirements.model_tier.min': 'tier-min',
  'requirements.model_tier.max': 'tier-max',
  'requirements.model_tier.prefer': 'tier-prefer',
  'requirements.min_context_window': 'context-window',
  brief: 'brief',
  deadline: 'deadline',
  'routing.target': target,
});

type Given = Values<typeof DISPATCH_OPTIONS>;
type Value = Given[keyof Given];

export const describesDispatch = (values: Given): boolean =>
  Object.keys(DISPATCH_OPTIONS).some((key) => key in values);

/**
 * Builds a TASK_DISPATCH from options. Throws UsageError that names every invalid option; `targetOption` is the one for the
 * target.
 */
export function dispatchOf(values: Given, targetOption = 'target'): JsonObject {
  const dispatch: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: PROTOCOL_VERSION,
    task: definedFields({
      task_id: text(values['task-id']) ?? randomUUID(),
      priority: text(values.priority),
      token_budget: number('budget', values.budget),
      write: values['read-only'] === true ? false : undefined,
    }),
    requirements: definedFields({
      required_mcp: names(values.mcp),
      required_capabilities: names(values.capability),
      model_tier: definedFields({
        min: text(values['tier-min']),
        max: text(values['tier-max']),
        prefer: text(values['tier-prefer']),
      }),
      min_context_window: number('context-window', values['context-window']),
    }),
    ...definedFields({ deadline: text(values.deadline) }),
    brief: text(values.brief) ?? 'Where would this go?',
    routing: { target: text(values.target) ?? 'auto' },
  };
  try {
    decodeDispatch(dispatch);
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'INVALID_PARAMS')) throw error;
    throw invalidOptions(error.fields, optionOfField(targetOption));
  }
  return dispatch;
}

const text = (value: Value): string | undefined => (typeof value === 'string' ? value : undefined);

function number(name: string, value: Value): number | undefined {
  return typeof value === 'string' ? wholeNumber(name, value, 0) : undefined;
}

/** Values of an option that may be repeated and may hold a comma-separated list. */
function names(value: Value): string[] | undefined {
  if (typeof value !== 'object') return undefined;
  return value.flatMap((each) => each.split(',')).map((each) => each.trim());
}
