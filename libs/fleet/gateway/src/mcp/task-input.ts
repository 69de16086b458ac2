import { definedFields, type JsonObject, PROTOCOL_VERSION } from '@hermes-fleet/protocol';
import {
  BranchName,
  OnBlocked,
  Priority,
  ReplySchema,
  RepositoryName,
  RequirementsWire,
} from '@hermes-fleet/protocol/handshake';
import { z } from 'zod';
import { readInput } from '../http/read-input.ts';

/** How long a tool call waits for a task by default, and at most, in seconds: clients give up on silent calls. */
const DEFAULT_WAIT_S = 45;
export const MAX_WAIT_S = 240;

const names = z.array(z.string().min(1).max(200)).optional();
/** A range of tiers is given by its lowest; the window follows from the brief. */
const { model_tier: _range, min_context_window: _window, ...others } = RequirementsWire.shape;
const REQUIREMENTS = {
  ...others,
  required_mcp: names.describe(others.required_mcp.description ?? ''),
  required_capabilities: names.describe(others.required_capabilities.description ?? ''),
};

export const WaitS = z
  .number()
  .min(0)
  .max(MAX_WAIT_S)
  .default(DEFAULT_WAIT_S)
  .describe(
    'Seconds to wait for the task to end or to ask; then the task goes on, and fleet_task waits again',
  );

export const TaskId = z.string().min(1).max(256).describe('The id of a task, as fleet_dispatch returned it');

/** The schema that clients see has no pattern: not all of them can read that of a branch. */
const Branch = z
  .string()
  .max(200)
  .superRefine((name, ctx) => {
    for (const { message } of BranchName.safeParse(name).error?.issues ?? [])
      ctx.addIssue({ code: 'custom', message });
  });

/** The contract of a task, in the terms of a TASK_DISPATCH (docs/handshake.md#task_dispatch). */
const CONTRACT = {
  brief: z
    .string()
    .min(1)
    .describe('The work to do, complete: the worker sees nothing of this conversation, and no file of yours'),
  to: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'A peer of fleet_peers, or auto for the one that suits best. Default: auto on a profile that orchestrates, else the profile itself',
    ),
  token_budget: z.int().positive().optional().describe('Ceiling on input and output tokens'),
  deadline: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('Time after which the task fails, RFC 3339 with an offset'),
  priority: Priority.optional().describe('Order in the queue; default: normal'),
  repository: z
    .strictObject(
      {
        name: RepositoryName.describe(
          'Name of the repository; fleet_peers lists it as the capability repository:<name>',
        ),
        base: Branch.optional().describe('Branch that the work starts from; default: as configured'),
      },
      {
        error: ({ code }) =>
          code === 'invalid_type' ? 'must be an object such as {"name": "web"}' : undefined,
      },
    )
    .optional()
    .describe('Repository that the task works on; later tasks of its context need not repeat it'),
  ...REQUIREMENTS,
  model_tier_min: z.string().max(100).optional().describe('Lowest model tier of the worker'),
  write: z.boolean().optional().describe('False if the task changes no files'),
  reply_schema: ReplySchema.optional().describe('Form of the reply; default: prose'),
  output_schema: z
    .record(z.string(), z.json())
    .optional()
    .describe('JSON Schema of the output; needs reply_schema json'),
  on_blocked: OnBlocked.optional().describe('When a worker refuses: reroute, queue or fail'),
};

export const RouteInput = z.strictObject(CONTRACT);

export const DispatchInput = z.strictObject({
  ...CONTRACT,
  task_id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Your name for the task: a repeated call with the same name and contract is the same task'),
  context_id: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('The context_id of an earlier task, to continue in its work tree and conversation'),
  wait_s: WaitS,
});

/** Reads the arguments of a tool; throws INVALID_PARAMS that names every wrong field. */
export const readToolArguments = <S extends z.ZodType>(
  tool: string,
  schema: S,
  input: unknown,
): z.output<S> => readInput(`the arguments of ${tool} are`, schema, input);

/** The TASK_DISPATCH of a contract. The same contract makes the same dispatch. */
export function dispatchOf(contract: z.output<typeof RouteInput>, taskId: string): JsonObject {
  const { brief, deadline, on_blocked, model_tier_min: min } = contract;
  const { priority, reply_schema, token_budget, output_schema, write, repository } = contract;
  const task = definedFields({
    task_id: taskId,
    priority,
    reply_schema,
    token_budget,
    output_schema,
    write,
    repository: repository && definedFields(repository),
  });
  const requirements = {
    ...z.object(REQUIREMENTS).parse(contract),
    ...(min !== undefined && { model_tier: { min } }),
  };
  const routing = definedFields({ target: contract.to, on_blocked });
  return {
    type: 'TASK_DISPATCH',
    protocol_version: PROTOCOL_VERSION,
    task,
    ...(Object.keys(requirements).length > 0 && { requirements }),
    ...(deadline !== undefined && { deadline }),
    brief,
    ...(Object.keys(routing).length > 0 && { routing }),
  };
}
