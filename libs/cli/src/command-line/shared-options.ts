import type { RequirementField } from '@hermes-fleet/protocol/handshake';
import type { OptionSpecs } from './command.ts';

/** Options that locate a fleet of plain processes. */
export const PLAN_OPTIONS = {
  dir: {
    type: 'string',
    value: 'folder',
    help: 'the folder of the fleet; .fleet of the checkout by default',
  },
  'port-offset': {
    type: 'string',
    value: 'n',
    help: 'what is added to every port; as at the start by default',
  },
} as const satisfies OptionSpecs;

/** Options that locate a running fleet: the processes of `--dir`, or `--reach` addresses and a token on stdin. */
export const FLEET_OPTIONS = {
  profile: { type: 'string', value: 'name', help: 'the profile to ask; switch by default' },
  reach: {
    type: 'string',
    multiple: true,
    value: 'name=url',
    help: 'the address of a service; repeat it for each; instead of the fleet in --dir',
  },
  'token-stdin': { type: 'boolean', help: "read the operator's token from the first line of stdin" },
  ...PLAN_OPTIONS,
} as const satisfies OptionSpecs;

/** Options that locate a service's entry point: in the fleet of `--dir`, or with `--as-is` in this environment. */
export const ENTRY_POINT_OPTIONS = {
  'as-is': { type: 'boolean', help: 'use the environment of this process, as inside a container' },
  ...PLAN_OPTIONS,
} as const satisfies OptionSpecs;

const { 'token-stdin': _, ...RUNNING } = FLEET_OPTIONS;

/** Options that name who is asked: the profiles of a fleet, or any A2A agent. */
export const REACH_OPTIONS = {
  ...RUNNING,
  url: {
    type: 'string',
    value: 'url',
    help: 'any A2A agent, by its address or that of its card, instead of the fleet',
  },
  'token-env': { type: 'string', value: 'name', help: 'the variable with the bearer token for --url' },
} as const satisfies OptionSpecs;

/** Options for the requirements of a dispatch. */
export const CONTRACT_OPTIONS = {
  mcp: { type: 'string', multiple: true, value: 'names', help: 'required MCP servers; a list, or repeated' },
  capability: {
    type: 'string',
    multiple: true,
    value: 'names',
    help: 'required capabilities; a list, or repeated',
  },
  'tier-min': { type: 'string', value: 'tier', help: 'the lowest model tier' },
  'tier-max': { type: 'string', value: 'tier', help: 'the highest model tier' },
  'tier-prefer': { type: 'string', value: 'tier', help: 'the preferred model tier' },
  'context-window': { type: 'string', value: 'tokens', help: 'the smallest context window' },
  priority: { type: 'string', value: 'priority', help: 'low, normal, high or urgent' },
  budget: { type: 'string', value: 'tokens', help: 'the most tokens that the task may spend' },
  'read-only': { type: 'boolean', help: 'the task changes no file' },
  'task-id': {
    type: 'string',
    value: 'id',
    help: "the caller's name for the task; the same one makes no second task",
  },
} as const satisfies OptionSpecs;

/** Options that describe a dispatch; the alternative is a file that holds one. */
export const DISPATCH_OPTIONS = {
  brief: { type: 'string', help: 'what is to be done' },
  ...CONTRACT_OPTIONS,
  deadline: { type: 'string', value: 'time', help: 'when the task must be done, in ISO 8601' },
  target: { type: 'string', value: 'peer', help: 'the peer that must do it; auto by default' },
} as const satisfies OptionSpecs;

/** The option that sets each field of a dispatch. The compiler names a requirement without one. */
export const OPTION_OF_FIELD = {
  'task.task_id': 'task-id',
  'task.priority': 'priority',
  'task.token_budget': 'budget',
  'task.write': 'read-only',
  'requirements.required_mcp': 'mcp',
  'requirements.required_capabilities': 'capability',
  'requirements.model_tier.min': 'tier-min',
  'requirements.model_tier.max': 'tier-max',
  'requirements.model_tier.prefer': 'tier-prefer',
  'requirements.min_context_window': 'context-window',
  deadline: 'deadline',
  brief: 'brief',
  'routing.target': 'target',
} as const satisfies Readonly<Record<string, keyof typeof DISPATCH_OPTIONS>> &
  Readonly<Record<`requirements.${RequirementField}`, string>>;
