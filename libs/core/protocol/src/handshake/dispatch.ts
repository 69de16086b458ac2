import { z } from 'zod';
import { invalidParams } from '../errors.ts';
import type { Camel } from '../wire/casing.ts';
import { decodeWith, encodeWith } from '../wire/codec.ts';
import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { isCompatible, majorOf, ProtocolVersion } from '../wire/version.ts';
import { outputSchemaProblem } from './output-schema.ts';
import { MAX_NAMES, RequirementsWire, unmet } from './requirements.ts';
import type { Unmet } from './result.ts';

export const Priority = z.enum(['low', 'normal', 'high', 'urgent']);
export type Priority = z.infer<typeof Priority>;
export const ReplySchema = z.enum(['prose', 'structured', 'json']);
export type ReplySchema = z.infer<typeof ReplySchema>;
export const OnBlocked = z.enum(['reroute', 'queue', 'fail']);
export type OnBlocked = z.infer<typeof OnBlocked>;
export const WhenFull = z.enum(['queue', 'refuse']);

/** The maximum number of profiles in `task.path` (docs/handshake.md#task_dispatch). */
export const MAX_PATH = 8;

const id = z.string().min(1).max(200);

const OutputSchema = z.record(z.string(), z.unknown()).superRefine((schema, ctx) => {
  const problem = isJsonObject(schema) ? outputSchemaProblem(schema) : 'must be a JSON object';
  if (problem !== undefined) ctx.addIssue({ code: 'custom', message: problem });
});

/** The name of a configured repository, as dispatches and capabilities have it. */
export const RepositoryName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be 1 to 63 letters, digits, ".", "_" or "-"');

const BRANCH = 'must be the name of a branch, such as main or release/1.2';

/** The name of a branch. Git refuses others, and reads some of them as options or patterns. */
export const BranchName = z
  .string()
  .max(200)
  .regex(/^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\/\.|\.lock(?:\/|$)))[^\s~^:?*[\\]+(?<![/.])$/u, BRANCH)
  .refine((name) => !/\p{C}/u.test(name), BRANCH);

const COMMIT_ID = /^[0-9a-f]{40}$/;

const repository = z
  .looseObject({
    name: RepositoryName.optional().describe('Name of a repository that the worker has in its configuration'),
    bundle: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256, as 64 digits of hex')
      .optional()
      .describe("SHA-256 of a git bundle of the caller's checkout, which the receiver was sent before"),
    base: BranchName.optional().describe(
      'With bundle, the commit that it has; else the branch that the context starts from, by default as the worker has it in its configuration',
    ),
    token: z
      .string()
      .max(200)
      .optional()
      .describe('Opens the bundle at the orchestrator that set it, for this task'),
  })
  .superRefine(({ name, bundle, base }, ctx) => {
    if (name === undefined && bundle === undefined)
      ctx.addIssue({ code: 'custom', path: ['name'], message: 'is required without bundle' });
    if (bundle !== undefined && !COMMIT_ID.test(base ?? ''))
      ctx.addIssue({
        code: 'custom',
        path: ['base'],
        message: 'must be the commit of the bundle, as 40 digits of hex',
      });
  });

const parent = z.looseObject({
  task_id: id.describe('task_id of the parent'),
  profile: id.describe('Profile that delegated the task'),
});

const task = z.looseObject({
  task_id: id.describe("The caller's name for the task: the same name and contract mean the same task"),
  priority: Priority.optional().describe('Order in the queue and depth of verification; default: normal'),
  reply_schema: ReplySchema.optional().describe('Form of the reply; default: prose'),
  token_budget: z.int().positive().optional().describe('Ceiling on input plus output tokens'),
  output_schema: OutputSchema.optional().describe(
    'JSON Schema 2020-12, at most 32 KiB, for the output of a json reply; an unusable schema is rejected',
  ),
  write: z
    .boolean()
    .optional()
    .describe(
      'True if the task changes files; default: true if file, patch, terminal or nothing is required',
    ),
  fresh: z
    .boolean()
    .optional()
    .describe('True if the task begins a new conversation instead of continuing that of its context'),
  conversation: id
    .optional()
    .describe('Name of the conversation within its context, set by an orchestrator that has many callers'),
  repository: repository
    .optional()
    .describe('Repository of the context; requires the capability repository:<name>'),
  parent: parent.optional().describe('Task that this task is a part of'),
  root_id: id.optional().describe('First task of the chain'),
  root_caller: id
    .optional()
    .describe('Caller of the first task of the chain; believed only from members of the fleet'),
  path: z
    .array(id)
    .max(64)
    .optional()
    .describe('Profiles that the task passed through; at most 8, without repeats'),
});

const routing = z.looseObject({
  target: id.optional().describe('Name of a peer, or auto'),
  on_blocked: OnBlocked.optional().describe('Action when a worker refuses'),
  max_attempts: z.int().min(1).max(20).optional().describe('Maximum number of workers to ask'),
  when_full: WhenFull.optional().describe(
    'Action of a worker without a free slot: queue the task, or refuse it; default: queue',
  ),
  accept_until: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("Time after which the receiver refuses a task that is new to it, by the receiver's clock"),
});

/** Message 2 of the handshake: the execution contract (docs/handshake.md#task_dispatch). */
export const TaskDispatchWire = z
  .looseObject({
    type: z.literal('TASK_DISPATCH').describe('Type of the message'),
    protocol_version: ProtocolVersion.describe('Version of the message'),
    task: task.describe('The contract'),
    requirements: RequirementsWire.optional().describe('Conditions to meet before a token is spent'),
    deadline: z.iso.datetime({ offset: true }).optional().describe('Deadline, with a time zone offset'),
    brief: z.string().min(1).describe('The work to do'),
    routing: routing.optional().describe('Choice of the worker'),
  })
  .meta({ title: 'TASK_DISPATCH', description: 'Work under a contract' });

export type TaskDispatch = Camel<z.output<typeof TaskDispatchWire>>;

const REPOSITORY = 'repository:';

/** The capability of a worker that has the repository in its configuration. */
export const repositoryCapability = (name: string): string => REPOSITORY + name;

/** The name that checkouts have among the repositories of a worker. No configured repository has it. */
const CHECKOUT = 'bundle';

/** The capability of a worker that works on bundles of checkouts. */
export const BUNDLE_CAPABILITY = repositoryCapability(CHECKOUT);

/** The names of the configured repositories among the capabilities of a worker. */
export const repositoriesAmong = (capabilities: readonly string[]): string[] =>
  capabilities.flatMap((each) =>
    each.startsWith(REPOSITORY) && each !== BUNDLE_CAPABILITY ? [each.slice(REPOSITORY.length)] : [],
  );

/**
 * Decodes a TASK_DISPATCH; INVALID_PARAMS names every invalid field. One with a repository requires its capabilities, also where the
 * sender does not say so: a worker that ignores `task.repository`, as those of older releases do, then refuses it.
 */
export function decodeDispatch(wire: unknown): TaskDispatch {
  const dispatch: TaskDispatch = decodeWith(TaskDispatchWire, wire);
  const { task, requirements = {} } = dispatch;
  if (task.repository === undefined) return dispatch;
  const { name, bundle } = task.repository;
  const { requiredCapabilities = [] } = requirements;
  const needed = [
    ...(name === undefined ? [] : [repositoryCapability(name)]),
    ...(bundle === undefined ? [] : [BUNDLE_CAPABILITY]),
  ].filter((capability) => !requiredCapabilities.includes(capability));
  if (needed.length === 0) return dispatch;
  const all = [...requiredCapabilities, ...needed];
  if (all.length > MAX_NAMES)
    throw invalidParams(
      'requirements.required_capabilities',
      `has ${requiredCapabilities.length} names, and task.repository adds ${needed.map((each) => `"${each}"`).join(' and ')}: at most ${MAX_NAMES} are allowed`,
    );
  return { ...dispatch, requirements: { ...requirements, requiredCapabilities: all } };
}

export function encodeDispatch(dispatch: TaskDispatch): JsonObject {
  return encodeWith(TaskDispatchWire, dispatch);
}

const WRITING_CAPABILITIES = new Set(['file', 'patch', 'terminal', 'write_file', 'edit_file', 'shell_exec']);

/** `task.write`, or its default: true when the task requires a writing capability, or none but its repository. */
export function isWriteTask(dispatch: TaskDispatch): boolean {
  if (dispatch.task.write !== undefined) return dispatch.task.write;
  const required = (dispatch.requirements?.requiredCapabilities ?? []).filter(
    (name) => !name.startsWith(REPOSITORY),
  );
  return required.length === 0 || required.some((name) => WRITING_CAPABILITIES.has(name));
}

/** A decoded TASK_DISPATCH, or the unmet version of a dispatch of a foreign major version. */
export type Reading =
  | { readonly kind: 'dispatch'; readonly taskId: string; readonly dispatch: TaskDispatch }
  | { readonly kind: 'foreign'; readonly taskId: string | undefined; readonly unmet: Unmet[] };

const MAX_ID_LENGTH = 200;

/** The declared version of a dispatch; empty without a readable one. */
export function versionOf({ protocol_version: version }: JsonObject): string {
  return typeof version === 'string' ? version : '';
}

/**
 * Reads a TASK_DISPATCH as a speaker of the versions `spoken`. A foreign major version is detected before any other
 * field is read (docs/handshake.md#versions); any other invalid field throws INVALID_PARAMS.
 */
export function readDispatch(wire: JsonObject, spoken: readonly string[]): Reading {
  const version = versionOf(wire);
  if (!spoken.includes(version) && majorOf(version) !== undefined) {
    const { task } = wire;
    const foreign = versionUnmet(version, spoken);
    if (foreign.length > 0)
      return { kind: 'foreign', taskId: idOf(isJsonObject(task) ? task.task_id : ''), unmet: foreign };
  }
  const dispatch = decodeDispatch(wire);
  return { kind: 'dispatch', taskId: dispatch.task.taskId, dispatch };
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH ? value : undefined;
}

/** The unmet requirement for a foreign major version; empty for a spoken one. */
export function versionUnmet(protocolVersion: string, spoken: readonly string[]): Unmet[] {
  if (isCompatible(protocolVersion, spoken)) return [];
  const detail = `handshake version ${protocolVersion} is not supported here, only ${spoken.join(', ')}`;
  return unmet('version', protocolVersion, detail);
}
